// Whatever passes on a wire: a capture file of any content becomes a survey within its bounds, and the survey is JSON.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "net/capture_file.hpp"
#include "traffic/reading.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  os::Fd fd(::memfd_create("capture", MFD_CLOEXEC));
  if (::write(fd.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  ::lseek(fd.get(), 0, SEEK_SET);
  try {
    net::CaptureFile file(std::move(fd), "fuzz");
    traffic::Surveyor surveyor(traffic::parse_surveyed({"02:00:00:00:00:01", "10.1.0.1/16"}),
                               {.flows = 64, .tally = {.services = 32, .clients = 64, .stations = 16}});
    std::array<net::Packet, 50> batch;
    std::uint64_t packets = 0;
    while (const std::size_t count = file.next(batch)) {
      traffic::Surveyed found;
      traffic::infer(found, std::span(batch).first(count));
      surveyor.add(std::span(batch).first(count));
      packets += count;
    }
    surveyor.end();
    const auto traffic = traffic::make_traffic(surveyor.tally(), {{"fuzz"}, surveyor.surveyed(), {}});
    if (surveyor.flow_count() > 64 || traffic.packets != static_cast<std::int64_t>(packets)) __builtin_trap();
    json::decode_text<traffic::Traffic>(json::encode(traffic));
  } catch (const Error& e) {
    if (e.code() != Code::invalid || e.message().find("no capture file") == std::string::npos) __builtin_trap();
  }
  return 0;
}
