// Formats any bytes; what parses must still parse, say the same, and be left alone the second time.
#include "hcl/format.hpp"
#include "hcl/parse/parser.hpp"

#include <cstdint>
#include <cstdlib>

using namespace underway::hcl;

namespace {

bool parses(const std::string& text) {
  Diagnostics diagnostics;
  parse(text, "fuzz.hcl", diagnostics);
  return !diagnostics.has_errors();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string once = format(text);
  if (!parses(text)) return 0;
  if (!parses(once) || format(once) != once) std::abort();
  return 0;
}
