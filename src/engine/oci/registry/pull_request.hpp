#pragma once
/// @file
/// What a Store and the program underway-pull say to each other. The program gets one PullRequest as JSON on standard
/// input (credentials must not show in arguments) and answers in lines of JSON on standard output, each a PullMessage;
/// the last one tells how it ended.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/json/describe.hpp"

namespace underway::oci {

/// What strangers may make us take. An image beyond them is refused, never cut off.
struct PullLimits {
  std::int64_t document_bytes = std::int64_t{4} << 20;    ///< of a manifest or configuration (as registries have it)
  std::int64_t layers = 500;                              ///< an overlay mount takes that many (OVL_MAX_STACK, Linux)
  std::int64_t layer_bytes = std::int64_t{64} << 30;      ///< of one layer, packed
  std::int64_t unpacked_bytes = std::int64_t{256} << 30;  ///< of all layers together
  std::int64_t entries = 10'000'000;                      ///< files, directories and links of all layers together
  /// Unpacked to packed bytes of a layer that unpacks to more than `ratio_from`: deflate ends at 1032, and files of
  /// people seldom reach 20.
  std::int64_t ratio = 200;
  std::int64_t ratio_from = std::int64_t{1} << 30;
};
const describe::Structure& description(describe::Tag<PullLimits>);

/// How patient a pull is with its registry.
struct PullTimeouts {
  std::int64_t attempts = 6;                           ///< in a row without a byte of progress
  Duration back_off = std::chrono::milliseconds(500);  ///< before the second attempt; doubled for each further one
  Duration longest_back_off = std::chrono::seconds(30);
  Duration connect = std::chrono::seconds(30);
  /// A transfer with fewer than `stall_bytes` per second for so long has stalled.
  Duration stall = std::chrono::seconds(30);
  std::int64_t stall_bytes = 1024;
};
const describe::Structure& description(describe::Tag<PullTimeouts>);

/// Whom a registry is to take us for. All empty: nobody.
struct Credentials {
  std::string username, password;
  std::string identity_token;  ///< instead: an OAuth 2 refresh token, as `docker login` keeps it

  bool empty() const { return username.empty() && identity_token.empty(); }
};
const describe::Structure& description(describe::Tag<Credentials>);

struct PullRequest {
  std::string store;      ///< directory
  std::string reference;  ///< Reference::text()
  std::string lease;      ///< id of the lease that is to protect what is pulled
  Credentials credentials;
  bool tls_verify = true;
  std::string ca_file;       ///< PEM; empty: the system's
  bool plain_http = false;   ///< speak no TLS with the registry
  std::int64_t at_once = 4;  ///< layers
  PullLimits limits;
  PullTimeouts patience;
};
const describe::Structure& description(describe::Tag<PullRequest>);

struct Progress {
  std::int64_t layers = 0, layers_done = 0;  ///< done: unpacked, or there before
  std::int64_t bytes = 0, bytes_done = 0;    ///< packed, of layers that were not there before
};
const describe::Structure& description(describe::Tag<Progress>);

/// An Error on its way.
struct Failure {
  std::string code, message, advice;
  std::vector<std::string> reasons;
};
const describe::Structure& description(describe::Tag<Failure>);
Failure to_failure(const Error& error);
Error to_error(const Failure& failure);

struct PullMessage {
  std::optional<Progress> progress;
  std::optional<Failure> failure;
  std::string digest;  ///< of the manifest, once all is there
};
const describe::Structure& description(describe::Tag<PullMessage>);

}  // namespace underway::oci
