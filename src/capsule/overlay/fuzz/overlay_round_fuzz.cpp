// Whatever a peer sends, sender and receiver take it or throw Error, and the receiver touches nothing but its tree.
#include <unistd.h>

#include <cstdlib>

#include "base/error.hpp"
#include "os/file.hpp"
#include "overlay/transfer/transfer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using underway::overlay::Party;
  if (size == 0) return 0;
  static const std::string place = [] {
    char name[] = "/tmp/underway-overlay-fuzz-XXXXXX";
    return std::string(::mkdtemp(name));
  }();
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto feed = [&](Party& party) {
    static_cast<void>(party.next());
    party.receive(bytes);
    static_cast<void>(party.next());
  };
  try {
    if ((data[0] & 1) != 0) {
      underway::os::make_directories(place + "/upper");
      underway::overlay::Sender sender(place + "/upper", {});
      feed(sender);
    } else {
      underway::overlay::Receiver receiver(place + "/copy", {.paths = 1000, .content_bytes = 1U << 26});
      feed(receiver);
    }
  } catch (const underway::Error&) {
  }
  for (const auto& entry : underway::os::list_directory(place)) {
    if (entry.name != "upper" && entry.name != "copy") std::abort();
  }
  underway::os::remove_tree(place);
  underway::os::make_directories(place);
  return 0;
}
