// Advisories. What is left when every second package goes is a document that is read again.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "rpmmd/updateinfo.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  std::vector<rpmmd::Advisory> advisories;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    advisories = rpmmd::parse_updateinfo(text);
  } catch (const Error&) {
    return 0;  // Refused, as it should be.
  }
  std::size_t asked = 0, kept = 0;
  const std::string written = rpmmd::write_updateinfo(advisories, [&](const rpmmd::Nevra&) {
    const bool keep = asked++ % 2 == 0;
    kept += keep ? 1 : 0;
    return keep;
  });
  // What this throws is a finding: we wrote it.
  std::size_t found = 0;
  for (const auto& advisory : rpmmd::parse_updateinfo(written)) found += advisory.packages.size();
  if (found != kept) __builtin_trap();
  return 0;
}
