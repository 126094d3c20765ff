// Frames as they come from strangers, in two pieces: cutting must not depend on where the pieces end.
#include <cstdlib>

#include "http/detail/frames.hpp"

using namespace underway::http::detail;

namespace {

std::string decode(std::string_view first, std::string_view second) {
  FrameDecoder decoder(Side::server, 4096);
  MessageAssembler assembler(8192);
  std::string seen;
  try {
    for (const auto piece : {first, second}) {
      decoder.put(piece);
      while (auto frame = decoder.next()) {
        seen += static_cast<char>(frame->opcode);
        seen += frame->payload;
        if (frame->opcode == Opcode::close)
          decode_close(frame->payload);
        else if (frame->opcode != Opcode::ping && frame->opcode != Opcode::pong)
          assembler.add(std::move(*frame));
      }
    }
  } catch (const Violation& violation) {
    seen += violation.text;
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::size_t cut = std::min<std::size_t>(data[0], input.size());
  if (decode(input, "") != decode(input.substr(0, cut), input.substr(cut))) std::abort();
  return 0;
}
