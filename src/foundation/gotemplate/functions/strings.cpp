// Texts: Sprig's functions, and what consul-template's share with them.
#include "base/error.hpp"
#include "base/text.hpp"
#include "gotemplate/format.hpp"
#include "gotemplate/functions/library.hpp"
#include "gotemplate/printing/utf8.hpp"

#include <algorithm>

namespace underway::gotemplate {

namespace {

Value repeat(const Call& call) {
  const std::int64_t count = call.integer(0);
  const std::string_view text = call.text(1);
  if (count < 0) throw Error(Code::invalid, "strings: negative Repeat count");
  if (text.empty() || count == 0) return "";
  if (static_cast<std::uint64_t>(count) > call.run.inputs().limits.values) call.run.make(SIZE_MAX);
  call.run.make(static_cast<std::size_t>(count) * text.size());
  std::string out;
  out.reserve(static_cast<std::size_t>(count) * text.size());
  for (std::int64_t i = 0; i < count; ++i) out += text;
  return out;
}

Value substr(const Call& call) {
  const std::int64_t start = call.integer(0);
  const std::int64_t end = call.integer(1);
  const std::string_view text = call.text(2);
  const auto size = static_cast<std::int64_t>(text.size());
  const std::int64_t from = std::max<std::int64_t>(start, 0);
  const std::int64_t to = start >= 0 && (end < 0 || end > size) ? size : end;
  if (from > to || to > size) throw Error(Code::invalid, fmt::format("slice bounds out of range [{}:{}]", from, to));
  return text.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from));
}

Value trunc(const Call& call) {
  const std::int64_t length = call.integer(0);
  const std::string_view text = call.text(1);
  const auto size = static_cast<std::int64_t>(text.size());
  if (length >= 0) return text.substr(0, static_cast<std::size_t>(std::min(length, size)));
  return length > -size ? Value(text.substr(static_cast<std::size_t>(size + length))) : call[1];
}

/// "a long text" in 8 bytes: "a lon...". From `left` on, there are dots before it too.
std::string abbreviated(std::string_view text, std::int64_t left, std::int64_t width) {
  const auto size = static_cast<std::int64_t>(text.size());
  if (size <= width) return std::string(text);
  left = std::min(left, size);
  if (size - left < width - 3) left = size - (width - 3);
  const auto kept = static_cast<std::size_t>(width - 3);
  if (left <= 4) return std::string(text.substr(0, kept)) + "...";
  if (width < 7) return "";
  if (left + width - 3 < size) {
    const std::string_view rest = text.substr(static_cast<std::size_t>(left));
    return "..." + (width - 3 < 4 ? std::string() : abbreviated(rest, 0, width - 3));
  }
  return "..." + std::string(text.substr(text.size() - kept));
}

Value abbrev(const Call& call) {
  const std::int64_t width = call.integer(0);
  return width < 4 ? call[1] : Value(abbreviated(call.text(1), 0, width));
}

Value abbrev_both(const Call& call) {
  const std::int64_t left = call.integer(0);
  const std::int64_t right = call.integer(1);
  if (right < 4 || (left > 0 && right < 7)) return call[2];
  return abbreviated(call.text(2), left, right);
}

/// Byte by byte, as goutils goes: where there is a blank, the bytes of longer characters become characters.
std::string without_blanks(std::string_view text) {
  std::string out;
  bool blank = false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_space(byte))
      blank = true;
    else
      append(out, byte);
  }
  return blank ? out : std::string(text);
}

Value indent(const Call& call, bool newline) {
  const std::int64_t spaces = call.integer(0);
  const std::string_view text = call.text(1);
  if (spaces < 0) throw Error(Code::invalid, "strings: negative Repeat count");
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
  if (static_cast<std::size_t>(spaces) > call.run.inputs().limits.values / lines) call.run.make(SIZE_MAX);
  call.run.make(text.size() + lines * static_cast<std::size_t>(spaces));
  const std::string pad(static_cast<std::size_t>(spaces), ' ');
  std::string out = (newline ? "\n" : "") + pad;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += pad;
  }
  return out;
}

Value quoted(const Call& call, bool single) {
  std::string out;
  for (const Value& value : call.arguments) {
    if (value.is_nil()) continue;
    if (!out.empty()) out += ' ';
    const std::string text = as_text(value, call.run);
    call.run.make(text.size() * 2);
    out += single ? "'" + text + "'" : quote(text);
  }
  return out;
}

Value cat(const Call& call) {
  std::string out;
  bool first = true;
  for (const Value& value : call.arguments) {
    if (value.is_nil()) continue;
    if (!std::exchange(first, false)) out += ' ';
    append_text(out, value, call.run);
  }
  return out;
}

/// "_0", "_1", …
Value numbered(const std::vector<std::string_view>& parts, Run& run) {
  Map map;
  for (std::size_t i = 0; i < parts.size(); ++i) map.emplace(fmt::format("_{}", i), Value(parts[i]));
  return run.map(std::move(map), Element::text);
}

/// Breaks at blanks so that no line is longer than `width`, but for longer words, which `cut` breaks.
Value wrap(const Call& call, std::string_view text, std::string_view joint, bool cut) {
  if (joint.empty()) joint = "\n";
  const auto width = static_cast<std::size_t>(std::max<std::int64_t>(call.integer(0), 1));
  call.run.make(text.size() * (1 + joint.size()));
  std::string out;
  while (text.size() > width) {
    if (text.starts_with(' ')) {
      text.remove_prefix(1);
      continue;
    }
    std::size_t at = text.substr(0, width + 1).rfind(' ');
    if (at == std::string_view::npos && cut) {
      out.append(text.substr(0, width)).append(joint);
      text.remove_prefix(width);
      continue;
    }
    if (at == std::string_view::npos) at = text.find(' ', width);
    if (at == std::string_view::npos) break;
    out.append(text.substr(0, at)).append(joint);
    text.remove_prefix(at + 1);
  }
  return out += text;
}

}  // namespace

std::vector<std::string_view> split_text(std::string_view text, std::string_view separator, Run& run,
                                         std::int64_t most) {
  std::vector<std::string_view> parts;
  if (most == 0) return parts;
  const auto full = [&] { return most > 0 && parts.size() + 1 >= static_cast<std::size_t>(most); };
  run.step(text.size() / 16);
  while (!full()) {
    const std::size_t at =
        separator.empty() ? (text.empty() ? std::string_view::npos : decode(text).size) : text.find(separator);
    if (at == std::string_view::npos || (separator.empty() && at == text.size())) break;
    run.make_elements(1);
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  if (!separator.empty() || !text.empty()) parts.push_back(text);
  return parts;
}

Value texts(const std::vector<std::string_view>& parts, Run& run) {
  run.make_elements(parts.size());
  return Value::list(List(parts.begin(), parts.end()), Element::text);
}

Value replace_all(std::string_view text, std::string_view from, std::string_view to, Run& run) {
  std::string out;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t found = from.empty() ? at : text.find(from, at);
    if (found == std::string_view::npos) break;
    run.make(to.size() + 1);
    out += text.substr(at, found - at);
    out += to;
    if (!from.empty()) {
      at = found + from.size();
    } else {  // between all characters, and at both ends
      const std::size_t size = decode(text.substr(at)).size;
      out += text.substr(at, size);
      at += std::max<std::size_t>(size, 1);
    }
  }
  if (at < text.size()) out += text.substr(at);
  run.make(text.size());
  return out;
}

std::string_view trim_set(std::string_view text, std::string_view set) {
  const auto contains = [&](char32_t wanted) {
    for (std::string_view rest = set; !rest.empty();) {
      const Rune rune = decode(rest);
      if (rune.value == wanted) return true;
      rest.remove_prefix(rune.size);
    }
    return false;
  };
  while (!text.empty() && contains(decode(text).value)) text.remove_prefix(decode(text).size);
  while (!text.empty()) {
    std::size_t last = text.size() - 1;
    while (last > 0 && text.size() - last < 4 && (static_cast<unsigned char>(text[last]) & 0xC0U) == 0x80U) --last;
    if (!contains(decode(text.substr(last)).value)) break;
    text.remove_suffix(text.size() - last);
  }
  return text;
}

std::string_view trim_space(std::string_view text) { return trim_set(text, " \t\n\v\f\r\u0085\u00A0\u2028\u2029"); }

std::string as_text(const Value& value, Run& run) {
  return value.is_text() ? std::string(value.as_text()) : to_text(value, run);
}

std::vector<std::string> as_texts(const Value& value, Run& run) {
  std::vector<std::string> out;
  if (value.is_nil()) return out;
  if (value.kind() != Kind::list) return {as_text(value, run)};
  for (const Value& item : value.as_list()) {
    run.make(sizeof(std::string));
    if (!item.is_nil()) out.push_back(as_text(item, run));
  }
  return out;
}

Value join_texts(const std::vector<std::string>& parts, std::string_view separator, Run& run) {
  std::size_t size = 0;
  for (const auto& part : parts) size += part.size() + separator.size();
  run.make(size);
  return join(parts, separator);
}

std::vector<Function> string_functions() {
  constexpr Origin kSprig = Origin::sprig;
  return {
      {"trim", "text string", "Without blanks at both ends.", kSprig,
       [](const Call& c) -> Value { return trim_space(c.text(0)); }},
      {"trimAll", "set string, text string", "Without the characters of the set at both ends.", kSprig,
       [](const Call& c) -> Value { return trim_set(c.text(1), c.text(0)); }},
      {"trimall", "set string, text string", "trimAll by its old name.", kSprig,
       [](const Call& c) -> Value { return trim_set(c.text(1), c.text(0)); }},
      {"trimPrefix", "prefix string, text string", "Without the prefix.", kSprig,
       [](const Call& c) -> Value {
         return c.text(1).starts_with(c.text(0)) ? Value(c.text(1).substr(c.text(0).size())) : c[1];
       }},
      {"trimSuffix", "suffix string, text string", "Without the suffix.", kSprig,
       [](const Call& c) -> Value {
         return c.text(1).ends_with(c.text(0)) ? Value(c.text(1).substr(0, c.text(1).size() - c.text(0).size())) : c[1];
       }},
      {"repeat", "count int, text string", "The text so many times.", kSprig, repeat},
      {"substr", "start int, end int, text string", "The bytes from start to before end.", kSprig, substr},
      {"trunc", "length int, text string", "The first bytes; the last ones if the length is negative.", kSprig, trunc},
      {"abbrev", "width int, text string", "Cut to the width with \"...\" at its end.", kSprig, abbrev},
      {"abbrevboth", "left int, width int, text string", "abbrev, from the byte `left` on.", kSprig, abbrev_both},
      {"nospace", "text string", "Without any blanks.", kSprig,
       [](const Call& c) -> Value { return without_blanks(c.text(0)); }},
      {"wrap", "width int, text string", "Broken into lines at blanks.", kSprig,
       [](const Call& c) { return wrap(c, c.text(1), "\n", false); }},
      {"wrapWith", "width int, joint string, text string", "Broken at blanks, and in words, with the joint between.",
       kSprig, [](const Call& c) { return wrap(c, c.text(2), c.text(1), true); }},
      {"contains", "part string, text string", "Whether the text contains the part.", kSprig,
       [](const Call& c) -> Value { return c.text(1).find(c.text(0)) != std::string_view::npos; }},
      {"hasPrefix", "prefix string, text string", "Whether the text begins with the prefix.", kSprig,
       [](const Call& c) -> Value { return c.text(1).starts_with(c.text(0)); }},
      {"hasSuffix", "suffix string, text string", "Whether the text ends with the suffix.", kSprig,
       [](const Call& c) -> Value { return c.text(1).ends_with(c.text(0)); }},
      {"quote", "values ...any", "Each in double quotes, with Go's escapes.", kSprig,
       [](const Call& c) { return quoted(c, false); }},
      {"squote", "values ...any", "Each in single quotes.", kSprig, [](const Call& c) { return quoted(c, true); }},
      {"cat", "values ...any", "The values with blanks between.", kSprig, cat},
      {"indent", "spaces int, text string", "Each line with so many blanks before it.", kSprig,
       [](const Call& c) { return indent(c, false); }},
      {"nindent", "spaces int, text string", "indent, after a newline.", kSprig,
       [](const Call& c) { return indent(c, true); }},
      {"replace", "old string, new string, text string", "Each old replaced by new.", kSprig,
       [](const Call& c) { return replace_all(c.text(2), c.text(0), c.text(1), c.run); }},
      {"plural", "one string, many string, count int", "The first for a count of 1, else the second.", kSprig,
       [](const Call& c) -> Value { return c.integer(2) == 1 ? c[0] : c[1]; }},
      {"split", "separator string, text string", "The parts as a map with the keys _0, _1, …", kSprig,
       [](const Call& c) { return numbered(split_text(c.text(1), c.text(0), c.run), c.run); }},
      {"splitn", "separator string, most int, text string", "split into so many parts at most.", kSprig,
       [](const Call& c) { return numbered(split_text(c.text(2), c.text(0), c.run, c.integer(1)), c.run); }},
      {"splitList", "separator string, text string", "The parts as a list.", kSprig,
       [](const Call& c) { return texts(split_text(c.text(1), c.text(0), c.run), c.run); }},
      {"join", "separator string, values any", "The values as one text.", kSprig,
       [](const Call& c) -> Value { return join_texts(as_texts(c[1], c.run), c.text(0), c.run); }},
      {"sortAlpha", "values any", "The values as texts, sorted.", kSprig,
       [](const Call& c) {
         if (c[0].is_nil()) return Value::texts({"<nil>"});
         auto all = as_texts(c[0], c.run);
         c.run.step(all.size());
         std::ranges::sort(all);
         return Value::texts(all);
       }},
      {"toString", "value any", "The value as text.", kSprig,
       [](const Call& c) -> Value { return as_text(c[0], c.run); }},
      {"toStrings", "values any", "A list of the values as texts.", kSprig,
       [](const Call& c) { return Value::texts(as_texts(c[0], c.run)); }},
  };
}

}  // namespace underway::gotemplate
