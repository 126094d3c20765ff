// Users write comments, and squeue prints them as they are: what is read of them never harms, and is what links, files
// and jobs can be named after.
#include <cstddef>
#include <cstdint>

#include "machines/ask.hpp"

namespace {

bool plausible(const underway::machines::SlurmJob& job) {
  if (job.id.empty() || job.id.size() > 10 || job.id.find_first_not_of("0123456789") != std::string::npos) return false;
  const auto& wish = job.asked.wish;
  if (!wish) return true;
  return !wish->set.empty() && wish->set.size() <= 32 && wish->set.find_first_of("/.\n |") == std::string::npos &&
         wish->per_node >= 0 && wish->per_node <= 64;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& job : underway::machines::parse_jobs(text, "M")) {
    if (!plausible(job)) __builtin_trap();
  }
  static_cast<void>(underway::machines::parse_given(text, "17"));
  return 0;
}
