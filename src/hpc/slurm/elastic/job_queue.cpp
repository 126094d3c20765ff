#include "slurm/elastic/job_queue.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "slurm/hostlist.hpp"
#include "slurm/memory.hpp"
#include "slurm/queue.hpp"
#include "slurm/sleep/job_sleep.hpp"

namespace underway::slurm {
namespace {

using std::chrono::seconds;

/// The columns of a line, in this order. Features are last: whoever submits a job writes '|' there.
enum class Column : std::size_t {
  id,
  state,
  user,
  account,
  qos,
  partitions,
  priority,
  node_count,
  cpus,
  memory,
  oversubscribe,
  submitted,
  starts,
  ends,
  time_limit,
  nodes,
  gres,
  named_nodes,
  reservation,
  reason,
  features
};
/// None has a width, as squeue would cut it to that.
constexpr const char* kQueueFormat = "%i|%T|%u|%a|%q|%P|%Q|%D|%C|%m|%h|%V|%S|%e|%l|%N|%b|%n|%v|%r|%f";

constexpr std::size_t kLongestQueueLine = 64UL * 1024;
/// Of all jobs together: twenty letters may name 100,000 nodes, on each line. What comes behind so many has no nodes.
constexpr std::size_t kMostNodesOfQueue = 2'000'000;
/// More than any job asks for, and so little that the sums of a queue do not overflow.
constexpr std::int64_t kMostCount = 1'000'000'000;
constexpr std::int64_t kMostPriority = 4'294'967'295;  ///< Slurm has 32 bits for it
/// Source: slurm.conf(5), MaxArraySize.
constexpr std::int64_t kMostTasks = 4'000'001;
constexpr std::int64_t kLatestSecond = 9'000'000'000;  ///< that TimePoint holds

std::string_view column(const std::vector<std::string>& fields, Column which) {
  return fields[static_cast<std::size_t>(which)];
}

std::optional<std::int64_t> bounded(std::string_view text, std::int64_t least, std::int64_t most) {
  const auto number = parse_number<std::int64_t>(text);
  return number && *number >= least && *number <= most ? number : std::nullopt;
}

/// A name, where there is one.
std::string named(std::string_view text) {
  return text == "(null)" || text == "N/A" ? std::string() : std::string(text);
}

/// Of "N/A", "NONE" and "Unknown" the epoch.
TimePoint moment(std::string_view text) { return TimePoint{seconds(bounded(text, 0, kLatestSecond).value_or(0))}; }

/// In MiB; a part of one is one.
std::optional<std::int64_t> memory_in(std::string_view text) {
  const auto megabytes = megabytes_in(text);
  return megabytes ? std::optional(static_cast<std::int64_t>(std::ceil(*megabytes))) : std::nullopt;
}

/// How many tasks "3", "3-9" and "0-9:3" are; 0: what stands there is none of these.
std::int64_t tasks_in(std::string_view item) {
  const auto colon = item.find(':');
  const auto range = item.substr(0, colon);
  const auto dash = range.find('-');
  const auto first = bounded(range.substr(0, dash), 0, kMostTasks);
  const auto last = dash == std::string_view::npos ? first : bounded(range.substr(dash + 1), 0, kMostTasks);
  const auto step =
      colon == std::string_view::npos ? std::optional<std::int64_t>(1) : bounded(item.substr(colon + 1), 1, kMostTasks);
  if (!first || !last || !step || *last < *first) return 0;
  return (*last - *first) / *step + 1;
}

/// "17_[3-9,12%4]"
void read_array(QueuedJob& job) {
  const std::string_view id = job.id;
  const auto open = id.find("_[");
  if (open == std::string_view::npos || !id.ends_with(']')) return;
  const auto inside = id.substr(open + 2, id.size() - open - 3);
  const auto percent = inside.find('%');
  std::int64_t tasks = 0;
  for (const auto& item : split_list(inside.substr(0, percent))) tasks += tasks_in(item);
  if (tasks > 0) job.array_remaining = std::min(tasks, kMostTasks);
  if (percent != std::string_view::npos)
    job.array_limit = bounded(inside.substr(percent + 1), 0, kMostTasks).value_or(0);
}

/// "2"; "2-4" of one that takes what it gets.
void read_node_count(QueuedJob& job, std::string_view text) {
  const auto dash = text.find('-');
  const auto least = bounded(text.substr(0, dash), 1, kMostCount);
  if (!least) return;
  job.nodes_min = *least;
  if (dash != std::string_view::npos) job.nodes_max = bounded(text.substr(dash + 1), *least, kMostCount).value_or(0);
}

/// What each node must have, of an expression of sbatch(1), --constraint. Brackets and counts are left out, and what is
/// joined by '&' must be had together: of "(a&b)|c" that is a, and b or c. So read it asks for more than Slurm does,
/// and a node that has it is one that the job can use. "[a*2&b*3]" are nodes of two kinds to Slurm, and here one that
/// is both.
std::vector<std::string> required_features(std::string_view expression) {
  std::vector<std::string> out;
  if (expression == "(null)") return out;
  std::string list;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (c == '*') {
      while (i + 1 < expression.size() && is_digit(expression[i + 1])) ++i;
    } else if (std::string_view("[]() ").find(c) == std::string_view::npos) {
      list += c == '&' ? ',' : c;
    }
  }
  for (const auto& required : split_list(list)) {
    auto alternatives = split(required, '|');
    std::erase(alternatives, "");
    if (!alternatives.empty()) out.push_back(join(alternatives, "|"));
  }
  return out;
}

std::vector<std::string> nodes_in(std::string_view list) {
  try {
    auto nodes = unfold_hosts(named(list));
    if (nodes.size() <= kMostNodesOfJob) return nodes;
  } catch (const Error&) {
    // no host list, or too long a one: nobody knows where the job is
  }
  return {};
}

/// The last column with all that is behind it.
std::string features_column(const std::vector<std::string>& fields) {
  return join(std::span(fields).subspan(static_cast<std::size_t>(Column::features)), "|");
}

/// All but its nodes.
QueuedJob queued_job(const std::vector<std::string>& fields) {
  QueuedJob job;
  job.id = column(fields, Column::id);
  job.state = column(fields, Column::state);
  job.reason = column(fields, Column::reason);
  job.user = named(column(fields, Column::user));
  job.account = named(column(fields, Column::account));
  job.qos = named(column(fields, Column::qos));
  job.partitions = split_list(named(column(fields, Column::partitions)));
  job.priority = bounded(column(fields, Column::priority), 0, kMostPriority).value_or(0);
  read_node_count(job, column(fields, Column::node_count));
  job.cpus = bounded(column(fields, Column::cpus), 1, kMostCount).value_or(1);
  // Of `--mem-per-cpu` squeue prints what one CPU shall have, and does not say so: it is taken for the node's.
  job.memory_mb = memory_in(column(fields, Column::memory)).value_or(0);
  job.features = required_features(features_column(fields));
  job.gres = named(column(fields, Column::gres));
  job.named_nodes = named(column(fields, Column::named_nodes));
  job.reservation = named(column(fields, Column::reservation));
  job.exclusive = column(fields, Column::oversubscribe) == "NO";
  read_array(job);
  job.submitted = moment(column(fields, Column::submitted));
  job.starts = moment(column(fields, Column::starts));
  job.ends = moment(column(fields, Column::ends));
  job.time_limit = parse_slurm_span(column(fields, Column::time_limit)).value_or(Duration{});
  return job;
}

}  // namespace

Command queue_command() {
  // By itself squeue cuts the list of an array's tasks; 0 is no end. Source: squeue(1), SLURM_BITSTR_LEN.
  return {"env",
          "SLURM_TIME_FORMAT=%s",
          "SLURM_BITSTR_LEN=0",
          "squeue",
          "-h",
          "-a",
          "-t",
          std::string("PENDING,") + kStatesWithNodes,
          "-o",
          kQueueFormat};
}

std::vector<QueuedJob> parse_queue(std::string_view text) {
  std::vector<QueuedJob> out;
  std::size_t nodes = 0;
  for (const auto& line : split(text, '\n')) {
    if (line.size() > kLongestQueueLine) continue;
    const auto fields = split(trim(line), '|');
    if (fields.size() <= static_cast<std::size_t>(Column::features)) continue;
    // What else is printed between the jobs, a warning, begins with no number.
    const auto id = column(fields, Column::id);
    if (id.empty() || !is_digit(id.front()) || column(fields, Column::state).empty()) continue;
    auto job = queued_job(fields);
    if (nodes < kMostNodesOfQueue) job.nodes = nodes_in(column(fields, Column::nodes));
    nodes += job.nodes.size();
    out.push_back(std::move(job));
  }
  return out;
}

}  // namespace underway::slurm
