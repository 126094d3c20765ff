// Regular expressions, in RE2's syntax as in Go.
#include "base/error.hpp"
#include "base/numbers.hpp"
#include "gotemplate/functions/library.hpp"
#include "gotemplate/printing/utf8.hpp"

#include <re2/re2.h>

namespace underway::gotemplate {

namespace {

using Groups = std::vector<re2::StringPiece>;

std::string_view view(const re2::StringPiece& piece) { return {piece.data(), piece.size()}; }

/// A text for RE2, which does not look at bytes that are no UTF-8: Go takes each as U+FFFD.
class Subject {
 public:
  Subject(std::string_view text, Run& run) : original_(text) {
    bool valid = true;
    for (std::string_view rest = text; valid && !rest.empty();) {
      const Rune rune = decode(rest);
      valid = rune.valid;
      rest.remove_prefix(rune.size);
    }
    if (valid) return;
    run.make(text.size() * (3 + sizeof(std::size_t) * 3));
    for (std::size_t at = 0; at < text.size();) {
      const Rune rune = decode(text.substr(at));
      append(replaced_, rune.value);
      places_.resize(replaced_.size(), at);
      at += rune.size;
    }
    places_.push_back(text.size());
  }

  std::string_view text() const { return places_.empty() ? original_ : std::string_view(replaced_); }
  /// A piece of `text()` as a piece of the original.
  std::string_view original(std::string_view piece) const {
    if (places_.empty() || piece.data() == nullptr) return piece;
    const auto begin = static_cast<std::size_t>(piece.data() - replaced_.data());
    const std::size_t from = places_[begin];
    return original_.substr(from, places_[begin + piece.size()] - from);
  }

 private:
  std::string_view original_;
  std::string replaced_;
  std::vector<std::size_t> places_;  ///< of each byte of `replaced_`; empty: the text is UTF-8
};

/// Calls `found` with each match and its groups, leftmost first, until it returns false. An empty match right behind
/// another match does not count, as in Go.
template <class F>
void each_match(const re2::RE2& regex, std::string_view original, Run& run, F found) {
  const Subject subject(original, run);
  const std::string_view text = subject.text();
  Groups groups(static_cast<std::size_t>(regex.NumberOfCapturingGroups()) + 1);
  const re2::StringPiece whole(text.data(), text.size());
  std::size_t at = 0;
  std::size_t last_end = std::string_view::npos;
  while (at <= text.size()) {
    run.step();
    if (!regex.Match(whole, at, text.size(), re2::RE2::UNANCHORED, groups.data(), static_cast<int>(groups.size())))
      return;
    const auto begin = static_cast<std::size_t>(groups[0].data() - text.data());
    const std::size_t end = begin + groups[0].size();
    const bool counts = end != begin || begin != last_end;
    if (counts) {
      Groups originals;
      for (const auto& group : groups) {
        const std::string_view piece = subject.original(view(group));
        originals.emplace_back(piece.data(), piece.size());
      }
      const auto first = static_cast<std::size_t>(originals[0].data() - original.data());
      if (!found(originals, first, first + originals[0].size())) return;
    }
    last_end = end;
    at = end > begin ? end : end + std::max<std::size_t>(decode(text.substr(end)).size, 1);
  }
}

/// The group that "$name", "$1" or "${name}" at the front of `rest` names; takes it off. Nothing when it is no
/// reference; an unknown group is an empty text.
std::optional<std::string_view> reference(std::string_view& rest, const re2::RE2& regex, const Groups& groups) {
  std::string_view name = rest.substr(1);
  const bool braced = name.starts_with('{');
  if (braced) name.remove_prefix(1);
  std::size_t size = 0;
  while (size < name.size() && (std::isalnum(static_cast<unsigned char>(name[size])) != 0 || name[size] == '_')) ++size;
  if (size == 0 || (braced && (size >= name.size() || name[size] != '}'))) return std::nullopt;
  rest.remove_prefix(1 + size + (braced ? 2 : 0));
  name = name.substr(0, size);
  std::size_t number = groups.size();
  if (name.find_first_not_of("0123456789") == std::string_view::npos) {
    if (name.size() < 5) number = leading_number_or(name, number);
  } else {
    const auto& names = regex.NamedCapturingGroups();
    const auto found = names.find(std::string(name));
    if (found != names.end()) number = static_cast<std::size_t>(found->second);
  }
  return number < groups.size() ? view(groups[number]) : std::string_view();
}

void expand(std::string& out, std::string_view replacement, const re2::RE2& regex, const Groups& groups, Run& run) {
  std::string_view rest = replacement;
  while (!rest.empty()) {
    const std::size_t dollar = std::min(rest.find('$'), rest.size());
    run.make(dollar + 1);
    out += rest.substr(0, dollar);
    rest.remove_prefix(dollar);
    if (rest.empty()) return;
    if (rest.starts_with("$$")) {
      out += '$';
      rest.remove_prefix(2);
    } else if (const auto group = reference(rest, regex, groups)) {
      run.make(group->size());
      out += *group;
    } else {
      out += '$';
      rest.remove_prefix(1);
    }
  }
}

Value replace(std::string_view pattern, std::string_view text, std::string_view with, bool literal, Run& run) {
  const re2::RE2& regex = run.regex(pattern, text);
  std::string out;
  std::size_t copied = 0;
  each_match(regex, text, run, [&](const Groups& groups, std::size_t begin, std::size_t end) {
    out += text.substr(copied, begin - copied);
    if (literal) {
      run.make(with.size());
      out += with;
    } else {
      expand(out, with, regex, groups, run);
    }
    copied = end;
    return true;
  });
  run.make(text.size());
  out += text.substr(copied);
  return out;
}

bool matches(const Call& call) {
  const re2::RE2& regex = call.run.regex(call.text(0), call.text(1));
  const Subject subject(call.text(1), call.run);
  return re2::RE2::PartialMatch(re2::StringPiece(subject.text().data(), subject.text().size()), regex);
}

Value find(const Call& call) {
  std::string_view first;
  const std::string_view text = call.text(1);
  each_match(call.run.regex(call.text(0), text), text, call.run,
             [&](const Groups&, std::size_t begin, std::size_t end) {
               first = text.substr(begin, end - begin);
               return false;
             });
  return first;
}

Value find_all(const Call& call) {
  const std::string_view text = call.text(1);
  std::int64_t left = call.integer(2);
  std::vector<std::string_view> found;
  const re2::RE2& regex = call.run.regex(call.text(0), text);
  if (left == 0) return Value::null_list(Element::text);
  each_match(regex, text, call.run, [&](const Groups&, std::size_t begin, std::size_t end) {
    call.run.make_elements(1);
    found.push_back(text.substr(begin, end - begin));
    return --left != 0;
  });
  return found.empty() ? Value::null_list(Element::text) : texts(found, call.run);
}

Value split_text(const Call& call) {
  const std::string_view text = call.text(1);
  const std::int64_t most = call.integer(2);
  const re2::RE2& regex = call.run.regex(call.text(0), text);
  if (most == 0) return Value::null_list(Element::text);
  std::vector<std::string_view> parts;
  std::size_t copied = 0;
  std::size_t end_of_last = 0;
  if (!call.text(0).empty() && text.empty()) return texts({text}, call.run);
  each_match(regex, text, call.run, [&](const Groups&, std::size_t begin, std::size_t end) {
    if (most > 0 && parts.size() + 1 == static_cast<std::size_t>(most)) return false;
    call.run.make_elements(1);
    end_of_last = begin;
    if (end != 0) parts.push_back(text.substr(copied, begin - copied));
    copied = end;
    return true;
  });
  if (end_of_last != text.size()) parts.push_back(text.substr(copied));
  return texts(parts, call.run);
}

Value quote_meta(const Call& call) {
  std::string out;
  for (const char c : call.text(0)) {
    if (std::string_view("\\.+*?()|[]{}^$").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  call.run.make(out.size());
  return out;
}

}  // namespace

Value regex_replace(std::string_view pattern, std::string_view replacement, std::string_view text, Run& run) {
  return replace(pattern, text, replacement, false, run);
}

std::vector<Function> regex_functions() {
  constexpr Origin kSprig = Origin::sprig;
  std::vector<Function> functions = {
      {"regexMatch", "pattern string, text string", "Whether the pattern matches anywhere.", kSprig,
       [](const Call& c) -> Value { return matches(c); }},
      {"regexFind", "pattern string, text string", "The first match, or nothing.", kSprig, find},
      {"regexFindAll", "pattern string, text string, most int", "Matches, at most so many; -1 for all.", kSprig,
       find_all},
      {"regexReplaceAll", "pattern string, text string, new string", "Each match replaced; $1 is its first group.",
       kSprig, [](const Call& c) { return replace(c.text(0), c.text(1), c.text(2), false, c.run); }},
      {"regexReplaceAllLiteral", "pattern string, text string, new string", "Each match replaced by the text as it is.",
       kSprig, [](const Call& c) { return replace(c.text(0), c.text(1), c.text(2), true, c.run); }},
      {"regexSplit", "pattern string, text string, most int", "What is between the matches; -1 for all.", kSprig,
       split_text},
  };
  // Sprig's functions without "must" hide errors or end the program. Here both kinds fail with the reason.
  const std::size_t count = functions.size();
  for (std::size_t i = 0; i < count; ++i) {
    Function must = functions[i];
    must.name = "mustR" + must.name.substr(1);
    must.meaning = fmt::format("As {}.", functions[i].name);
    functions.push_back(std::move(must));
  }
  functions.push_back({"regexQuoteMeta", "text string", "A pattern that matches just this text.", kSprig, quote_meta});
  return functions;
}

}  // namespace underway::gotemplate
