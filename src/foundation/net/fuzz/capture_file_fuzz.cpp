// Capture files come from anywhere: whatever they hold, reading ends, and every packet lies in what was read.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "net/capture_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  os::Fd fd(::memfd_create("capture", MFD_CLOEXEC));
  if (::write(fd.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  ::lseek(fd.get(), 0, SEEK_SET);
  try {
    net::CaptureFile file(std::move(fd), "fuzz");
    std::array<net::Packet, 7> batch;
    unsigned sum = 0;
    while (const std::size_t count = file.next(batch)) {
      for (std::size_t i = 0; i < count; ++i) {
        if (batch[i].captured > net::CaptureFile::kMaxPacket || batch[i].length < batch[i].captured) __builtin_trap();
        for (std::uint32_t at = 0; at < batch[i].captured; ++at) sum += batch[i].data[at];
      }
    }
    if (file.offset() > size || sum == 0xffff'ffff) __builtin_trap();
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch) what is no capture file is said to be none
  }
  return 0;
}
