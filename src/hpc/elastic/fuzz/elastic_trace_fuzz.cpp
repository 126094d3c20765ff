// Traces come from elsewhere: whatever they hold is read or refused, and what was read can be replayed.
#include <cstddef>
#include <cstdint>
#include <sstream>

#include "elastic/simulate/simulation.hpp"
#include "elastic/trace/trace.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway::elastic;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const auto format : {TraceFormat::swf, TraceFormat::sacct, guess_format(text)}) {
    std::istringstream in(text);
    TraceProblems problems;
    const Trace trace = read_trace(in, format, problems);
    if (problems.lines.size() > TraceProblems::kKept) __builtin_trap();
    for (const auto& job : trace.jobs) {
      if (job.run < 0 || job.cpus < 1 || job.memory_mb < 0) __builtin_trap();
    }
    if (trace.jobs.size() > 20) continue;
    SimulationSettings settings;
    settings.nodes = 4;
    const auto report = replay(trace, settings, Peer::fixed);
    if (report.jobs + report.impossible != static_cast<std::int64_t>(trace.jobs.size())) __builtin_trap();
  }
  return 0;
}
