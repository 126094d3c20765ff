// Slurm's resume file, and what its commands print of nodes and of the time of jobs: none of it ever harms, nor asks
// for more memory than its bounds.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "slurm/elastic/node_record.hpp"
#include "slurm/elastic/resume_file.hpp"
#include "slurm/sleep/job_sleep.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto request = underway::slurm::parse_resume_file(text);
    std::size_t named = request.nodes.size();
    for (const auto& job : request.jobs) {
      if (job.id <= 0) __builtin_trap();
      named += job.nodes.size();
    }
    if (named > underway::slurm::kMostResumeNodes) __builtin_trap();
  } catch (const underway::Error&) {
    // refused, in words
  }
  for (const auto& record : underway::slurm::parse_records(text)) {
    if (record.name.empty()) __builtin_trap();
  }
  for (const auto& time : underway::slurm::parse_times(text)) {
    if (time.id.empty() || time.used < underway::Duration{}) __builtin_trap();
  }
  return 0;
}
