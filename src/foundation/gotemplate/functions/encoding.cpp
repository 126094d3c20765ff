// JSON, base64 and base32, Sprig's.
#include "base/error.hpp"
#include "base/text.hpp"
#include "gotemplate/functions/library.hpp"

#include <algorithm>

namespace underway::gotemplate {

namespace {

constexpr std::string_view kBase32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// RFC 4648 with padding.
std::string base32_encode(std::string_view bytes) {
  std::string out;
  std::uint64_t bits = 0;
  unsigned count = 0;
  for (const char c : bytes) {
    bits = bits << 8U | static_cast<unsigned char>(c);
    for (count += 8; count >= 5; count -= 5) out += kBase32[bits >> (count - 5) & 31U];
  }
  if (count > 0) out += kBase32[bits << (5 - count) & 31U];
  while (out.size() % 8 != 0) out += '=';
  return out;
}

/// Reads groups of characters, as Go's decoders of base64 and base32: newlines are passed over anywhere, padding ends
/// the text, and an error tells the byte where a decoder finds it.
class Decoder {
 public:
  Decoder(std::string_view text, std::string_view alphabet, std::string_view name)
      : text_(text), alphabet_(alphabet), name_(name), bits_(alphabet.size() == 64 ? 6 : 5) {}

 protected:
  [[noreturn]] void fail(std::size_t at) const {
    throw Error(Code::invalid, fmt::format("illegal {} data at input byte {}", name_, at));
  }
  void skip_newlines() {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
  }
  /// The bytes that `count` characters hold.
  void write(std::uint64_t group, std::size_t count) {
    const std::size_t bytes = count * bits_ / 8;
    group >>= count * bits_ - bytes * 8;
    for (std::size_t i = bytes; i > 0; --i) out_ += static_cast<char>(group >> (8 * (i - 1)) & 0xFFU);
  }

  std::string_view text_;
  std::string_view alphabet_;
  std::string_view name_;
  std::size_t bits_;
  std::size_t at_ = 0;
  std::string out_;
};

class Base64Decoder : public Decoder {
 public:
  Base64Decoder(std::string_view text, std::string_view alphabet) : Decoder(text, alphabet, "base64") {}

  std::string run() {
    while (!ended_ && group()) {
    }
    return std::move(out_);
  }

 private:
  /// Four characters, or fewer and padding; false at the end of the text.
  bool group() {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 4;) {
      if (at_ == text_.size()) {
        if (i == 0) return false;
        fail(at_ - i);
      }
      const char c = text_[at_++];
      const std::size_t found = alphabet_.find(c);
      if (found != std::string_view::npos) {
        value = value << 6U | found;
        ++i;
      } else if (c == '=') {
        padding(i);
        write(value, i);
        return true;
      } else if (c != '\n' && c != '\r') {
        fail(at_ - 1);
      }
    }
    write(value, 4);
    return true;
  }

  void padding(std::size_t characters) {
    if (characters < 2) fail(at_ - 1);
    if (characters == 2) {
      skip_newlines();
      if (at_ == text_.size()) fail(text_.size());
      if (text_[at_] != '=') fail(at_ - 1);
      ++at_;
    }
    skip_newlines();
    if (at_ < text_.size()) fail(at_);
    ended_ = true;
  }

  bool ended_ = false;
};

/// Go takes newlines out first, so that bytes are counted without them.
class Base32Decoder : public Decoder {
 public:
  explicit Base32Decoder(std::string_view text) : Decoder(text, kBase32, "base32") {}

  std::string run() {
    while (at_ < text_.size() && !ended_) group();
    return std::move(out_);
  }

 private:
  void group() {
    std::uint64_t value = 0;
    std::size_t count = 0;
    while (count < 8) {
      if (at_ == text_.size()) fail(text_.size() - count);
      const char c = text_[at_++];
      if (c == '=' && count >= 2 && text_.size() - at_ < 8) {
        padding(count);
        break;
      }
      const std::size_t found = kBase32.find(c);
      if (found == std::string_view::npos) fail(at_ - 1);
      value = value << 5U | found;
      ++count;
    }
    write(value, count);
  }

  /// 8 characters in all; 1, 3 or 6 of them cannot be alone.
  void padding(std::size_t count) {
    const std::size_t left = text_.size() - at_;
    if (left + count < 7) fail(text_.size());
    for (std::size_t i = 0; i + count < 7; ++i)
      if (text_[at_ + i] != '=') fail(at_ + i - 1);
    if (count == 1 || count == 3 || count == 6) fail(at_ - 1);
    ended_ = true;
  }

  bool ended_ = false;
};

std::string base32_decode(std::string_view text) {
  std::string plain(text);
  std::erase_if(plain, [](char c) { return c == '\n' || c == '\r'; });
  return Base32Decoder(plain).run();
}

/// Sprig's decoders write the error in place of the text.
template <class F>
Value or_error(F decode) {
  try {
    return decode();
  } catch (const Error& error) {
    return error.message();
  }
}

/// Sprig's fromJson hides what is wrong; mustFromJson tells it.
Value from_json_or_nil(const Call& call) {
  try {
    return from_json(call.text(0), call.run);
  } catch (const Error& error) {
    if (error.code() == Code::too_large) throw;
    return {};
  }
}

Value json(const Call& call, bool escape_html, unsigned indent) {
  return to_json(call[0], call.run, escape_html, indent);
}

}  // namespace

std::string base64_bytes(std::string_view text, bool url) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr std::string_view kUrl = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return Base64Decoder(text, url ? kUrl : kPlain).run();
}

std::vector<Function> encoding_functions() {
  constexpr Origin kSprig = Origin::sprig;
  std::vector<Function> functions = {
      {"toJson", "value any", "The value as JSON on one line.", kSprig, [](const Call& c) { return json(c, true, 0); }},
      {"toPrettyJson", "value any", "The value as JSON, one member a line.", kSprig,
       [](const Call& c) { return json(c, true, 2); }},
      {"toRawJson", "value any", "As toJson, with <, > and & as they are.", kSprig,
       [](const Call& c) { return json(c, false, 0); }},
      {"fromJson", "text string", "The value that the JSON holds; numbers are floats.", kSprig,
       [](const Call& c) { return from_json(c.text(0), c.run); }},
  };
  for (std::size_t i = 0; i < 4; ++i) {
    Function must = functions[i];
    must.name = "must" + std::string(1, static_cast<char>(std::toupper(must.name[0]))) + must.name.substr(1);
    must.meaning = fmt::format("As {}.", functions[i].name);
    functions.push_back(std::move(must));
  }
  functions[3].run = from_json_or_nil;
  functions[3].meaning = "The value that the JSON holds, numbers as floats; nothing when it is none.";
  functions.back().meaning = "The value that the JSON holds, numbers as floats.";
  functions.push_back({"b64enc", "text string", "The text in base64.", kSprig,
                       [](const Call& c) -> Value { return base64_encode(c.text(0)); }});
  functions.push_back({"b64dec", "text string",
                       "The text that the base64 holds; what is wrong with it when it is none.", kSprig,
                       [](const Call& c) { return or_error([&] { return base64_bytes(c.text(0), false); }); }});
  functions.push_back({"b32enc", "text string", "The text in base32.", kSprig,
                       [](const Call& c) -> Value { return base32_encode(c.text(0)); }});
  functions.push_back({"b32dec", "text string",
                       "The text that the base32 holds; what is wrong with it when it is none.", kSprig,
                       [](const Call& c) { return or_error([&] { return base32_decode(c.text(0)); }); }});
  return functions;
}

}  // namespace underway::gotemplate
