// Parses any bytes as native HCL and evaluates all of it in Nomad's dialect, expanding dynamic blocks; renders what is
// wrong with it. Nothing may crash, hang or throw.
#include "hcl/functions.hpp"
#include "hcl/module.hpp"
#include "hcl/parse/parser.hpp"

#include <boost/json/serialize.hpp>

#include <cstdint>

using namespace underway::hcl;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Diagnostics diagnostics;
  const Limits limits{.steps = 20'000, .bytes = 1024 * 1024, .string_bytes = 256 * 1024};
  Body body = parse_native(std::string(reinterpret_cast<const char*>(data), size), "fuzz.hcl", diagnostics);
  const Context base = Context(limits).functions(pure_functions()).unknown_roots(UnknownRoots::keep);
  const Module module(body, {.base = base}, diagnostics);
  const Context context = module.context({}, diagnostics);
  if (const auto value = decode_any(expand_dynamic(module.rest(), context), context, diagnostics)) {
    static_cast<void>(boost::json::serialize(to_json(*value)));
  }
  for (const auto& attribute : body.just_attributes(diagnostics)) {
    for (const auto& variable : attribute.expression.variables()) static_cast<void>(variable.range.where());
  }
  static_cast<void>(diagnostics.render(Style::coloured));
  return 0;
}
