#pragma once
/// @file
/// HTTP/1.1 on the wire: heads are written by hand, incoming messages are parsed by Beast, which stays in wire.cpp.

#include "http/message.hpp"

namespace underway::http::detail {

/// A message that is refused, with the status that says so.
struct Refused {
  int status;
  std::string text;
};

/// Splits origin-form or absolute-form `target` into the decoded path and query. Throws Error(invalid).
void parse_target(std::string_view target, std::string& path, Query& query);
/// The path of `target` as it stands, without query, scheme and authority.
std::string_view raw_path(std::string_view target);

/// Parses one request. Feed it until `done`.
class RequestParser {
 public:
  explicit RequestParser(std::size_t header_limit);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  /// Parses what it can of `data` and returns how much it has used up. Stops after the head, so that the body's limit
  /// can be set; the next call goes on. Throws Refused.
  std::size_t put(std::string_view data);
  void body_limit(std::size_t bytes);
  bool head_done() const;
  bool done() const;
  bool keep_alive() const;
  bool is_http_1_0() const;
  bool expects_continue() const;
  /// Of the body, where the head tells it.
  std::optional<std::size_t> declared_length() const;
  std::string_view method() const;
  std::string_view target() const;
  /// The parsed request, without path, query and body.
  Request head() const;
  /// The body that came since the last call.
  std::string take_body();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Parses one response.
class ResponseParser {
 public:
  /// `no_body`: it answers a HEAD request.
  ResponseParser(bool no_body, std::size_t body_limit);
  ~ResponseParser();
  ResponseParser(const ResponseParser&) = delete;
  ResponseParser& operator=(const ResponseParser&) = delete;

  /// Throws Refused.
  std::size_t put(std::string_view data);
  /// The connection ended; returns whether that made the message whole.
  bool put_end();
  bool head_done() const;
  bool done() const;
  bool keep_alive() const;
  int status() const;
  Headers headers() const;
  /// The body that came since the last call.
  std::string take_body();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// How a body is delimited on the wire.
enum class Framing { length, chunked, until_close, none };

std::string response_head(const Response& response, Framing framing, std::size_t length, bool keep_alive,
                          std::string_view server, std::string_view date);
std::string request_head(const Request& request, std::string_view host, std::string_view path_prefix);
/// `data` as one chunk of a chunked body; not for empty data, which would end the body.
std::string chunk(std::string data);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

/// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, section 5.6.7).
std::string http_date(std::time_t time);

/// The value of Sec-WebSocket-Accept that answers `key` (RFC 6455, section 4.2.2).
std::string websocket_accept(std::string_view key);

}  // namespace underway::http::detail
