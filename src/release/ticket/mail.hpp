#pragma once
/// @file
/// Text as mail is written (RFC 5322), from a mailbox's delivery command or an editor: a few headers, an empty line,
/// plain text. It is untrusted: what it claims about its sender is noted and believed by nobody, and whoever hands it
/// in is its author. Source: RFC 5322 sections 2.2, 3.6.4; RFC 2045 sections 5 and 6; RFC 2047 sections 2 and 4.

#include <optional>

#include "model/release/ticket.hpp"

namespace underway::ticket {

struct Mail {
  std::string subject;                    ///< without the "[#12]" in it
  std::string body;                       ///< UTF-8, lines end in "\n"
  std::string from;                       ///< as it is written
  std::optional<model::TicketKind> kind;  ///< X-Underway-Kind
  std::string key;                        ///< X-Underway-Key
  std::int64_t ticket = 0;                ///< of "[#12]" in the subject; 0: none is named
  std::string message_id;                 ///< without its brackets; as the next ones
  std::vector<std::string> replies_to;    ///< In-Reply-To, then References from the newest on

  /// The body under a line that says whom it claims to be from.
  std::string text() const;
};

inline constexpr std::size_t kLongestMail = 256U << 10;
inline constexpr std::size_t kLongestMailHead = 64U << 10;
inline constexpr std::size_t kLongestMessageId = 250;
inline constexpr std::size_t kMostReferences = 50;

/// Errors: invalid, with the line; too_large; unsupported for what is no plain text in UTF-8, with what to do.
Mail parse_mail(std::string_view text);

}  // namespace underway::ticket
