// What the agent reads from a keeper's state file, and what a keeper runs: both may have been damaged on disk.
#include "keeper/protocol.hpp"
#include "os/process/launch.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const char* text = reinterpret_cast<const char*>(data);
  underway::keeper::State state;
  static_cast<void>(underway::keeper::parse_state(text, size, state));
  static_cast<void>(underway::os::launch::well_formed(text, size));
  return 0;
}
