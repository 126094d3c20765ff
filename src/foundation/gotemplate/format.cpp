#include "gotemplate/format.hpp"

#include "base/error.hpp"
#include "gotemplate/printing/printer.hpp"
#include "gotemplate/run.hpp"

namespace underway::gotemplate {

namespace {

/// fmt.Print and fmt.Fprint put a blank between operands of which neither is a string.
bool is_string(const Value& value) { return value.is_text(); }

}  // namespace

void append_text(std::string& out, const Value& value, Run& run) {
  switch (value.kind()) {
    case Kind::text:
      run.make(value.as_text().size());
      out += value.as_text();
      return;
    case Kind::integer: {
      fmt::format_to(std::back_inserter(out), "{}", value.as_integer());
      return;
    }
    default: {
      Printer printer(out, run);
      printer.value(value, 'v', 0);
    }
  }
}

std::string to_text(const Value& value, Run& run) {
  std::string out;
  append_text(out, value, run);
  return out;
}

std::string print(std::span<const Value> values, Run& run) {
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0 && !is_string(values[i]) && !is_string(values[i - 1])) out += ' ';
    append_text(out, values[i], run);
  }
  return out;
}

std::string println(std::span<const Value> values, Run& run) {
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ' ';
    append_text(out, values[i], run);
  }
  return out + '\n';
}

}  // namespace underway::gotemplate
