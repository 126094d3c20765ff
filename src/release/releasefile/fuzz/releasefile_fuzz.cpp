// A file of releases is read, or refused with its reasons; what is accepted holds what the checks promise.
#include <cstddef>
#include <cstdint>

#include "releasefile/releasefile.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  hcl::Diagnostics diagnostics;
  const auto releases = releasefile::parse_releases(std::string_view(reinterpret_cast<const char*>(data), size),
                                                    "releases.hcl", hcl::Context(), diagnostics);
  if (diagnostics.has_errors()) return 0;
  for (const auto& mirror : releases.mirrors) {
    if (mirror.name.find('/') != std::string::npos || mirror.keys.empty()) __builtin_trap();
  }
  for (const auto& tier : releases.tiers) {
    if (!tier.from.empty() && releases.find_tier(tier.from) == nullptr) __builtin_trap();
    for (const auto& source : tier.sources) {
      if (releases.find_mirror(source) == nullptr && releases.find_repository(source) == nullptr) __builtin_trap();
    }
  }
  return 0;
}
