#pragma once
/// @file
/// Tokens on their way from a command line to a web page: a command gets a one-time secret for its token, and the page
/// that it opens changes that back, once and within ten minutes. They are in memory only, sealed by the one-time secret
/// itself: whoever sees the server's memory meanwhile finds no token. Thread: loop only.

#include <map>

#include "base/clock.hpp"
#include "crypto/seal.hpp"

namespace underway::server {

class OneTimeTokens {
 public:
  struct Made {
    std::string secret;
    TimePoint expires;
  };
  /// Another one of the same accessor ends the one before. Throws Error(exhausted) when too many are under way.
  Made make(const std::string& accessor, std::string_view token_secret, TimePoint now);
  /// The token's secret. Throws Error(denied).
  std::string exchange(const std::string& secret, TimePoint now);

  static constexpr Duration kLifetime = std::chrono::minutes(10);
  static constexpr std::size_t kMost = 1024;

 private:
  struct Kept {
    std::string accessor;
    crypto::Sealed sealed;
    TimePoint expires;
  };
  std::map<std::string, Kept> kept_;  ///< by the hash of the one-time secret
};

}  // namespace underway::server
