#include "control/writer.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::control {

namespace {

[[noreturn]] void refuse_field(std::string_view name, std::string why) {
  throw Error(Code::invalid, fmt::format("cannot write the field '{}'", name)).because(std::move(why));
}

std::string_view without_end_blanks(std::string_view line) {
  const std::size_t end = line.find_last_not_of(" \t");
  return end == std::string_view::npos ? std::string_view() : line.substr(0, end + 1);
}

}  // namespace

std::string fold(std::string_view text) {
  if (text.find_first_of(std::string_view("\0\r", 2)) != std::string_view::npos)
    throw Error(Code::invalid, "cannot write a field").because("a NUL or a carriage return is in its text");
  std::string out;
  const auto lines = split(text, '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = without_end_blanks(lines[i]);
    if (i == 0) {
      out += line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
      continue;
    }
    if (line == ".")
      throw Error(Code::invalid, "cannot write a field")
          .because(fmt::format("line {} of its text is a '.' alone, which is read as an empty line", i + 1));
    out += "\n ";
    out += line.empty() ? "." : line;
  }
  return out;
}

void Writer::begin_field(std::string_view name) {
  const std::string line = fmt::format("{}:\n", name);
  Field read;
  try {
    const Stanza alone = single_stanza(line);
    FieldCursor(alone.text).next(read);
  } catch (const Error& error) {
    refuse_field(name, error.one_line());
  }
  if (read.name != name) refuse_field(name, "its name is none");
  if (Stanza{std::string_view(text_).substr(begin_)}.find(name)) refuse_field(name, "the stanza has it already");
  text_ += name;
  text_ += ':';
}

Writer& Writer::add(std::string_view name, std::string_view text) {
  std::string value;
  try {
    value = fold(text);
  } catch (Error& error) {
    error.while_doing(fmt::format("writing '{}'", name));
    throw;
  }
  return copy({name, value});
}

Writer& Writer::add(std::string_view name, std::uint64_t number) { return add(name, std::to_string(number)); }

Writer& Writer::copy(const Field& field) {
  for (std::size_t at = field.value.find('\n'); at != std::string_view::npos; at = field.value.find('\n', at + 1)) {
    if (at + 1 == field.value.size() || (field.value[at + 1] != ' ' && field.value[at + 1] != '\t'))
      refuse_field(field.name, "a line of its value does not begin with a blank");
  }
  begin_field(field.name);
  if (!field.value.empty() && field.value.front() != '\n') text_ += ' ';
  text_ += field.value;
  text_ += '\n';
  return *this;
}

Writer& Writer::end() {
  if (text_.size() > begin_) text_ += '\n';
  begin_ = text_.size();
  return *this;
}

}  // namespace underway::control
