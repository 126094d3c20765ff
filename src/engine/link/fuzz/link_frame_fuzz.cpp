// Whatever bytes a peer sends, decoding either gives a frame that survives a round trip or throws Error.
#include <cstdlib>

#include "link/frame.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    const auto frame = underway::link::decode(bytes, (data[0] & 1) != 0);
    const auto again = underway::link::encode(frame);
    if (underway::link::decode(again.data, again.text).index() != frame.index()) std::abort();
  } catch (const underway::Error&) {
  }
  return 0;
}
