// Indexes and control files come from anybody who runs a repository. What is read has to be read alike by those who
// look at the bytes of a stanza alone, and what a field says has to be what is read again once it was written.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "control/stanza.hpp"
#include "control/writer.hpp"

namespace {

using namespace underway;

void expect(bool holds) {
  if (!holds) __builtin_trap();
}

void look(const control::Stanza& stanza, std::string_view all) {
  expect(stanza.text.data() >= all.data() && stanza.text.data() + stanza.text.size() <= all.data() + all.size());
  expect(control::single_stanza(stanza.text).text == stanza.text);
  const auto fields = stanza.fields();
  expect(!fields.empty());
  control::Writer writer;
  for (const auto& field : fields) {
    expect(stanza.find(field.name) == field.value);
    writer.copy(field);
    (void)control::join_lines(field.value);
    try {
      const std::string folded = control::fold(control::unfold(field.value));
      expect(control::unfold(folded) == control::unfold(control::fold(control::unfold(folded))));
    } catch (const Error&) {
      // It has a carriage return within a line.
    }
  }
  const auto again = control::single_stanza(writer.text()).fields();
  expect(again.size() == fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i)
    expect(again[i].name == fields[i].name && again[i].value == fields[i].value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    control::each_stanza(text, [&](const control::Stanza& stanza) { look(stanza, text); });
  } catch (const Error&) {
    // Refused, as it should be.
  }
  return 0;
}
