// A snapshot comes from wherever an administrator kept it.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "os/file.hpp"
#include "snapshot/archive.hpp"
#include "snapshot/state_file.hpp"

namespace {

using namespace underway;

struct Place {
  Place() {
    char name[] = "/tmp/underway-snapshot-fuzz-XXXXXX";
    directory = ::mkdtemp(name);
  }
  ~Place() { os::remove_tree(directory); }
  std::string directory;
};

}  // namespace

/// The first byte chooses: the archive, or a state as it lies in one.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Place place;
  if (size == 0) return 0;
  const std::string in = place.directory + "/in", out = place.directory + "/out";
  os::write_file(in, std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1), 0600, {},
                 os::Durability::cached);
  try {
    if (data[0] == 's') {
      snapshot::StateReader reader(in);
      while (reader.next()) {
      }
    } else {
      snapshot::unpack(in, out, {.state_bytes = 1 << 20});
    }
  } catch (const Error&) {
    // Refused. Of what was refused nothing may be left.
    if (os::exists(out)) __builtin_trap();
  }
  ::unlink(out.c_str());
  return 0;
}
