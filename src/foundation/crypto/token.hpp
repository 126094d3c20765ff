#pragma once
/// @file
/// Tokens that prove themselves by being known: join tokens, ACL secrets. They are random, shown once, and kept only as
/// a salted hash, so that who reads the store cannot use them.

#include "crypto/secret.hpp"

namespace underway::crypto {

/// 256 random bits in base64url: 43 characters.
Secret make_token();
/// "salt$hash", both in base64url. A token has 256 random bits, so one round is enough: there is nothing to guess.
std::string hash_token(std::string_view token);
/// In constant time. False for a `hash` that hash_token did not write.
bool token_matches(std::string_view token, std::string_view hash);

}  // namespace underway::crypto
