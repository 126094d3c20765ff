#include "base/numbers.hpp"
#include "base/text.hpp"
#include "hcl/detail/arguments.hpp"
#include "hcl/detail/unicode.hpp"
#include "unicode/unicode.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

namespace underway::hcl::detail {

namespace {

std::string reversed(const std::string& text) {
  const auto points = unicode::clusters(text);
  std::string out;
  out.reserve(text.size());
  for (auto point = points.rbegin(); point != points.rend(); ++point) out += *point;
  return out;
}

/// In grapheme clusters. A length of 0 behind a negative offset is as good as none, as in cty.
Value substring(const Arguments& arguments) {
  const std::string text = arguments.text(0);
  const auto characters = unicode::clusters(text);
  const auto size = static_cast<std::int64_t>(characters.size());
  std::int64_t offset = arguments.integer(1);
  std::int64_t length = arguments.integer(2);
  if (offset >= 0 && length == 0) return "";
  if (offset < 0) offset = std::max<std::int64_t>(0, size + offset);
  if (offset >= size) return "";
  if (length <= 0 || length > size - offset) length = size - offset;
  std::string out;
  for (std::int64_t i = offset; i < offset + length; ++i) out += characters[static_cast<std::size_t>(i)];
  return out;
}

Value replaced(const Arguments& arguments) {
  const std::string text = arguments.text(0);
  const std::string from = arguments.text(1);
  const std::string to = arguments.text(2);
  std::string out;
  const auto append = [&](std::string_view piece) {
    out += piece;
    if (out.size() > arguments.budget().limits().string_bytes) arguments.budget().produce_string(out.size());
  };
  if (from.empty()) {  // before every character and at the end, as Go's strings.Replace
    for (const std::string_view point : code_points(text)) append(to), append(point);
    append(to);
    return out;
  }
  std::size_t at = 0;
  for (std::size_t found = text.find(from); found != std::string::npos; found = text.find(from, at)) {
    append(std::string_view(text).substr(at, found - at));
    append(to);
    at = found + from.size();
  }
  append(std::string_view(text).substr(at));
  return out;
}

bool is_name_part(std::uint32_t point) {
  if (point < 0x80) return std::isalnum(static_cast<int>(point)) != 0 || point == '_';
  return unicode::is_letter(point) || unicode::is_digit(point);
}

/// The end of the name at `at`.
std::size_t name_end(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const auto point = unicode::first_point(text.substr(at));
    if (!is_name_part(point.value)) break;
    at += point.size;
  }
  return at;
}

/// The group that `name` means: a number without a leading zero, or a name; groups.size() for none.
std::size_t group_of(const std::string& name, std::size_t count, const std::map<std::string, int>& names) {
  if (std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    if (name.size() < 9 && (name[0] != '0' || name.size() == 1)) return parse_number<std::size_t>(name).value_or(count);
    return count;
  }
  const auto found = names.find(name);
  return found == names.end() ? count : static_cast<std::size_t>(found->second);
}

/// Go's Regexp.Expand: $1, ${1}, $name, ${name}, $$; an unknown group is empty.
void expand(std::string_view replacement, const std::vector<re2::StringPiece>& groups,
            const std::map<std::string, int>& names, std::string& out) {
  for (std::size_t i = 0; i < replacement.size(); ++i) {
    if (replacement[i] != '$' || i + 1 == replacement.size()) {
      out += replacement[i];
      continue;
    }
    if (replacement[i + 1] == '$') {
      out += replacement[++i];
      continue;
    }
    const bool braced = replacement[i + 1] == '{';
    const std::size_t begin = i + (braced ? 2 : 1);
    const std::size_t end = name_end(replacement, begin);
    if (end == begin || (braced && (end == replacement.size() || replacement[end] != '}'))) {
      out += '$';
      continue;
    }
    const std::size_t group = group_of(std::string(replacement.substr(begin, end - begin)), groups.size(), names);
    i = braced ? end : end - 1;
    if (group < groups.size()) out.append(groups[group].data(), groups[group].size());
  }
}

/// RE2 knows \C, a byte whatever it belongs to; Go does not, and a text would be cut within a character.
bool matches_bytes(std::string_view pattern) {
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] != '\\') continue;
    if (pattern[i + 1] == 'C') return true;
    if (pattern[i + 1] == 'Q') {
      i = pattern.find("\\E", i + 2);
      if (i == std::string_view::npos) return false;
    }
    ++i;
  }
  return false;
}

/// What a pattern may take compiled, and what it costs to find out that it would take more (measured: up to 5 ms).
constexpr std::int64_t kPatternBytes = 1 << 20;
constexpr std::uint64_t kStepsOfRefusedPattern = 50'000;
/// Bytes of text times instructions of the pattern that are looked at in one step.
constexpr std::uint64_t kLooksPerStep = 32;

Value regex_replaced(const Arguments& arguments) {
  const std::string text = arguments.text(0);
  const std::string pattern = arguments.text(1);
  const std::string replacement = arguments.text(2);
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kPatternBytes);
  const re2::RE2 expression(pattern, options);
  if (matches_bytes(pattern)) throw ArgumentError(1, "this is no regular expression: \\C matches half a character");
  if (!expression.ok()) {
    arguments.budget().step(kStepsOfRefusedPattern);
    throw ArgumentError(1, fmt::format("this is no regular expression: {}", expression.error()));
  }
  const auto instructions = static_cast<std::uint64_t>(std::max(expression.ProgramSize(), 1));
  const auto look_at = [&](std::size_t bytes) { arguments.budget().step(1 + bytes * instructions / kLooksPerStep); };
  arguments.budget().step(16 * instructions);  // to compile it
  look_at(text.size());
  std::vector<re2::StringPiece> groups(static_cast<std::size_t>(expression.NumberOfCapturingGroups()) + 1);
  const auto& names = expression.NamedCapturingGroups();
  std::string out;
  std::size_t done = 0;  // what is behind the last match is not copied yet
  std::size_t from = 0;
  while (from <= text.size() && expression.Match(text, from, text.size(), re2::RE2::UNANCHORED, groups.data(),
                                                 static_cast<int>(groups.size()))) {
    const auto begin = static_cast<std::size_t>(groups[0].data() - text.data());
    const std::size_t end = begin + groups[0].size();
    // \B also matches between the bytes of a character, where RE2 looks and Go does not.
    if (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) {
      look_at(begin + 1 - from);
      from = begin + 1;
      continue;
    }
    look_at(end - from);
    out.append(text, done, begin - done);
    // Nothing right behind a match is no match of its own: ".*" matches "abc" once, not once more at its end.
    if (end > done || begin == 0) expand(replacement, groups, names, out);
    if (out.size() > arguments.budget().limits().string_bytes) arguments.budget().produce_string(out.size());
    done = end;
    const std::size_t next =
        from + (from < text.size() ? unicode::first_point(std::string_view(text).substr(from)).size : 1);
    from = std::max(next, end);
  }
  if (done < text.size()) out.append(text, done, std::string::npos);
  return out;
}

Value joined(const Arguments& arguments) {
  const std::string separator = arguments.text(0);
  std::string out;
  bool first = true;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    for (const auto& item : arguments.texts(i)) {
      if (!first) out += separator;
      first = false;
      out += item;
      if (out.size() > arguments.budget().limits().string_bytes) arguments.budget().produce_string(out.size());
    }
  }
  return out;
}

Value split_text(const Arguments& arguments) {
  const std::string separator = arguments.text(0);
  const std::string text = arguments.text(1);
  Value::List parts;
  if (separator.empty()) {
    for (const std::string_view point : code_points(text)) parts.emplace_back(point);
  } else {
    std::size_t at = 0;
    for (std::size_t found = text.find(separator); found != std::string::npos; found = text.find(separator, at)) {
      parts.emplace_back(text.substr(at, found - at));
      at = found + separator.size();
    }
    parts.emplace_back(text.substr(at));
  }
  arguments.budget().produce(text.size() + parts.size() * sizeof(Value));
  return Arguments::list_of(std::move(parts), {.form = Type::Form::string});
}

Value indented(const Arguments& arguments) {
  const std::int64_t spaces = arguments.integer(0);
  const std::string text = arguments.text(1);
  if (spaces < 0 || spaces > 1000) throw ArgumentError(0, "a number of spaces from 0 to 1000 is required");
  const auto lines = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
  arguments.budget().produce_string(text.size() + lines * static_cast<std::uint64_t>(spaces));
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') out.append(static_cast<std::size_t>(spaces), ' ');
  }
  return out;
}

Value trimmed(const Arguments& arguments) {
  const std::string text = arguments.text(0);
  const std::string set_text = arguments.text(1);
  const auto set = code_points(set_text);
  const auto points = code_points(text);
  arguments.budget().step(points.size() * set.size() / 16);
  const auto in_set = [&](std::string_view point) { return std::find(set.begin(), set.end(), point) != set.end(); };
  std::size_t begin = 0;
  std::size_t end = points.size();
  while (begin < end && in_set(points[begin])) ++begin;
  while (end > begin && in_set(points[end - 1])) --end;
  std::string out;
  for (std::size_t i = begin; i < end; ++i) out += points[i];
  return out;
}

Value chomped(const Arguments& arguments) {
  std::string text = arguments.text(0);
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

Value trimmed_space(const Arguments& arguments) { return unicode::trim_space(arguments.text(0)); }

Value without_prefix(const Arguments& arguments) {
  const std::string text = arguments.text(0);
  const std::string prefix = arguments.text(1);
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

Value without_suffix(const Arguments& arguments) {
  const std::string text = arguments.text(0);
  const std::string suffix = arguments.text(1);
  return text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text;
}

}  // namespace

void add_string_functions(Entries& entries) {
  entries["chomp"] = {"text", 1, 1, [](const Call& call) { return chomped(Arguments(call)); }};
  entries["indent"] = {"spaces, text", 2, 2, [](const Call& call) { return indented(Arguments(call)); }};
  entries["join"] = {"separator, lists…", 2, Function::kAny, [](const Call& call) { return joined(Arguments(call)); }};
  entries["lower"] = {"text", 1, 1, [](const Call& call) -> Value { return unicode::lower(Arguments(call).text(0)); }};
  entries["upper"] = {"text", 1, 1, [](const Call& call) -> Value { return unicode::upper(Arguments(call).text(0)); }};
  entries["title"] = {"text", 1, 1, [](const Call& call) -> Value { return unicode::title(Arguments(call).text(0)); }};
  entries["regex_replace"] = {"text, pattern, replacement", 3, 3,
                              [](const Call& call) { return regex_replaced(Arguments(call)); }};
  entries["replace"] = {"text, from, to", 3, 3, [](const Call& call) { return replaced(Arguments(call)); }};
  // Nomad binds both names to the reversal of strings.
  entries["reverse"] = {"text", 1, 1, [](const Call& call) -> Value { return reversed(Arguments(call).text(0)); }};
  entries["strrev"] = entries["reverse"];
  entries["split"] = {"separator, text", 2, 2, [](const Call& call) { return split_text(Arguments(call)); }};
  entries["strlen"] = {"text", 1, 1, [](const Call& call) -> Value {
                         return static_cast<std::int64_t>(unicode::count_clusters(Arguments(call).text(0)));
                       }};
  entries["substr"] = {"text, offset, length", 3, 3, [](const Call& call) { return substring(Arguments(call)); }};
  entries["trim"] = {"text, characters", 2, 2, [](const Call& call) { return trimmed(Arguments(call)); }};
  entries["trimprefix"] = {"text, prefix", 2, 2, [](const Call& call) { return without_prefix(Arguments(call)); }};
  entries["trimspace"] = {"text", 1, 1, [](const Call& call) { return trimmed_space(Arguments(call)); }};
  entries["trimsuffix"] = {"text, suffix", 2, 2, [](const Call& call) { return without_suffix(Arguments(call)); }};
}

}  // namespace underway::hcl::detail
