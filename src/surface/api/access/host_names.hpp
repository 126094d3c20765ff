#pragma once
/// @file
/// Keeps the pages of others from speaking through a browser to a server that asks for no token. Such a page reaches it
/// under a name of its own that it makes lead here (DNS rebinding), or across sites; in both cases the browser says so.

#include <optional>
#include <string>
#include <vector>

#include "http/message.hpp"

namespace underway::api {

class HostNames {
 public:
  /// `names`: those of the server, besides its addresses and localhost.
  explicit HostNames(std::vector<std::string> names);

  /// For http::ServerOptions::refuse: 403, with what to do, to a request over TCP for a host that is none of the names,
  /// and to one that changes something, or opens a WebSocket, from a page of another host. Addresses are all let in:
  /// no name was made to lead here. So is who sends no Host: browsers do.
  std::optional<http::Response> refusal(const http::Request& request) const;

 private:
  bool knows(const std::string& host) const;
  std::vector<std::string> names_;
};

}  // namespace underway::api
