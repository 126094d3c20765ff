// An .rpm file of anybody: its headers are read before anything is known of who made it.
#include <cstddef>
#include <cstdint>

#include "archive/rpm.hpp"
#include "base/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  try {
    const auto rpm = archive::parse_rpm({reinterpret_cast<const char*>(data), size}, "fuzz");
    for (const auto& file : rpm.files)
      if (file.path.find("/../") != std::string::npos) __builtin_trap();
    static_cast<void>(rpmmd::write_package(
        rpm.description,
        {.location = "p.rpm", .checksum = {"sha256", std::string(64, '0')}, .size = size, .timestamp = 0}));
  } catch (const Error&) {
    // Refused, as it should be.
  }
  return 0;
}
