#include <array>
#include <cmath>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "elastic/detail/trace_lines.hpp"

namespace underway::elastic {
namespace {

/// Columns, counted from 0.
enum Swf : std::size_t {
  kJob,
  kSubmit,
  kWait,
  kRun,
  kAllocated,
  kCpuTime,
  kUsedMemory,
  kRequested,
  kRequestedTime,
  kRequestedMemory,
  kStatus,
  kUser,
  kGroup,
  kExecutable,
  kQueue,
  kPartition,
  kPreceding,
  kThinkTime,
  kSwfColumns
};
constexpr std::int64_t kNone = -1;
/// A century: what is larger is no time of a job.
constexpr double kMostSeconds = 3.2e9;

using SwfRow = std::array<std::int64_t, kSwfColumns>;

/// Some archives have decimals where the standard has whole numbers.
std::optional<std::int64_t> whole(std::string_view word) {
  if (const auto number = parse_number<std::int64_t>(word)) return number;
  const auto number = parse_number<double>(word);
  if (!number || !std::isfinite(*number) || std::abs(*number) > 1e15) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::optional<SwfRow> parse_row(std::string_view line, detail::TraceLines& lines) {
  SwfRow row;
  row.fill(kNone);
  std::size_t column = 0;
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == ' ' || line[at] == '\t') {
      ++at;
      continue;
    }
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    const auto word = line.substr(at, end - at);
    at = end;
    if (column == kSwfColumns) {
      ++column;
      break;
    }
    const auto number = whole(word);
    if (!number) {
      lines.problem(fmt::format("'{}' in column {} is no number", word.substr(0, 40), column + 1));
      return std::nullopt;
    }
    row[column++] = *number;
  }
  if (column != kSwfColumns) {
    lines.problem(column > kSwfColumns ? "more than 18 columns" : fmt::format("{} of 18 columns", column));
    return std::nullopt;
  }
  return row;
}

/// "; MaxNodes: 128"
void read_comment(std::string_view line, Trace& trace, std::int64_t& start) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const auto key = trim(line.substr(1, colon - 1)), value = trim(line.substr(colon + 1));
  const auto number = leading_number_or<std::int64_t>(value, 0);
  if (number <= 0) return;
  if (key == "MaxNodes") trace.max_nodes = number;
  if (key == "MaxProcs") trace.max_cpus = number;
  if (key == "UnixStartTime" && static_cast<double>(number) < kMostSeconds) start = number;
}

std::int64_t either(std::int64_t first, std::int64_t second) { return first > 0 ? first : second; }

std::string name_of(char letter, std::int64_t number) {
  return number < 0 ? std::string() : fmt::format("{}{}", letter, number);
}

void add_job(const SwfRow& row, Trace& trace, detail::TraceLines& lines, std::int64_t start) {
  const auto too_long = [](std::int64_t seconds) { return static_cast<double>(seconds) > kMostSeconds; };
  if (row[kSubmit] < 0 || too_long(row[kSubmit]) || too_long(row[kRun]) || too_long(row[kRequestedTime])) {
    lines.problem(
        fmt::format("submitted at {}, ran for {} s of {} s: no times", row[kSubmit], row[kRun], row[kRequestedTime]));
    return;
  }
  const std::int64_t cpus = either(row[kAllocated], row[kRequested]);
  if (row[kRun] < 0 || cpus <= 0) {
    ++trace.never_ran;
    return;
  }
  TraceJob job;
  job.id = std::to_string(row[kJob]);
  job.user = name_of('u', row[kUser]);
  job.account = name_of('g', row[kGroup]);
  job.partition = name_of('q', row[kQueue] >= 0 ? row[kQueue] : row[kPartition]);
  job.submit = start + row[kSubmit];
  job.run = row[kRun];
  job.limit = std::max<std::int64_t>(row[kRequestedTime], 0);
  job.cpus = cpus;
  trace.jobs.push_back(std::move(job));
}

}  // namespace

Trace read_swf(std::istream& in, TraceProblems& problems) {
  Trace trace;
  detail::TraceLines lines(in, problems);
  std::int64_t start = 0;
  for (std::string line; lines.next(line);) {
    const auto text = trim(line);
    if (text.empty()) continue;
    if (text.front() == ';') {
      read_comment(text, trace, start);
      continue;
    }
    if (!detail::has_room(trace, lines)) break;
    if (const auto row = parse_row(text, lines)) add_job(*row, trace, lines, start);
  }
  detail::finish(trace);
  return trace;
}

std::string write_swf(const Trace& trace) {
  std::string out = "; Version: 2.2\n";
  if (trace.max_nodes > 0) out += fmt::format("; MaxNodes: {}\n", trace.max_nodes);
  if (trace.max_cpus > 0) out += fmt::format("; MaxProcs: {}\n", trace.max_cpus);
  const std::int64_t start = trace.jobs.empty() ? 0 : trace.jobs.front().submit;
  if (start > 0) out += fmt::format("; UnixStartTime: {}\n", start);
  std::size_t number = 0;
  for (const auto& job : trace.jobs)
    out += fmt::format("{} {} -1 {} {} -1 -1 {} {} -1 1 -1 -1 -1 -1 -1 -1 -1\n", ++number, job.submit - start, job.run,
                       job.cpus, job.cpus, job.limit > 0 ? job.limit : -1);
  return out;
}

}  // namespace underway::elastic
