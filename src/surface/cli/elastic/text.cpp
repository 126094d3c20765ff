#include "cli/elastic/text.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

std::string warning(const std::string& what) { return paint(Colour::yellow, "!") + " " + what + "\n"; }

std::string heading(const growth::Status& status) {
  std::string out = fmt::format("Cluster {}: ", paint(Colour::bold, status.cluster));
  if (status.at == 0) return out + "Slurm's queue was not read yet\n";
  out += fmt::format("{} {}, {} {}", status.pending, status.pending == 1 ? "Slurm job waits" : "Slurm jobs wait",
                     status.running, status.running == 1 ? "runs" : "run");
  std::vector<std::string> spent;
  if (!status.spent_today.empty()) spent.push_back(status.spent_today + " today");
  if (!status.spent_this_month.empty()) spent.push_back(status.spent_this_month + " this month");
  if (!spent.empty()) out += "; spent " + join(spent, ", ");
  return out + "\n";
}

std::string troubles(const growth::Status& status, TimePoint now) {
  std::string out;
  if (!status.trouble.empty()) {
    const std::string since =
        status.at == 0
            ? std::string()
            : fmt::format(" for {}", human_duration(std::max(now - from_unix_nanos(status.at), Duration{0})));
    out +=
        warning(fmt::format("it neither grows nor shrinks: Slurm has not told its queue{}: {}", since, status.trouble));
  }
  for (const auto& pool : status.pools) {
    if (!pool.trouble.empty())
      out += warning(fmt::format("pool '{}' should grow and does not: {}", pool.pool, pool.trouble));
  }
  return out;
}

std::string pools_table(const std::vector<growth::PoolStatus>& pools, std::size_t width) {
  const bool costs = std::ranges::any_of(pools, [](const auto& pool) { return !pool.cost_per_hour.empty(); });
  std::vector<std::string> headers{"POOL", "ALWAYS", "MOST", "BOOTING", "IDLE", "BUSY", "LEAVING", "ASLEEP"};
  if (costs) headers.emplace_back("COST/H");
  Table table(std::move(headers));
  for (const auto& pool : pools) {
    std::vector<std::string> row{pool.pool};
    for (const auto hosts : {pool.always, pool.most, pool.booting, pool.idle, pool.busy, pool.leaving, pool.asleep})
      row.push_back(std::to_string(hosts));
    if (costs) row.push_back(pool.cost_per_hour.empty() ? "0" : pool.cost_per_hour);
    table.add(std::move(row));
  }
  return table.empty() ? std::string() : table.text(width);
}

std::string indented(const std::vector<std::string>& lines) {
  std::string out;
  for (const auto& line : lines) out += "  " + line + "\n";
  return out;
}

}  // namespace

std::string growth_text(const growth::Status& status, TimePoint now, std::size_t width) {
  std::string out = heading(status) + troubles(status, now);
  if (const auto table = pools_table(status.pools, width); !table.empty()) out += "\n" + table;
  if (!status.lines.empty()) out += "\n" + indented(status.lines);
  return out;
}

std::string growth_text(const growth::JobExplanation& job) {
  std::string out = fmt::format("Job {} of cluster {} ", paint(Colour::bold, job.job), job.cluster);
  if (job.state.empty())
    out += "is not in Slurm's queue";
  else
    out += "is " + job.state + (job.reason.empty() ? "" : fmt::format(" ({})", job.reason));
  return out + "\n" + indented(job.lines);
}

std::string only_growing_cluster(const std::vector<growth::Status>& growing) {
  if (growing.empty()) throw nothing_grows();
  if (growing.size() == 1) return growing.front().cluster;
  std::vector<std::string> names;
  for (const auto& status : growing) names.push_back(status.cluster);
  throw Error(Code::invalid, "it is not clear which cluster's Slurm has the job")
      .because(fmt::format("pools of {} grow", join(names, ", ")))
      .advise("add -cluster NAME");
}

Error nothing_grows() {
  return Error(Code::not_found, "no pool of any cluster grows")
      .advise("write a block `elastic` into a pool whose hosts join Slurm, and apply its cluster");
}

}  // namespace underway::cli
