#pragma once
/// @file
/// What Vault is asked and answers. The answers are untrusted, and what of them is told holds no secret.

#include "gotemplate/foreign_data.hpp"
#include "http/message.hpp"
#include "sources/settings.hpp"

namespace underway::sources {

/// A token with what Vault says of it.
struct Login {
  std::string token{};
  Duration lease{};  ///< 0: it does not end
  bool renewable = false;
};

http::Request vault_request(std::string method, const std::string& path, const std::string& token,
                            const std::string& ns, std::string body = {});
/// Errors: what Vault says, by the status.
boost::json::object read_vault(const http::Response& response);
Login read_login(const http::Response& response);  ///< of a log-in and of renew-self
Login read_token(const http::Response& response);  ///< of lookup-self, without the token
gotemplate::Secret read_secret(const http::Response& response);
std::vector<std::string> read_names(const http::Response& response);
/// Of sys/internal/ui/mounts: where the mount of `path` ends, if it is KV version 2.
std::optional<std::string> version_2_mount(const http::Response& response);

}  // namespace underway::sources
