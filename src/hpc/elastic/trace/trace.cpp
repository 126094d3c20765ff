#include "elastic/trace/trace.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "elastic/detail/trace_lines.hpp"

namespace underway::elastic {

void TraceProblems::add(std::size_t line, std::string_view what) {
  if (count++ < kKept) lines.push_back(fmt::format("line {}: {}", line, what));
}

namespace detail {

bool TraceLines::next(std::string& line) {
  for (;;) {
    line.clear();
    ++number_;
    bool too_long = false;
    int c = in_.get();
    if (c == std::istream::traits_type::eof()) return false;
    for (; c != '\n' && c != std::istream::traits_type::eof(); c = in_.get()) {
      if (line.size() < kMaxTraceLine)
        line += static_cast<char>(c);
      else
        too_long = true;
    }
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!too_long) return true;
    problem(fmt::format("longer than {} bytes", kMaxTraceLine));
  }
}

void finish(Trace& trace) {
  std::sort(trace.jobs.begin(), trace.jobs.end(),
            [](const TraceJob& a, const TraceJob& b) { return std::tie(a.submit, a.id) < std::tie(b.submit, b.id); });
}

bool has_room(const Trace& trace, TraceLines& lines) {
  if (trace.jobs.size() < kMaxTraceJobs) return true;
  lines.problem(fmt::format("more than {} jobs: what follows is not read", kMaxTraceJobs));
  return false;
}

}  // namespace detail

TraceFormat guess_format(std::string_view beginning) {
  while (!beginning.empty()) {
    const std::size_t end = std::min(beginning.find('\n'), beginning.size());
    const std::string_view line = trim(beginning.substr(0, end));
    beginning.remove_prefix(std::min(end + 1, beginning.size()));
    if (!line.empty()) return line.find('|') == std::string_view::npos ? TraceFormat::swf : TraceFormat::sacct;
  }
  return TraceFormat::swf;
}

Trace read_trace(std::istream& in, TraceFormat format, TraceProblems& problems) {
  return format == TraceFormat::swf ? read_swf(in, problems) : read_sacct(in, problems);
}

}  // namespace underway::elastic
