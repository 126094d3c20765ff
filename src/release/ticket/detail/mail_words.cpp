#include "ticket/detail/mail_words.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::ticket::detail {

namespace {

[[noreturn]] void refuse(std::string what) {
  throw Error(Code::unsupported, std::move(what)).advise("send it as plain text in UTF-8, without attachments");
}

void check_charset(std::string_view charset) {
  const auto name = lower(charset);
  if (name != "utf-8" && name != "us-ascii")
    refuse(fmt::format("the message has text in the character set '{}'", name.substr(0, 40)));
}

/// Two hexadecimal digits at `at`; nothing else is decoded.
std::optional<std::string> byte_at(std::string_view text, std::size_t at) {
  return at + 2 <= text.size() ? unhex(text.substr(at, 2)) : std::nullopt;
}

/// RFC 2045 section 6.7. `blanks`: as in a header, where _ is a blank.
std::string decode_quoted(std::string_view text, bool blanks) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (blanks && text[i] == '_') {
      out += ' ';
    } else if (text[i] != '=') {
      out += text[i];
    } else if (const auto byte = byte_at(text, i + 1)) {
      out += *byte;
      i += 2;
    } else if (text.substr(i + 1).starts_with("\r\n")) {
      i += 2;
    } else if (text.substr(i + 1).starts_with("\n")) {
      i += 1;
    } else {
      throw Error(Code::invalid, "the message is not quoted-printable as it says");
    }
  }
  return out;
}

std::string decode_base64(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    if (c != ' ' && c != '\t' && c != '\r' && c != '\n') letters += c;
  }
  return base64_decode(letters);
}

/// The word at the beginning of `text`, and how long it is; 0: there is none.
std::pair<std::string, std::size_t> word_at(std::string_view text) {
  if (!text.starts_with("=?")) return {};
  const auto charset = text.find('?', 2);
  const auto encoding = charset == std::string_view::npos ? charset : text.find('?', charset + 1);
  const auto end = encoding == std::string_view::npos ? encoding : text.find("?=", encoding + 1);
  if (end == std::string_view::npos) return {};
  const auto how = lower(text.substr(charset + 1, encoding - charset - 1));
  if (how != "q" && how != "b") return {};
  check_charset(text.substr(2, charset - 2));
  const auto inner = text.substr(encoding + 1, end - encoding - 1);
  return {how == "q" ? decode_quoted(inner, true) : decode_base64(inner), end + 2};
}

}  // namespace

std::string decode_words(std::string_view text) {
  std::string out, blanks;
  bool after_word = false;
  while (!text.empty()) {
    if (auto [word, size] = word_at(text); size > 0) {
      // Between two words blanks are not meant (RFC 2047 section 6.2).
      if (!after_word) out += blanks;
      out += word;
      text.remove_prefix(size);
      after_word = true;
      blanks.clear();
      continue;
    }
    if (text.front() == ' ' || text.front() == '\t') {
      blanks += text.front();
    } else {
      out += blanks;
      blanks.clear();
      out += text.front();
      after_word = false;
    }
    text.remove_prefix(1);
  }
  return out;
}

void check_content_type(std::string_view header) {
  if (trim(header).empty()) return;
  const auto parts = split(header, ';');
  const auto type = lower(trim(parts.front()));
  if (type.starts_with("multipart/")) refuse(fmt::format("the message has several parts ({})", type.substr(0, 60)));
  if (type != "text/plain") refuse(fmt::format("the message is no plain text, but '{}'", type.substr(0, 60)));
  for (const auto& part : parts) {
    const auto setting = trim(part);
    if (!lower(setting.substr(0, 8)).starts_with("charset=")) continue;
    auto charset = trim(setting.substr(8));
    if (charset.size() > 1 && charset.front() == '"' && charset.back() == '"')
      charset = charset.substr(1, charset.size() - 2);
    check_charset(charset);
  }
}

std::string decode_body(std::string_view encoding, std::string_view body) {
  const auto how = lower(trim(encoding));
  if (how.empty() || how == "7bit" || how == "8bit" || how == "binary") return std::string(body);
  if (how == "quoted-printable") return decode_quoted(body, false);
  if (how == "base64") return decode_base64(body);
  refuse(fmt::format("the message's text is encoded as '{}'", how.substr(0, 40)));
}

}  // namespace underway::ticket::detail
