#include "control/stanza.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::control {

namespace {

constexpr char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view trim_end(std::string_view text) {
  while (!text.empty() && (is_blank(text.back()) || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

std::string_view trim_start(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

/// Takes a line off the front of `rest`, with its newline if it has one.
std::string_view take_line(std::string_view& rest) {
  const void* end = std::memchr(rest.data(), '\n', rest.size());
  const std::size_t size =
      end == nullptr ? rest.size() : static_cast<std::size_t>(static_cast<const char*>(end) - rest.data()) + 1;
  const std::string_view line = rest.substr(0, size);
  rest.remove_prefix(size);
  return line;
}

bool is_empty_line(std::string_view line) { return line == "\n" || line == "\r\n" || line == "\r"; }

[[noreturn]] void refuse(Code code, std::size_t line, std::string why) {
  throw Error(code, fmt::format("cannot read the stanzas: line {}", line)).because(std::move(why));
}

/// Source: deb822(5): printable US-ASCII without the colon, and neither '#' nor '-' first.
bool is_field_name(std::string_view name) {
  if (name.empty() || name.front() == '#' || name.front() == '-') return false;
  for (const char c : name) {
    if (c <= ' ' || c > '~' || c == ':') return false;
  }
  return true;
}

/// What a line of an untrusted text is called in an error.
std::string excerpt(std::string_view line) {
  std::string out;
  for (const char c : trim_end(line.substr(0, std::min<std::size_t>(line.size(), 40)))) {
    if (c != '\n') out += c >= ' ' && c <= '~' ? c : '?';
  }
  return line.size() > 40 ? out + "…" : out;
}

/// The names of one stanza, to see one that comes again. Few have the same key, so that few are compared.
class Names {
 public:
  void clear() { count_ = 0; }

  /// False when it is there already. Throws when there are too many.
  bool add(std::string_view name, std::size_t line) {
    const std::uint32_t key = static_cast<std::uint32_t>(name.size()) << 16 |
                              static_cast<std::uint32_t>(static_cast<unsigned char>(lower_case(name.front()))) << 8 |
                              static_cast<std::uint32_t>(static_cast<unsigned char>(lower_case(name.back())));
    for (std::size_t i = 0; i < count_; ++i) {
      if (keys_[i] == key && same_name(names_[i], name)) return false;
    }
    if (count_ == kMaxFields)
      refuse(Code::too_large, line, fmt::format("more than {} fields in one stanza", kMaxFields));
    keys_[count_] = key;
    names_[count_++] = name;
    return true;
  }

 private:
  std::size_t count_ = 0;
  std::array<std::uint32_t, kMaxFields> keys_{};
  std::array<std::string_view, kMaxFields> names_{};
};

void check_field(std::string_view line, std::size_t number, Names& names) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) refuse(Code::invalid, number, fmt::format("no ':' in '{}'", excerpt(line)));
  const std::string_view name = line.substr(0, colon);
  if (name.size() > kMaxFieldName)
    refuse(Code::too_large, number,
           fmt::format("the name of a field has {} bytes, {} are allowed", name.size(), kMaxFieldName));
  if (!is_field_name(name)) refuse(Code::invalid, number, fmt::format("'{}' is no name of a field", excerpt(name)));
  if (!names.add(name, number)) refuse(Code::invalid, number, fmt::format("a second field '{}'", name));
}

void check_text(std::string_view text) {
  if (text.size() > kMaxText)
    throw Error(Code::too_large, "cannot read the stanzas")
        .because(fmt::format("{}, {} are allowed", human_bytes(text.size()), human_bytes(kMaxText)));
  const std::size_t nul = text.find('\0');
  if (nul == std::string_view::npos) return;
  const auto before = text.substr(0, nul);
  refuse(Code::invalid, 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')), "a NUL byte");
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower_case(x) == lower_case(y); });
}

bool FieldCursor::next(Field& field) {
  if (rest_.empty()) return false;
  const std::string_view all = rest_;
  const std::string_view first = take_line(rest_);
  const std::size_t colon = std::min(first.find(':'), first.size());
  std::size_t end = first.size();
  while (!rest_.empty() && is_blank(rest_.front())) end += take_line(rest_).size();
  std::string_view value = all.substr(std::min(colon + 1, end), end - std::min(colon + 1, end));
  // Also lines of blanks alone at its end: without their blanks they would be empty, and end a stanza.
  value = value.substr(0, value.find_last_not_of(" \t\r\n") + 1);
  field = {first.substr(0, colon), trim_start(value)};
  return true;
}

std::optional<std::string_view> Stanza::find(std::string_view name) const {
  FieldCursor cursor(text);
  for (Field field; cursor.next(field);) {
    if (same_name(field.name, name)) return field.value;
  }
  return std::nullopt;
}

std::vector<Field> Stanza::fields() const {
  std::vector<Field> out;
  FieldCursor cursor(text);
  for (Field field; cursor.next(field);) out.push_back(field);
  return out;
}

void each_stanza(std::string_view text, const std::function<void(const Stanza&)>& each) {
  check_text(text);
  const auto names = std::make_unique<Names>();
  std::string_view rest = text;
  std::size_t number = 0;
  const char* begin = nullptr;  // of the stanza that is being read
  Stanza stanza;
  const auto finish = [&](const char* end) {
    if (begin == nullptr) return;
    stanza.text = std::string_view(begin, static_cast<std::size_t>(end - begin));
    begin = nullptr;
    names->clear();
    each(stanza);
  };
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    ++number;
    if (is_empty_line(line)) {
      finish(line.data());
      continue;
    }
    if (begin == nullptr) {
      if (is_blank(line.front())) refuse(Code::invalid, number, "it goes on with a field, and there is none above it");
      begin = line.data();
      stanza.line = number;
    }
    if (static_cast<std::size_t>(line.data() + line.size() - begin) > kMaxStanza)
      refuse(Code::too_large, number, fmt::format("a stanza of more than {}", human_bytes(kMaxStanza)));
    if (!is_blank(line.front())) check_field(line, number, *names);
  }
  finish(text.data() + text.size());
}

Stanza single_stanza(std::string_view text) {
  std::optional<Stanza> only;
  each_stanza(text, [&](const Stanza& stanza) {
    if (only) refuse(Code::invalid, stanza.line, "a second stanza, where one is allowed");
    only = stanza;
  });
  if (!only) throw Error(Code::invalid, "cannot read the stanza").because("there is none");
  return *only;
}

std::string unfold(std::string_view value) {
  std::string out;
  out.reserve(value.size());
  bool first = true;
  while (!value.empty()) {
    std::string_view line = take_line(value);
    const bool more = line.ends_with('\n');
    if (more) line.remove_suffix(1);
    line = trim_end(line);
    if (!first && !line.empty()) line.remove_prefix(1);
    if (first || line != ".") out += line;
    if (more) out += '\n';
    first = false;
  }
  return out;
}

std::string join_lines(std::string_view value) {
  std::string out;
  out.reserve(value.size());
  while (!value.empty()) {
    std::string_view line = take_line(value);
    if (line.ends_with('\n')) line.remove_suffix(1);
    line = trim_start(trim_end(line));
    if (line.empty()) continue;
    if (!out.empty()) out += ' ';
    out += line;
  }
  return out;
}

}  // namespace underway::control
