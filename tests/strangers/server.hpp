#pragma once
/// @file
/// A server that is driven over HTTP, ours or a genuine one: one request a connection, no library of either side
/// between.

#include <boost/json/value.hpp>

#include <string>

namespace underway::strangers {

struct Answer {
  int status = 0;
  std::string body;
};

/// `address` is a path of a Unix socket, or "127.0.0.1:port". `token` goes with every request when it is not empty.
class Server {
 public:
  explicit Server(std::string address, std::string token = {})
      : address_(std::move(address)), token_(std::move(token)) {}

  /// Status 0 when the server cannot be reached or answers no HTTP.
  Answer ask(const std::string& method, const std::string& target, const std::string& body = {}) const;

 private:
  std::string address_;
  std::string token_;
};

}  // namespace underway::strangers
