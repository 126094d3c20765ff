// What is read as a Release is written so that it is read as the same.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "suite/release.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  suite::Release read;
  try {
    read = suite::parse_release(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const Error&) {
    return 0;
  }
  try {
    const auto text = suite::write_release(read);
    const auto again = suite::parse_release(text);
    if (again.files != read.files || again.date != read.date || again.suite != read.suite) __builtin_trap();
    if (suite::write_release(again) != text) __builtin_trap();
  } catch (const Error&) {
    __builtin_trap();
  }
  for (const auto& file : read.files) {
    if (file.path.front() == '/' || file.path.find("/../") != std::string::npos) __builtin_trap();
  }
  return 0;
}
