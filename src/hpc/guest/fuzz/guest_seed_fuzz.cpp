// A seed is a disk that anybody may have written: it never harms, and what is read of it is what is written again.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "guest/seed.hpp"

/// Three files, parted by zeros.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  underway::guest::SeedFiles files;
  for (const auto* name : {"meta-data", "user-data", "network-config"}) {
    const auto end = text.find('\0');
    files.emplace(name, text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  try {
    const auto seed = underway::guest::parse_seed(files);
    const auto again = underway::guest::parse_seed(underway::guest::render(seed));
    if (again.hostname != seed.hostname || again.files.size() != seed.files.size() || again.commands != seed.commands)
      __builtin_trap();
  } catch (const underway::Error&) {
  }
  return 0;
}
