#pragma once
/// @file
/// Where a node's templates have services, keys and secrets from.

#include "base/clock.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace underway::sources {

/// How a server is reached.
struct Access {
  std::string address{};     ///< "https://consul.example:8501"; empty: there is none
  std::string token_file{};  ///< empty: no token
  std::string ca_file{}, cert_file{}, key_file{};
  std::string tls_server_name{};
  Duration timeout = std::chrono::seconds(10);  ///< of an answer that nobody has to wait for
  bool operator==(const Access&) const = default;
};

struct ConsulSettings {
  Access access{};
  std::string datacenter{};                  ///< empty: that of its agent
  Duration wait = std::chrono::seconds(60);  ///< how long a blocking query waits for news
};

struct VaultSettings {
  Access access{};
  std::string ns{};                         ///< of Vault; a job's `vault { namespace }` goes before
  std::string jwt_path = "auth/jwt-nomad";  ///< where tasks log in with their identity
  std::string role{};                       ///< for tasks whose `vault` block names none; empty: the mount's own
  /// What the site's token reads for tasks that do not log in: "secret/data/${namespace}/*".
  std::vector<std::string> allow{};
  Duration reread = std::chrono::minutes(5);  ///< when secrets without a lease are read again
};

enum class From : std::uint8_t { ours, foreign, nothing };

struct Settings {
  From service = From::ours, key = From::ours, secret = From::ours;
  /// Below which variables keys and secrets lie; may have ${namespace}, ${job}, ${group} and ${task}.
  std::string key_variables = "nomad/jobs/${job}";
  std::string secret_variables = "nomad/jobs/${job}";
  ConsulSettings consul{};
  VaultSettings vault{};
};

/// Whose template asks.
struct Asker {
  std::string ns{}, job_id{}, group{}, task{}, allocation_id{};
  bool logs_in = false;  ///< the task has a `vault` block
  std::string vault_role{}, vault_ns{}, vault_cluster{};
  auto operator<=>(const Asker&) const = default;
};

/// `${namespace}` and the others in `text`.
std::string for_asker(std::string text, const Asker& asker);
/// Whether `path` is one of `patterns`; a `*` at the end of a pattern stands for anything.
bool is_allowed(std::string_view path, const std::vector<std::string>& patterns, const Asker& asker);

}  // namespace underway::sources
