// A journal may be torn or hostile: what a record holds is believed only within its bounds.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "base/json.hpp"
#include "survey/reading.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  survey::Tally tally({.services = 64, .clients = 64, .stations = 16});
  survey::JournalNotes notes;
  try {
    survey::decode_record({reinterpret_cast<const char*>(data), size}, tally, notes);
  } catch (const Error& e) {
    if (e.code() != Code::invalid && e.code() != Code::unsupported) __builtin_trap();
  }
  const auto traffic = survey::make_traffic(tally, notes);
  json::decode_text<survey::Traffic>(json::encode(traffic));
  survey::Tally again;
  survey::decode_record(survey::encode_record(tally, notes), again, notes);
  if (again.services().size() != tally.services().size()) __builtin_trap();
  return 0;
}
