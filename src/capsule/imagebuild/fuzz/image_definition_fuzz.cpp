// Definitions and OCI layouts come from others. The first byte chooses which.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "imagebuild/definition.hpp"
#include "oci/document.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'o') {
    try {
      const auto document = oci::parse_document(text);
      const auto& chosen = oci::choose(document, "", "amd64");
      if (oci::blob_path(chosen).find("..") != std::string::npos) __builtin_trap();
    } catch (const Error&) {
      // Refused, as it should be.
    }
    return 0;
  }
  const auto parsed = imagebuild::parse_definition(text, "fuzz", "/", {}, false);
  if (!parsed.definition) return 0;
  for (const auto& file : parsed.definition->files)
    if (!imagebuild::is_plain_path(file.path)) __builtin_trap();
  for (const auto& path : parsed.definition->remove)
    if (!imagebuild::is_plain_path(path)) __builtin_trap();
  return 0;
}
