#pragma once
/// @file
/// One HTTP exchange at a time over libcurl, with limits. Redirects are told, not followed: who asks decides whether
/// they may see his credentials.

#include <curl/curl.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "oci/registry/pull_request.hpp"

namespace underway::oci::pull {

struct Ask {
  std::string url;
  std::vector<std::string> headers;  ///< "Name: value"
  std::string form;                  ///< not empty: POSTed
  std::size_t body_limit = 1U << 20;
};

struct Answer {
  long status = 0;
  std::map<std::string, std::string> headers;  ///< names in lower case; the last of each
  std::string body;                            ///< unless it went to the sink; of a failure, at most the limit
  std::string redirect;                        ///< absolute; empty: none

  std::string header(const std::string& name) const;
};

/// Takes the body of a success (2xx) piece by piece; returns false to break off. Called once with an empty piece when
/// the headers are known, so that it can look at them.
using Sink = std::function<bool(const Answer&, std::string_view)>;

/// Keeps connections open from one exchange to the next. Thread: one.
class Http {
 public:
  explicit Http(const PullRequest& request);

  /// Errors: unavailable (no connection, broken off), timeout (stalled), too_large, denied (the server's certificate).
  Answer ask(const Ask& ask, const Sink& sink = {});

 private:
  const PullRequest& request_;
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle_;
};

}  // namespace underway::oci::pull
