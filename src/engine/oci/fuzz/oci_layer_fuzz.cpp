// Layers come from others, and are unpacked by root.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "oci/layer.hpp"
#include "os/file.hpp"

namespace {

using namespace underway;

struct Place {
  Place() {
    char name[] = "/tmp/underway-layer-fuzz-XXXXXX";
    directory = ::mkdtemp(name);
    os::write_file(directory + "/victim", "safe", 0600, {}, os::Durability::cached);
  }
  ~Place() { os::remove_tree(directory); }
  std::string directory;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Place place;
  const os::Fd blob = os::sealed_memory("layer", std::string_view(reinterpret_cast<const char*>(data), size));
  oci::PullLimits limits;
  limits.unpacked_bytes = 1 << 20;
  limits.entries = 100;
  oci::Allowance allowance{.bytes = limits.unpacked_bytes, .entries = limits.entries};
  const std::string in = place.directory + "/in";
  try {
    // The digest is never that: all of the archive is looked at before it is known.
    oci::unpack_layer({.file = blob, .name = "fuzz", .digest = "", .diff_id = "sha256:" + std::string(64, '0')}, in, {},
                      limits, allowance);
    __builtin_trap();
  } catch (const Error&) {
    // Refused, as it should be.
  }
  os::remove_tree(in);
  struct stat st{};
  if (os::list_directory(place.directory).size() != 1 || ::stat((place.directory + "/victim").c_str(), &st) != 0 ||
      st.st_nlink != 1 || st.st_size != 4 || (st.st_mode & 07777) != 0600)
    __builtin_trap();
  return 0;
}
