// Changes of case, as strings.Title, goutils and xstrings make them: names in one spelling made from another.
#include "gotemplate/functions/library.hpp"
#include "gotemplate/printing/utf8.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace underway::gotemplate {

namespace {

template <class F>
std::string map_runes(std::string_view text, F change) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Rune rune = decode(text);
    append(out, change(rune.value));
    text.remove_prefix(rune.size);
  }
  return out;
}

/// A word begins behind what is neither letter, digit nor '_' (Go's strings.Title).
bool separates(char32_t rune) {
  if (rune < 0x80) return !(is_letter(rune) || is_digit(rune) || rune == '_');
  return !is_letter(rune) && !is_digit(rune) && is_space(rune);
}

/// Each blank makes the next lower letter an upper one; the others change their case.
std::string swap_case(std::string_view text) {
  bool blank = true;
  return map_runes(text, [&](char32_t rune) -> char32_t {
    if (is_upper(rune) || is_title(rune)) {
      blank = false;
      return to_lower(rune);
    }
    if (is_lower(rune)) return std::exchange(blank, false) ? to_title(rune) : to_upper(rune);
    blank = is_space(rune);
    return rune;
  });
}

std::string untitle(std::string_view text) {
  bool begins = true;
  return map_runes(text, [&](char32_t rune) -> char32_t {
    if (is_space(rune)) {
      begins = true;
      return rune;
    }
    return std::exchange(begins, false) ? to_lower(rune) : rune;
  });
}

/// Byte by byte, as goutils goes: of a word that begins with a longer character, the first byte as a character.
std::string initials(std::string_view text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool space = is_space(byte);
    if (begins && !space) append(out, byte);
    begins = space;
  }
  return out;
}

bool connects(char32_t rune) { return rune == '-' || rune == '_' || is_space(rune); }

/// "some_words" as "SomeWords". Connectors at the beginning and repeated ones stay.
std::string camel_case(std::string_view text) {
  std::string out;
  Rune rune{0, 0, true};
  while (!text.empty()) {
    rune = decode(text);
    text.remove_prefix(rune.size);
    if (!connects(rune.value)) {
      rune.value = to_upper(rune.value);
      break;
    }
    append(out, rune.value);
  }
  if (text.empty()) {
    if (rune.size != 0) append(out, rune.value);
    return out;
  }
  while (!text.empty()) {
    const char32_t before = rune.value;
    rune = decode(text);
    text.remove_prefix(rune.size);
    if (connects(before) && !connects(rune.value))
      rune.value = to_upper(rune.value);
    else
      append(out, before);
  }
  append(out, rune.value);
  return out;
}

enum class Word : std::uint8_t { none, number, upper, alphabet, connector, punctuation, other };

/// Cuts a text into words of one kind, for the names that are joined by '_' or '-'.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}

  struct Piece {
    Word kind = Word::none;
    std::string_view text;
  };
  bool done() const { return rest_.empty(); }

  Piece next() {
    if (rest_.empty()) return {};
    const std::string_view whole = rest_;
    const Rune first = valid(whole, kReplacement);
    if (first.value == kReplacement) return take(whole, Word::none, first.size);
    std::size_t size = first.size;
    if (connects(first.value)) return take(whole, Word::connector, run(whole, size, first.value, connects));
    if (is_punctuation(first.value))
      return take(whole, Word::punctuation, run(whole, size, first.value, is_punctuation));
    if (is_upper(first.value)) return take(whole, Word::upper, upper_word(whole, first));
    if (alphabetic(first.value)) return take(whole, Word::alphabet, run(whole, size, first.value, lower_alphabetic));
    if (is_number(first.value)) return take(whole, Word::number, run(whole, size, first.value, is_number));
    return take(whole, Word::other, run(whole, size, first.value, [](char32_t rune) {
                  return !connects(rune) && !alphabetic(rune) && !is_number(rune) && !is_punctuation(rune);
                }));
  }

 private:
  /// Letters that have cases.
  static bool alphabetic(char32_t rune) {
    // Chinese characters have no case (xstrings' ranges).
    const bool chinese = (rune >= 0x4E00 && rune <= 0x9FCC) || (rune >= 0x3400 && rune <= 0x4D85) ||
                         (rune >= 0x20000 && rune <= 0x2B81D);
    return is_letter(rune) && !chinese;
  }
  static bool lower_alphabetic(char32_t rune) { return alphabetic(rune) && !is_upper(rune); }

  /// Broken bytes belong to the character that follows; at the end they repeat `before`.
  static Rune valid(std::string_view text, char32_t before) {
    std::size_t size = 0;
    while (!text.empty()) {
      const Rune rune = decode(text);
      size += rune.size;
      if (rune.value != kReplacement) return {rune.value, size, true};
      text.remove_prefix(rune.size);
    }
    return {before, size, true};
  }

  template <class F>
  static std::size_t run(std::string_view whole, std::size_t size, char32_t before, F belongs) {
    while (size < whole.size()) {
      const Rune rune = valid(whole.substr(size), before);
      if (!belongs(rune.value)) break;
      before = rune.value;
      size += rune.size;
    }
    return size;
  }

  /// "HTTPStatus" is "HTTP" and "Status".
  static std::size_t upper_word(std::string_view whole, const Rune& first) {
    std::size_t size = first.size;
    if (size >= whole.size()) return size;
    const Rune second = valid(whole.substr(size), first.value);
    if (!is_upper(second.value))
      return lower_alphabetic(second.value) ? run(whole, size + second.size, second.value, lower_alphabetic) : size;
    std::size_t last = second.size;
    char32_t before = second.value;
    size += second.size;
    while (size < whole.size()) {
      const Rune rune = valid(whole.substr(size), before);
      before = rune.value;
      if (!is_upper(rune.value)) break;
      last = rune.size;
      size += rune.size;
    }
    return size < whole.size() && alphabetic(before) ? size - last : size;
  }

  Piece take(std::string_view whole, Word kind, std::size_t size) {
    rest_ = whole.substr(size);
    return {kind, whole.substr(0, size)};
  }

  std::string_view rest_;
};

/// Writes words in lower case with a joint between, as xstrings decides where one stands.
class Joiner {
 public:
  Joiner(std::string_view text, char joint) : words_(text), joint_(joint) {}

  std::string join() {
    word_ = words_.next();
    while (!words_.done()) {
      if (word_.kind != Word::connector) write(word_);
      const Words::Piece last = word_;
      word_ = words_.next();
      if (last.kind == Word::number)
        behind_number();
      else if (last.kind == Word::connector)
        write(last);
      else if (last.kind != Word::punctuation)
        behind_letters();
    }
    write(word_);
    return std::move(out_);
  }

 private:
  bool is(Word kind) const { return word_.kind == kind; }
  void put_joint() { out_ += joint_; }

  /// "2xx", "20x": letters behind a number belong to it.
  void behind_number() {
    while (is(Word::alphabet) || is(Word::number)) {
      write(word_);
      word_ = words_.next();
    }
    if (!is(Word::none) && !is(Word::punctuation) && !is(Word::connector)) put_joint();
  }

  void behind_letters() {
    if (!is(Word::number)) {
      if (!is(Word::connector) && !is(Word::punctuation)) put_joint();
      return;
    }
    if (words_.done()) return;
    const Words::Piece number = word_;
    word_ = words_.next();
    if (!is(Word::alphabet)) {  // "Bld4Floor": the number belongs to what stands before it
      write({Word::number, number.text});
      if (!is(Word::connector) && !is(Word::punctuation)) put_joint();
      return;
    }
    put_joint();
    write({Word::number, number.text});
    behind_number();
  }

  void write(const Words::Piece& piece) {
    if (piece.kind != Word::upper && piece.kind != Word::connector) {
      out_ += piece.text;
      return;
    }
    for (std::string_view rest = piece.text; !rest.empty();) {
      const Rune rune = decode(rest);
      rest.remove_prefix(rune.size);
      if (connects(rune.value))
        out_ += joint_;
      else
        append(out_, is_upper(rune.value) ? to_lower(rune.value) : rune.value);
    }
  }

  Words words_;
  Words::Piece word_;
  char joint_;
  std::string out_;
};

std::string joined_words(std::string_view text, char joint) {
  return text.empty() ? std::string() : Joiner(text, joint).join();
}

bool joins_letters(char32_t rune) {
  static constexpr std::u32string_view kMiddle =
      U"'.:\u00B7\u0387\u2018\u2019\u2024\u2027\uFE13\uFE52\uFE55\uFF07\uFF0E\uFF1A";
  return kMiddle.find(rune) != std::u32string_view::npos;
}

/// Characters whose title case is several ones (Unicode's SpecialCasing.txt).
struct LongTitle {
  char32_t rune;
  std::u32string_view title;
};
constexpr LongTitle kLongTitles[] = {
    {0x00DF, U"Ss"},
    {0x0149, U"\u02BCN"},
    {0x01F0, U"J\u030C"},
    {0x0390, U"\u0399\u0308\u0301"},
    {0x03B0, U"\u03A5\u0308\u0301"},
    {0x0587, U"\u0535\u0582"},
    {0x1E96, U"H\u0331"},
    {0x1E97, U"T\u0308"},
    {0x1E98, U"W\u030A"},
    {0x1E99, U"Y\u030A"},
    {0x1E9A, U"A\u02BE"},
    {0x1F50, U"\u03A5\u0313"},
    {0x1F52, U"\u03A5\u0313\u0300"},
    {0x1F54, U"\u03A5\u0313\u0301"},
    {0x1F56, U"\u03A5\u0313\u0342"},
    {0x1FB2, U"\u1FBA\u0345"},
    {0x1FB4, U"\u0386\u0345"},
    {0x1FB6, U"\u0391\u0342"},
    {0x1FB7, U"\u0391\u0342\u0345"},
    {0x1FC2, U"\u1FCA\u0345"},
    {0x1FC4, U"\u0389\u0345"},
    {0x1FC6, U"\u0397\u0342"},
    {0x1FC7, U"\u0397\u0342\u0345"},
    {0x1FD2, U"\u0399\u0308\u0300"},
    {0x1FD3, U"\u0399\u0308\u0301"},
    {0x1FD6, U"\u0399\u0342"},
    {0x1FD7, U"\u0399\u0308\u0342"},
    {0x1FE2, U"\u03A5\u0308\u0300"},
    {0x1FE3, U"\u03A5\u0308\u0301"},
    {0x1FE4, U"\u03A1\u0313"},
    {0x1FE6, U"\u03A5\u0342"},
    {0x1FE7, U"\u03A5\u0308\u0342"},
    {0x1FF2, U"\u1FFA\u0345"},
    {0x1FF4, U"\u038F\u0345"},
    {0x1FF6, U"\u03A9\u0342"},
    {0x1FF7, U"\u03A9\u0342\u0345"},
    {0xFB00, U"Ff"},
    {0xFB01, U"Fi"},
    {0xFB02, U"Fl"},
    {0xFB03, U"Ffi"},
    {0xFB04, U"Ffl"},
    {0xFB05, U"St"},
    {0xFB06, U"St"},
    {0xFB13, U"\u0544\u0576"},
    {0xFB14, U"\u0544\u0565"},
    {0xFB15, U"\u0544\u056B"},
    {0xFB16, U"\u054E\u0576"},
    {0xFB17, U"\u0544\u056D"},
};

void append_title(std::string& out, char32_t rune) {
  const LongTitle* found = std::ranges::lower_bound(kLongTitles, rune, {}, &LongTitle::rune);
  if (found == std::end(kLongTitles) || found->rune != rune) return append(out, to_title(rune));
  for (const char32_t each : found->title) append(out, each);
}

bool in_word(char32_t rune) { return is_letter(rune) || is_number(rune) || rune == '_'; }

}  // namespace

std::string title_text(std::string_view text) {
  char32_t before = ' ';
  return map_runes(text, [&](char32_t rune) { return separates(std::exchange(before, rune)) ? to_title(rune) : rune; });
}

std::string word_title_text(std::string_view text) {
  std::string out;
  bool begins = true;  // no cased letter of this word was seen
  char32_t before = ' ';
  while (!text.empty()) {
    const Rune rune = decode(text);
    const std::string_view bytes = text.substr(0, rune.size);
    text.remove_prefix(rune.size);
    const char32_t next = text.empty() ? U' ' : decode(text).value;
    const bool cased = is_upper(rune.value) || is_lower(rune.value) || is_title(rune.value);
    if (begins && cased)
      append_title(out, rune.value);
    else
      out += bytes;
    if (cased)
      begins = false;
    else if (!in_word(rune.value) && !(joins_letters(rune.value) && is_letter(before) && is_letter(next)))
      begins = true;
    before = rune.value;
  }
  return out;
}

std::string upper_text(std::string_view text) { return map_runes(text, to_upper); }
std::string lower_text(std::string_view text) { return map_runes(text, to_lower); }

std::vector<Function> case_functions() {
  constexpr Origin kSprig = Origin::sprig;
  return {
      {"upper", "text string", "In upper case.", kSprig, [](const Call& c) -> Value { return upper_text(c.text(0)); }},
      {"lower", "text string", "In lower case.", kSprig, [](const Call& c) -> Value { return lower_text(c.text(0)); }},
      {"title", "text string", "Each word's first letter in upper case.", kSprig,
       [](const Call& c) -> Value { return title_text(c.text(0)); }},
      {"untitle", "text string", "Each word's first letter in lower case.", kSprig,
       [](const Call& c) -> Value { return untitle(c.text(0)); }},
      {"swapcase", "text string", "Upper case for lower case, and lower for upper; words begin with upper case.",
       kSprig, [](const Call& c) -> Value { return swap_case(c.text(0)); }},
      {"camelcase", "text string", "\"http_server\" as \"HttpServer\".", kSprig,
       [](const Call& c) -> Value { return camel_case(c.text(0)); }},
      {"snakecase", "text string", "\"HttpServer\" as \"http_server\".", kSprig,
       [](const Call& c) -> Value { return joined_words(c.text(0), '_'); }},
      {"kebabcase", "text string", "\"HttpServer\" as \"http-server\".", kSprig,
       [](const Call& c) -> Value { return joined_words(c.text(0), '-'); }},
      {"initials", "text string", "The first letter of each word.", kSprig,
       [](const Call& c) -> Value { return initials(c.text(0)); }},
  };
}

}  // namespace underway::gotemplate
