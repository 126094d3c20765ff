#include "openpgp/clearsigned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::openpgp {
namespace {

constexpr std::string_view kBegin = "-----BEGIN PGP SIGNED MESSAGE-----";
constexpr std::string_view kBeginSignature = "-----BEGIN PGP SIGNATURE-----";
constexpr std::string_view kEndSignature = "-----END PGP SIGNATURE-----";

/// Without what no signature covers: gpg's text filter takes the same away before it hashes.
std::string_view without_end(std::string_view line) {
  const auto last = line.find_last_not_of(" \t\r");
  return last == std::string_view::npos ? std::string_view{} : line.substr(0, last + 1);
}

class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}

  /// The next line without its "\n"; nothing at the end of the text.
  std::optional<std::string_view> next() {
    if (at_ >= text_.size()) return {};
    const auto end = text_.find('\n', at_);
    const auto line = text_.substr(at_, end == std::string_view::npos ? end : end - at_);
    begin_ = at_;
    at_ = end == std::string_view::npos ? text_.size() : end + 1;
    ++number_;
    if (line.size() > kLongestLine)
      refuse(
          fmt::format("it has {} bytes, and gpg signs no line of more than {} as a whole", line.size(), kLongestLine));
    return line;
  }
  /// The same without the blanks at its end; the text has not ended, or what is missing is told.
  std::string_view need(std::string_view what) {
    if (const auto line = next()) return without_end(*line);
    throw Error(Code::invalid, "this is no signed text").because(fmt::format("it ends before {}", what));
  }
  [[noreturn]] void refuse(std::string why) const {
    throw Error(Code::invalid, fmt::format("line {} cannot be in a signed text", number_)).because(std::move(why));
  }
  std::size_t begin() const { return begin_; }  ///< of the line that was given last
  std::size_t end() const { return at_; }       ///< behind it

 private:
  std::string_view text_;
  std::size_t at_ = 0, begin_ = 0, number_ = 0;
};

/// "Hash: …" up to the empty line. A text that looks like a header and is signed by nobody is what no reader expects.
void skip_headers(Lines& lines) {
  for (;;) {
    const auto line = lines.need("the signed text begins");
    if (line.empty()) return;
    if (!line.starts_with("Hash: ")) lines.refuse("a signed text begins with the header Hash, and no other");
  }
}

void check_size(std::string_view text) {
  if (text.size() > kLargestClearsigned)
    throw Error(Code::too_large, fmt::format("a signed text of {} is too large", human_bytes(text.size())))
        .because(fmt::format("texts of up to {} are signed in the clear", human_bytes(kLargestClearsigned)));
}

}  // namespace

std::string_view Clearsigned::signed_bytes() const {
  return std::string_view(content).substr(0, content.empty() ? 0 : content.size() - 1);
}

Clearsigned split_clearsigned(std::string_view text) {
  check_size(text);
  Lines lines(text);
  if (lines.need(kBegin) != kBegin) lines.refuse(fmt::format("the first one is '{}'", kBegin));
  skip_headers(lines);

  Clearsigned out;
  out.content.reserve(text.size());
  std::string_view line;
  while ((line = lines.need(kBeginSignature)) != kBeginSignature) {
    if (line.find('\0') != std::string_view::npos) lines.refuse("it has a NUL");
    if (line.starts_with("- "))
      line.remove_prefix(2);
    else if (line.starts_with('-'))
      lines.refuse("it begins with a dash that is not escaped as '- '");
    (out.content += line) += '\n';
  }
  const std::size_t begin = lines.begin();
  while ((line = lines.need(kEndSignature)) != kEndSignature)
    if (line.starts_with('-')) lines.refuse("only one block of signatures ends a signed text");
  out.signature = text.substr(begin, lines.end() - begin);
  while (const auto rest = lines.next())
    if (!without_end(*rest).empty()) lines.refuse("it stands behind what is signed");
  return out;
}

void check_clearsignable(std::string_view text) {
  check_size(text);
  if (text.empty() || text.back() != '\n')
    throw Error(Code::invalid, "this text cannot be signed in the clear").because("its last line has no end");
  Lines lines(text);
  while (const auto line = lines.next()) {
    if (line->find('\0') != std::string_view::npos) lines.refuse("it has a NUL");
    if (without_end(*line).size() != line->size())
      lines.refuse("it ends with a blank or a carriage return, which a signature in the clear does not cover");
  }
}

bool is_canonical_text(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto end = std::min(bytes.find('\n'), bytes.size());
    const auto line = bytes.substr(0, end);
    if (line.size() > kLongestLine || without_end(line).size() != line.size()) return false;
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return true;
}

}  // namespace underway::openpgp
