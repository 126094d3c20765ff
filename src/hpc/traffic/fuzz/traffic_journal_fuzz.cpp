// A journal may be torn or hostile: what a record holds is believed only within its bounds.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "traffic/reading.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  traffic::Tally tally({.services = 64, .clients = 64, .stations = 16});
  traffic::JournalNotes notes;
  try {
    traffic::decode_record({reinterpret_cast<const char*>(data), size}, tally, notes);
  } catch (const Error& e) {
    if (e.code() != Code::invalid && e.code() != Code::unsupported) __builtin_trap();
  }
  const auto traffic = traffic::make_traffic(tally, notes);
  json::decode_text<traffic::Traffic>(json::encode(traffic));
  traffic::Tally again;
  traffic::decode_record(traffic::encode_record(tally, notes), again, notes);
  if (again.services().size() != tally.services().size()) __builtin_trap();
  return 0;
}
