#pragma once
/// @file
/// Job files that are named by a URL. Nothing of the caller goes along with the request but what the URL itself holds:
/// no token, no client certificate.

#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace underway::cli {

struct FetchLimits {
  std::size_t bytes = 16U << 20;             ///< what the API takes of a job; of the text, unpacked
  Duration span = std::chrono::seconds{30};  ///< all of it, with what it is redirected to
  int redirects = 10;                        ///< as go-getter
};

/// Whether it is a URL, of whatever scheme, and no path.
bool is_url(std::string_view path);

/// What lies at an http:// or https:// URL, whose certificate is verified against the system's authorities. Redirects
/// are followed, but from https to https only. `user:password@` in the URL is sent to its host and no other. Errors
/// name the URL, without the password: unsupported (another scheme, or options of go-getter), unavailable, timeout,
/// too_large, and what fits the server's status.
std::string fetch_text(const std::string& url, const FetchLimits& limits = {});

/// The text of a job file: of a URL, of a file, or of standard input for "-". Errors: as fetch_text and read_input.
std::string read_job_file(const std::string& path);

}  // namespace underway::cli
