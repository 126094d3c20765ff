#include "crypto/detail/jwt.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "crypto/digest.hpp"
#include "crypto/sign.hpp"

namespace underway::crypto::detail {
namespace {

boost::json::object decode_object(std::string_view part, const char* what) {
  boost::json::value value = json::parse(base64url_decode(part));
  if (!value.is_object()) throw Error(Code::invalid, fmt::format("its {} is no JSON object", what));
  return std::move(value.as_object());
}

}  // namespace

Error refused_token(std::string why) { return Error(Code::denied, "the token is not valid").because(std::move(why)); }

JwtParts take_jwt_apart(std::string_view token, std::size_t limit) {
  if (token.size() > limit) throw refused_token(fmt::format("it is longer than {} KiB", limit >> 10));
  const std::size_t first = token.find('.');
  const std::size_t second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos) throw refused_token("it has not the three parts of a JWT");
  try {
    return {.signed_part = token.substr(0, second),
            .header = decode_object(token.substr(0, first), "header"),
            .claims = decode_object(token.substr(first + 1, second - first - 1), "payload"),
            .signature = base64url_decode(token.substr(second + 1))};
  } catch (const Error& error) {
    throw refused_token(error.one_line());
  }
}

std::optional<TimePoint> time_of(const boost::json::object& claims, std::string_view name) {
  const auto* value = claims.if_contains(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) throw refused_token(fmt::format("its '{}' is no number", name));
  const double seconds = value->to_number<double>();
  constexpr double kFarthest = 9e9;  // the year 2255: what TimePoint holds
  if (!(seconds > -kFarthest && seconds < kFarthest)) throw refused_token(fmt::format("its '{}' is no time", name));
  return TimePoint(std::chrono::seconds(static_cast<std::int64_t>(seconds)));
}

bool names_audience(const boost::json::object& claims, const std::string& audience) {
  const auto* value = claims.if_contains("aud");
  if (value == nullptr) return false;
  if (value->is_string()) return value->as_string() == audience;
  if (!value->is_array()) return false;
  return std::any_of(value->as_array().begin(), value->as_array().end(),
                     [&](const auto& member) { return member.is_string() && member.as_string() == audience; });
}

void check_claims(const boost::json::object& claims, const JwtExpectation& expected) {
  if (const auto end = time_of(claims, "exp"); end && expected.now >= *end + expected.leeway) {
    throw refused_token(fmt::format("it expired at {}", format_time(*end)));
  }
  if (const auto start = time_of(claims, "nbf"); start && expected.now + expected.leeway < *start) {
    throw refused_token(fmt::format("it is valid from {} only", format_time(*start)));
  }
  if (!expected.issuer.empty() && json::text_at(claims, "iss") != expected.issuer) {
    throw refused_token(fmt::format("its issuer is '{}' and not '{}'", json::text_at(claims, "iss"), expected.issuer));
  }
  if (!expected.audience.empty() && !names_audience(claims, expected.audience)) {
    throw refused_token(fmt::format("it is not for the audience '{}'", expected.audience));
  }
}

}  // namespace underway::crypto::detail
