#pragma once
/// @file
/// What travels over HTTP: a Request, a Response, and their parts. The same types serve both sides: a server's handler
/// receives a Request and returns a Response; a client sends a Request and receives a Response.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/loop.hpp"
#include "base/clock.hpp"

namespace underway::http {

using asio::awaitable;

class WebSocket;

/// Header fields in the order of the wire; names compare without regard to ASCII case.
class Headers {
 public:
  using Field = std::pair<std::string, std::string>;

  Headers() = default;
  Headers(std::initializer_list<Field> fields) : fields_(fields) {}

  /// The first field of that name.
  std::optional<std::string_view> find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name).has_value(); }
  /// Whether a comma-separated list of tokens (Connection, Accept-Encoding) holds `token`; parameters are ignored,
  /// except that "q=0" refuses.
  bool has_token(std::string_view name, std::string_view token) const;
  /// Replaces every field of that name. CR, LF and NUL are replaced by spaces, so no value can forge a field.
  void set(std::string_view name, std::string value);
  void add(std::string_view name, std::string value);
  void remove(std::string_view name);
  const std::vector<Field>& fields() const { return fields_; }

 private:
  std::vector<Field> fields_;
};

/// Decoded query parameters; names may repeat.
class Query {
 public:
  Query() = default;
  Query(std::initializer_list<std::pair<std::string, std::string>> items) : items_(items) {}
  /// Parses "a=1&b=x%20y&c": application/x-www-form-urlencoded, "+" is a space. Throws Error(invalid) on a bad escape.
  static Query parse(std::string_view text);

  /// The first value of `name`; "" when it stands without "=".
  std::optional<std::string> find(std::string_view name) const;
  bool has(std::string_view name) const;
  /// Nomad's reading of a flag: present and neither "false" nor "0"; a bare name is true. Absent is false.
  bool flag(std::string_view name) const;
  std::vector<std::string> all(std::string_view name) const;
  void add(std::string name, std::string value);
  bool empty() const { return items_.empty(); }
  const std::vector<std::pair<std::string, std::string>>& items() const { return items_; }
  /// "a=1&b=x%20y", without "?".
  std::string encode() const;

 private:
  std::vector<std::pair<std::string, std::string>> items_;
};

/// Decodes %XX; throws Error(invalid) on a bad escape or a NUL.
std::string percent_decode(std::string_view text);
/// Encodes all but RFC 3986's unreserved characters: fit for one path segment or one query value.
std::string percent_encode(std::string_view text);

/// Who is at the other end.
struct Peer {
  std::string address;                         ///< "10.0.0.7:51442", "[::1]:4646" or "unix"
  std::optional<unsigned> uid;                 ///< of the process at the other end of a unix socket
  std::vector<std::string> certificate_names;  ///< common and alternative names of a verified client certificate
  TimePoint certificate_until = {};            ///< when that certificate ends
  std::string certificate_problem;             ///< what is wrong with the one that it showed; then it has no names
};

struct Request {
  std::string method = "GET";
  std::string target = "/";                                      ///< path and query as on the wire
  std::string path = {};                                         ///< decoded, without query; filled in by the server
  Query query = {};                                              ///< filled in by the server
  std::vector<std::pair<std::string, std::string>> params = {};  ///< of the route's pattern, decoded; by the router
  Headers headers = {};
  std::string body = {};
  Peer remote = {};

  /// The decoded value of ":name" or "*name" of the route. Throws Error(internal) when the pattern has none.
  const std::string& param(std::string_view name) const;
};

/// Builds a client's Request: `path` is used as it is, `query` is encoded.
Request request(std::string method, std::string_view path, const Query& query = {}, std::string body = {});

/// The writing end of a streamed response body.
class BodyWriter {
 public:
  virtual ~BodyWriter() = default;
  /// Sends `data` as one chunk and returns when the kernel has taken it. Throws Error(timeout) when the client reads
  /// nothing for the server's send timeout, Error(unavailable) when it is gone. Empty data sends nothing.
  virtual awaitable<void> write(std::string data) = 0;
};

struct Response {
  int status = 200;
  Headers headers = {};
  std::string body = {};
  /// Instead of `body`: writes the body piece by piece, until it returns. Cancelled when the client goes away. A
  /// failure that escapes breaks the connection, so the client sees that the body is not whole. The server keeps the
  /// function object until the coroutine has ended.
  std::function<awaitable<void>(BodyWriter&)> stream = {};
  /// Instead of `body`: answers a WebSocket handshake and hands the socket over; it is closed when this returns.
  /// A request that is no handshake is answered 426. Cancelled when the server stops.
  std::function<awaitable<void>(std::shared_ptr<WebSocket>)> upgrade = {};
};

Response text(int status, std::string body);
Response json(std::string body, int status = 200);

using Handler = std::function<awaitable<Response>(Request)>;

/// "Not Found"; "" for a status without a name in RFC 9110 and RFC 6585.
std::string_view reason_phrase(int status);

}  // namespace underway::http
