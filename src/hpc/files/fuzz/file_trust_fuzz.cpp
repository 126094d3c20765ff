// A node takes steps of keys from what calls itself its server: nobody who has not the key that it believes makes it
// believe another, or none.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "files/trust.hpp"

using namespace underway;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const files::Trust trust{0, {"ebVWLo/mVPlAeLES6KmLp5AfhTrmlb7X4OORC60ElmQ="}, {}};
  try {
    const auto steps = json::decode_text<std::vector<model::FileKeyStep>>(text, "steps");
    const auto after = files::take_steps(trust, steps);
    if (after.serial != 0 || after.trusted != trust.trusted || !after.withdrawn.empty()) __builtin_trap();
  } catch (const Error&) {  // refused: that is the point
  }
  try {
    const auto kept = files::parse_trust(text);
    if (kept.trusted.size() + kept.withdrawn.size() > size) __builtin_trap();
  } catch (const Error&) {  // not what an agent wrote
  }
  return 0;
}
