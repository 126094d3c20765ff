// Join tokens from files that people write: what is taken is written back as it was.
#include <cstdlib>

#include "base/error.hpp"
#include "base/text.hpp"
#include "trust/join_token.hpp"

using namespace underway;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  try {
    if (trust::to_text(trust::parse_join_token(input)).bytes() != trim(input)) std::abort();
  } catch (const Error& error) {
    if (error.code() != Code::invalid) std::abort();
  }
  return 0;
}
