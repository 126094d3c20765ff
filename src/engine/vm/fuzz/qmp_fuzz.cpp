// What QEMU, and an agent in a guest, say: lines on a socket.
#include <sys/socket.h>

#include <boost/json/serialize.hpp>
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "vm/qmp/qmp.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    static_cast<void>(vm::parse_qmp(text));
  } catch (const Error&) {
    // Most inputs are no message.
  }
  // All at once, and then the other side has gone.
  if (size > 65536) return 0;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return 0;
  os::Fd ours(ends[0]), theirs(ends[1]);
  try {
    os::write_all(theirs, text, "the input");
    ::shutdown(theirs.get(), SHUT_WR);
    vm::Qmp qmp(std::move(ours), "machine 'fuzz'", std::chrono::milliseconds{1});
    static_cast<void>(qmp.execute("query-status", {}, std::chrono::milliseconds{1}));
    static_cast<void>(qmp.take_events());
  } catch (const Error&) {
    // It does not greet, or not answer.
  }
  return 0;
}
