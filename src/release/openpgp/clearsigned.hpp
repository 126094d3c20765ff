#pragma once
/// @file
/// Texts that are signed in the clear, as InRelease is (RFC 4880, section 7): taken apart by us, so that what is
/// verified is what is used. Nothing else in such a file counts: a text before or after the signed one is refused,
/// whoever wrote it.

#include <cstddef>
#include <string>
#include <string_view>

namespace underway::openpgp {

/// Bytes of the largest text that is signed in the clear; Debian's InRelease of all its architectures has 300 KiB.
inline constexpr std::size_t kLargestClearsigned = std::size_t{64} << 20;
/// Bytes of its longest line. gpg 2.2 hashes the first 19,995 bytes of a line and ignores what follows (MAX_LINELEN of
/// its text filter), so whoever has a signature of a longer line could write behind it what he wants.
inline constexpr std::size_t kLongestLine = 16'384;

struct Clearsigned {
  /// The text that was signed: its lines without their escape ("- "), without the blanks at their ends, which no
  /// signature covers, and each with "\n", whatever the file has. What is signed ends before the last of them.
  std::string content;
  /// Its signatures: one block in armor, a view into the text.
  std::string_view signature;

  /// What the signatures are of.
  std::string_view signed_bytes() const;
};

/// Errors: invalid, naming the line, for all that is not exactly one signed text and its block of signatures;
/// too_large.
Clearsigned split_clearsigned(std::string_view text);

/// Throws Error(invalid), naming the line, for a text of which split_clearsigned would give back another: it has no
/// "\n" at its end, or lines with blanks or a carriage return at their ends, or too long ones, or NUL. Throws
/// too_large.
void check_clearsignable(std::string_view text);

/// Whether a signature of text (type 0x01), which is of the same lines however they end, is of exactly these bytes.
bool is_canonical_text(std::string_view bytes);

}  // namespace underway::openpgp
