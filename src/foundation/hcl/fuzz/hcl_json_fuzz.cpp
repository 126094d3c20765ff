// Parses any bytes as HCL-JSON and reads it both ways: by a schema and as a free-form value.
#include "hcl/functions.hpp"
#include "hcl/module.hpp"
#include "hcl/parse/parser.hpp"

#include <cstdint>

using namespace underway::hcl;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Schema kSchema{
      .attributes = {{"a"}, {"meta"}},
      .blocks = {{.type = "job", .labels = {"name"}}, {.type = "meta"}, {.type = "pair", .labels = {"x", "y"}}}};
  Diagnostics diagnostics;
  const Limits limits{.steps = 20'000, .bytes = 1024 * 1024, .string_bytes = 256 * 1024};
  const Body body = parse_json(std::string(reinterpret_cast<const char*>(data), size), "fuzz.json", diagnostics);
  const Context base = Context(limits).functions(pure_functions()).unknown_roots(UnknownRoots::keep);
  const Module module(body, {.base = base}, diagnostics);
  const Context context = module.context({}, diagnostics);
  const Content content = expand_dynamic(module.rest(), context).content(kSchema, diagnostics);
  for (const auto& block : content.blocks) static_cast<void>(decode_any(block.body, context, diagnostics));
  static_cast<void>(decode_any(body, context, diagnostics));
  static_cast<void>(diagnostics.render());
  return 0;
}
