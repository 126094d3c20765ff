#pragma once
/// @file
/// Secrets are redacted here and nowhere else: in URLs, in command lines, and in any text that may hold values which
/// are known to be secret. What people read, what logs keep and what a survey carries away goes through one of these.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace underway {

/// Stands where a secret stood.
inline constexpr std::string_view kRedacted = "…";

/// Whether something was taken out of it.
bool is_redacted(std::string_view text);

/// What of "user:password@" is shown.
enum class UrlUser {
  named,   ///< "https://user:…@host"
  hidden,  ///< "https://…@host", where the user is a secret too: an access key
  absent,  ///< "https://host"
};

/// A URL, also one in a longer word ("rest:https://…", "proxy=http://…"), without its password; any other text as it
/// is. What follows a '?' stays.
std::string redact_url(std::string_view url, UrlUser user);

/// A command line without its secrets: what follows `--password`, `token=`, MySQL's `-p` and the like, and passwords in
/// URLs. Names of files that hold secrets stay.
std::vector<std::string> redact_command(std::vector<std::string> words);

struct SecretValue {
  std::string value;
  std::string shown{kRedacted};  ///< in its place: "${secret.db.password}" tells which one it was
};

/// A text in which none of the values is left that has at least `shortest` bytes: what is shorter stands in too many
/// words to be taken out of them.
std::string redact_values(std::string text, std::span<const SecretValue> secrets, std::size_t shortest);

}  // namespace underway
