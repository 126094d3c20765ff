// What a job says of a capsule, and what a capsule's init says of itself.
#include <boost/json/parse.hpp>
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "run/config/config.hpp"
#include "run/config/init_text.hpp"
#include "run/control.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    static_cast<void>(run::parse_status(text));
  } catch (const Error&) {
    // Most inputs are none.
  }
  boost::system::error_code failed;
  const auto json = boost::json::parse(text, failed);
  if (failed) return 0;
  const auto found = run::problems(json);
  if (!found.empty()) return 0;
  try {
    static_cast<void>(run::encode_init_spec(run::program_of(json, {}), 3));
  } catch (const Error&) {
    // Its services do not fit together.
  }
  return 0;
}
