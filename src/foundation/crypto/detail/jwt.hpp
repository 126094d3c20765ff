#pragma once
/// @file
/// What all JWTs have in common (RFC 7519), whoever signed them.

#include <boost/json/object.hpp>

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace underway::crypto {
struct JwtExpectation;
}

namespace underway::crypto::detail {

/// Tokens of our own have no more.
inline constexpr std::size_t kOwnTokenLimit = 16U << 10;

/// Error(denied): the token is not valid, and why.
Error refused_token(std::string why);

struct JwtParts {
  std::string_view signed_part;  ///< of the token's text
  boost::json::object header, claims;
  std::string signature;
};
/// Throws Error(denied): it has not three parts, one is no base64url or no JSON object, it is longer than `limit`.
JwtParts take_jwt_apart(std::string_view token, std::size_t limit);

/// NumericDate: seconds since the epoch, perhaps with decimals. Throws Error(denied) for what is none.
std::optional<TimePoint> time_of(const boost::json::object& claims, std::string_view name);
/// Of a token whose signature is genuine. Throws Error(denied): when it is good, and for whom.
void check_claims(const boost::json::object& claims, const JwtExpectation& expected);
/// Whether `aud`, a string or a list of them, names it.
bool names_audience(const boost::json::object& claims, const std::string& audience);

}  // namespace underway::crypto::detail
