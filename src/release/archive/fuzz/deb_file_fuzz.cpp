// A .deb file of anybody.
#include <cstddef>
#include <cstdint>

#include "archive/deb.hpp"
#include "base/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  constexpr std::uint64_t kLimit = 1U << 20;
  try {
    const auto file = os::sealed_memory("fuzz", {reinterpret_cast<const char*>(data), size});
    const auto deb = archive::read_deb(file, "fuzz", {.control_bytes = kLimit, .data_bytes = kLimit, .files = 1000});
    for (const auto& entry : deb.files)
      if (!entry.path.starts_with('/') || entry.path.find("/../") != std::string::npos) __builtin_trap();
  } catch (const Error&) {
    // Refused, as it should be.
  }
  return 0;
}
