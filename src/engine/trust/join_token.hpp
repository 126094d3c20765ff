#pragma once
/// @file
/// The text of a join token: everything that a new node needs to know beside an address. It is shown once, when it is
/// made; the server keeps a hash.

#include <string>
#include <string_view>

#include "crypto/secret.hpp"

namespace underway::trust {

/// "uj1.<id>.<secret>.<fingerprint>"
struct JoinToken {
  std::string id;
  crypto::Secret secret;
  /// SHA-256 of the server's authority, hexadecimal: so that the node knows the server before the server knows it.
  std::string authority_fingerprint;
};

crypto::Secret to_text(const JoinToken& token);
/// Throws Error(invalid), without the text.
JoinToken parse_join_token(std::string_view text);

}  // namespace underway::trust
