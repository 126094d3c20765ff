// repomd.xml comes from a mirror, before or without a signature. What is read is what is written, and is read again.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "rpmmd/repomd.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  try {
    const auto repomd = rpmmd::parse_repomd({reinterpret_cast<const char*>(data), size});
    const std::string text = rpmmd::write_repomd(repomd);
    if (rpmmd::parse_repomd(text) != repomd) __builtin_trap();
  } catch (const Error&) {
    // Refused, as it should be.
  }
  return 0;
}
