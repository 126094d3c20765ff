#include "http/detail/wire.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <array>
#include <ctime>

#include "base/text.hpp"

namespace underway::http::detail {

namespace beast = boost::beast::http;

namespace {

Refused refusal(const boost::system::error_code& failed, const char* what) {
  if (failed == beast::error::header_limit || failed == beast::error::buffer_overflow) {
    return {431, fmt::format("{}'s headers are too large", what)};
  }
  if (failed == beast::error::body_limit) return {413, fmt::format("{}'s body is too large", what)};
  if (failed == beast::error::bad_version) return {505, "only HTTP/1.0 and HTTP/1.1 are spoken here"};
  return {400, fmt::format("malformed {}: {}", what, failed.message())};
}

template <class Parser>
std::size_t feed(Parser& parser, std::string_view data, const char* what) {
  boost::system::error_code failed;
  const std::size_t used = parser.put(asio::buffer(data.data(), data.size()), failed);
  if (failed && failed != beast::error::need_more) throw refusal(failed, what);
  return used;
}

template <class Fields>
Headers copy_headers(const Fields& fields) {
  Headers headers;
  for (const auto& field : fields) {
    headers.add(std::string_view(field.name_string().data(), field.name_string().size()),
                std::string(field.value().data(), field.value().size()));
  }
  return headers;
}

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

std::string_view raw_path(std::string_view target) {
  if (!target.starts_with('/')) {
    const auto scheme = target.find("://");
    if (scheme != std::string_view::npos) {
      const auto slash = target.find('/', scheme + 3);
      target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
    }
  }
  return target.substr(0, target.find_first_of("?#"));
}

void parse_target(std::string_view target, std::string& path, Query& query) {
  const std::string_view raw = raw_path(target);
  if (!raw.starts_with('/') && raw != "*") throw Error(Code::invalid, "invalid request target").because("no path");
  path = percent_decode(raw);
  const auto mark = target.find('?');
  if (mark == std::string_view::npos) return;
  const std::string_view rest = target.substr(mark + 1);
  query = Query::parse(rest.substr(0, rest.find('#')));
}

struct RequestParser::Impl {
  beast::request_parser<beast::string_body> parser;
};

RequestParser::RequestParser(std::size_t header_limit) : impl_(std::make_unique<Impl>()) {
  impl_->parser.header_limit(static_cast<std::uint32_t>(header_limit));
  impl_->parser.body_limit(boost::none);
  impl_->parser.eager(false);
}
RequestParser::~RequestParser() = default;

std::size_t RequestParser::put(std::string_view data) {
  if (impl_->parser.is_header_done()) impl_->parser.eager(true);
  return feed(impl_->parser, data, "request");
}
void RequestParser::body_limit(std::size_t bytes) {
  impl_->parser.body_limit(bytes);
  // Beast compares a declared length with the limit only while it reads the head.
  const auto declared = impl_->parser.content_length();
  if (declared && *declared > bytes) throw Refused{413, "request's body is too large"};
}
bool RequestParser::head_done() const { return impl_->parser.is_header_done(); }
bool RequestParser::done() const { return impl_->parser.is_done(); }
bool RequestParser::keep_alive() const { return impl_->parser.get().keep_alive(); }
bool RequestParser::is_http_1_0() const { return impl_->parser.get().version() < 11; }
bool RequestParser::expects_continue() const {
  return lower(view(impl_->parser.get()[beast::field::expect])) == "100-continue" && !is_http_1_0();
}
std::string_view RequestParser::method() const { return view(impl_->parser.get().method_string()); }
std::string_view RequestParser::target() const { return view(impl_->parser.get().target()); }

std::optional<std::size_t> RequestParser::declared_length() const {
  const auto declared = impl_->parser.content_length();
  if (!declared) return std::nullopt;
  return static_cast<std::size_t>(*declared);
}

Request RequestParser::head() const {
  const auto& message = impl_->parser.get();
  Request request;
  request.method = std::string(view(message.method_string()));
  request.target = std::string(view(message.target()));
  request.headers = copy_headers(message);
  return request;
}
std::string RequestParser::take_body() { return std::exchange(impl_->parser.get().body(), {}); }

struct ResponseParser::Impl {
  beast::response_parser<beast::string_body> parser;
};

ResponseParser::ResponseParser(bool no_body, std::size_t body_limit) : impl_(std::make_unique<Impl>()) {
  impl_->parser.header_limit(256 << 10);
  impl_->parser.body_limit(body_limit);
  impl_->parser.eager(true);
  impl_->parser.skip(no_body);
}
ResponseParser::~ResponseParser() = default;

std::size_t ResponseParser::put(std::string_view data) { return feed(impl_->parser, data, "response"); }
bool ResponseParser::put_end() {
  boost::system::error_code failed;
  impl_->parser.put_eof(failed);
  return !failed;
}
bool ResponseParser::head_done() const { return impl_->parser.is_header_done(); }
bool ResponseParser::done() const { return impl_->parser.is_done(); }
bool ResponseParser::keep_alive() const { return impl_->parser.keep_alive() && !impl_->parser.need_eof(); }
int ResponseParser::status() const { return static_cast<int>(impl_->parser.get().result_int()); }
Headers ResponseParser::headers() const { return copy_headers(impl_->parser.get()); }
std::string ResponseParser::take_body() { return std::exchange(impl_->parser.get().body(), {}); }

std::string response_head(const Response& response, Framing framing, std::size_t length, bool keep_alive,
                          std::string_view server, std::string_view date) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_phrase(response.status));
  for (const auto& [name, value] : response.headers.fields()) head += name + ": " + value + "\r\n";
  if (framing == Framing::length) head += fmt::format("Content-Length: {}\r\n", length);
  if (framing == Framing::chunked) head += "Transfer-Encoding: chunked\r\n";
  if (response.status != 101) head += keep_alive ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
  if (!server.empty()) head += fmt::format("Server: {}\r\n", server);
  head += fmt::format("Date: {}\r\n\r\n", date);
  return head;
}

std::string request_head(const Request& request, std::string_view host, std::string_view path_prefix) {
  std::string head = fmt::format("{} {}{} HTTP/1.1\r\n", request.method, path_prefix, request.target);
  if (!request.headers.has("Host")) head += fmt::format("Host: {}\r\n", host);
  for (const auto& [name, value] : request.headers.fields()) head += name + ": " + value + "\r\n";
  const bool has_length = request.headers.has("Content-Length");
  if (!has_length && (!request.body.empty() || request.method == "PUT" || request.method == "POST")) {
    head += fmt::format("Content-Length: {}\r\n", request.body.size());
  }
  return head + "\r\n";
}

std::string chunk(std::string data) {
  data.insert(0, fmt::format("{:x}\r\n", data.size()));
  data += "\r\n";
  return data;
}

std::string http_date(std::time_t time) {
  static constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays.at(static_cast<std::size_t>(parts.tm_wday)),
                     parts.tm_mday, kMonths.at(static_cast<std::size_t>(parts.tm_mon)), parts.tm_year + 1900,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string websocket_accept(std::string_view key) {
  const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1) {
    throw Error(Code::internal, "cannot compute SHA-1 for a WebSocket handshake");
  }
  return base64_encode(std::string_view(reinterpret_cast<const char*>(digest.data()), size));
}

}  // namespace underway::http::detail
