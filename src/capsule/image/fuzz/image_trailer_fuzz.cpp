// The end of an image file, and the texts in it, come from anybody: they are read before a signature is checked, or by
// `inspect`, which checks none. The first byte chooses what the others are.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "image/image_file.hpp"
#include "image/key.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    switch (data[0]) {
      case 'f': {
        const auto footer = image::parse_footer(text, static_cast<std::int64_t>(1) << 20);
        if (footer.layout.file() != 1 << 20) __builtin_trap();
        break;
      }
      case 'm': {
        const auto manifest = json::decode_text<image::Manifest>(text);
        (void)image::problems(manifest);
        (void)image::root_of(manifest.payload.chunks);
        break;
      }
      case 'l':
        (void)image::parse_file_list(text);
        break;
      case 'k':
        (void)image::parse_public_key(text);
        break;
      default: {
        const auto file = image::ImageFile::of(os::sealed_memory("fuzz", text), "fuzz");
        (void)file.files(file.manifest());
      }
    }
  } catch (const Error&) {
    // Refused, as it should be.
  }
  return 0;
}
