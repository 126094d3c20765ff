#include <algorithm>
#include <cmath>
#include <map>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "elastic/detail/trace_lines.hpp"

namespace underway::elastic {
namespace {

constexpr std::int64_t kMinute = 60, kHour = 3600, kDay = 86400;
/// A thousand years, and a pebibyte: what is larger is no span or size, and would not fit what is computed of it.
constexpr std::int64_t kMostDays = 365'000;
constexpr double kMostMiB = 1024.0 * 1024.0 * 1024.0;

/// "2024-05-01T12:00:00", local time without a zone.
std::optional<std::int64_t> parse_moment(std::string_view text) {
  const auto time = parse_time(std::string(text) + "Z");
  if (!time) return std::nullopt;
  return unix_seconds(*time);
}

class SacctReader {
 public:
  SacctReader(std::istream& in, TraceProblems& problems) : lines_(in, problems) {}

  Trace run() {
    std::string line;
    while (lines_.next(line) && trim(line).empty()) {
    }
    if (!read_header(line)) return std::move(trace_);
    while (lines_.next(line)) {
      if (trim(line).empty()) continue;
      if (!detail::has_room(trace_, lines_)) break;
      read_job(line);
    }
    detail::finish(trace_);
    return std::move(trace_);
  }

 private:
  bool read_header(const std::string& line) {
    const auto names = split(line, '|');
    for (std::size_t i = 0; i < names.size(); ++i) columns_.emplace(lower(trim(names[i])), i);
    width_ = names.size();
    const auto lacks_all = [&](std::initializer_list<const char*> wanted) {
      return std::none_of(wanted.begin(), wanted.end(), [&](const char* name) { return columns_.contains(name); });
    };
    const std::size_t before = missing_;
    const auto need = [&](bool missing, std::string_view what) {
      if (!missing) return;
      ++missing_;
      lines_.problem(fmt::format("the header has no column {}", what));
    };
    need(lacks_all({"jobid", "jobidraw"}), "JobID");
    need(lacks_all({"submit"}), "Submit");
    need(lacks_all({"elapsed", "elapsedraw"}) && (lacks_all({"start"}) || lacks_all({"end"})),
         "Elapsed (or Start and End)");
    need(lacks_all({"nnodes", "allocnodes", "ncpus", "alloccpus", "reqcpus"}), "NNodes or NCPUS");
    return missing_ == before;
  }

  /// Of the line that is being read; empty where there is no such column.
  std::string_view cell(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      const auto found = columns_.find(name);
      if (found != columns_.end() && found->second < cells_.size() && !cells_[found->second].empty())
        return trim(cells_[found->second]);
    }
    return {};
  }

  void read_job(const std::string& line) {
    cells_ = split(line, '|');
    if (cells_.size() != width_) {
      lines_.problem(fmt::format("{} columns, the header has {}", cells_.size(), width_));
      return;
    }
    TraceJob job;
    job.id = cell({"jobid", "jobidraw"});
    if (job.id.empty()) {
      lines_.problem("no JobID");
      return;
    }
    if (job.id.find('.') != std::string::npos) {
      ++trace_.steps;
      return;
    }
    if (never_ran()) {
      ++trace_.never_ran;
      return;
    }
    const auto submit = parse_moment(cell({"submit"}));
    const auto run = elapsed();
    if (!submit)
      lines_.problem(fmt::format("job {}: '{}' is no time of submission", job.id, cell({"submit"}).substr(0, 40)));
    if (!run)
      lines_.problem(
          fmt::format("job {}: '{}' is no elapsed time", job.id, cell({"elapsedraw", "elapsed"}).substr(0, 40)));
    if (!submit || !run) return;
    job.submit = *submit;
    job.run = *run;
    job.user = cell({"user"});
    job.account = cell({"account"});
    job.partition = cell({"partition"});
    if (!read_size(job)) return;
    job.limit = limit();
    trace_.jobs.push_back(std::move(job));
  }

  bool never_ran() const {
    const auto state = cell({"state"});
    if (state.starts_with("PENDING")) return true;
    const auto start = cell({"start"});
    return start == "Unknown" || start == "None";
  }

  std::optional<std::int64_t> elapsed() const {
    if (const auto raw = parse_number<std::int64_t>(cell({"elapsedraw"})); raw && *raw >= 0 && *raw < kMostDays * kDay)
      return raw;
    if (const auto span = parse_slurm_span(cell({"elapsed"}))) return span;
    const auto start = parse_moment(cell({"start"})), end = parse_moment(cell({"end"}));
    if (start && end && *end >= *start) return *end - *start;
    return std::nullopt;
  }

  std::int64_t limit() const {
    if (const auto minutes = parse_number<std::int64_t>(cell({"timelimitraw"}));
        minutes && *minutes > 0 && *minutes < kMostDays * 1440)
      return *minutes * kMinute;
    return parse_slurm_span(cell({"timelimit"})).value_or(0);
  }

  bool read_size(TraceJob& job) {
    const auto count = [&](std::initializer_list<const char*> names) {
      const auto number = parse_number<std::int64_t>(cell(names)).value_or(0);
      return number < 0 || number > 1'000'000'000 ? 0 : number;
    };
    job.nodes = count({"nnodes", "allocnodes"});
    job.cpus = count({"ncpus", "alloccpus"});
    if (job.cpus == 0) job.cpus = count({"reqcpus"});
    if (job.cpus == 0) job.cpus = job.nodes;
    if (job.cpus == 0) {
      lines_.problem(fmt::format("job {} has neither nodes nor processors", job.id));
      return false;
    }
    const auto memory = cell({"reqmem"});
    if (memory.empty()) return true;
    const auto size = parse_slurm_memory(memory, std::max<std::int64_t>(job.nodes, 1), job.cpus);
    if (!size) lines_.problem(fmt::format("job {}: '{}' is no memory", job.id, memory.substr(0, 40)));
    job.memory_mb = size.value_or(0);
    return size.has_value();
  }

  detail::TraceLines lines_;
  Trace trace_;
  std::map<std::string, std::size_t, std::less<>> columns_;
  std::vector<std::string> cells_;
  std::size_t width_ = 0, missing_ = 0;
};

}  // namespace

std::optional<std::int64_t> parse_slurm_span(std::string_view text) {
  std::int64_t days = 0;
  bool with_days = false;
  if (const auto dash = text.find('-'); dash != std::string_view::npos) {
    const auto number = parse_number<std::int64_t>(text.substr(0, dash));
    if (!number || *number < 0 || *number > kMostDays) return std::nullopt;
    days = *number;
    with_days = true;
    text.remove_prefix(dash + 1);
  }
  text = text.substr(0, text.find('.'));
  std::vector<std::int64_t> parts;
  for (const auto& part : split(text, ':')) {
    const auto number = parse_number<std::int64_t>(part);
    if (!number || *number < 0 || *number > kMostDays * 24) return std::nullopt;
    parts.push_back(*number);
  }
  if (with_days)
    parts.resize(std::max<std::size_t>(parts.size(), 3), 0);  // "2-03" and "2-03:04" are hours, and minutes
  if (parts.size() == 3) return days * kDay + parts[0] * kHour + parts[1] * kMinute + parts[2];
  if (parts.size() == 2 && !with_days) return parts[0] * kMinute + parts[1];
  return std::nullopt;
}

std::optional<std::int64_t> parse_slurm_memory(std::string_view text, std::int64_t nodes, std::int64_t cpus) {
  nodes = std::max<std::int64_t>(nodes, 1);
  const auto number = parse_leading_number<double>(text);
  if (!number || !std::isfinite(number->value) || number->value < 0) return std::nullopt;
  double mib = number->value;
  auto rest = number->rest;
  if (!rest.empty() && rest.front() != 'n' && rest.front() != 'c') {
    const auto unit = std::string_view("KMGTP").find(rest.front());
    if (unit == std::string_view::npos) return std::nullopt;
    mib *= std::pow(1024.0, static_cast<double>(unit) - 1);
    rest.remove_prefix(1);
  }
  double per_node = mib / static_cast<double>(nodes);
  if (rest == "n") {
    per_node = mib;
  } else if (rest == "c") {
    per_node = mib * static_cast<double>(cpus) / static_cast<double>(nodes);
  } else if (!rest.empty()) {
    return std::nullopt;
  }
  if (per_node > kMostMiB) return std::nullopt;
  return static_cast<std::int64_t>(std::ceil(per_node));
}

Trace read_sacct(std::istream& in, TraceProblems& problems) { return SacctReader(in, problems).run(); }

}  // namespace underway::elastic
