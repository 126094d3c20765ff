#include "http/message.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace underway::http {
namespace {

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    const auto low = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return low(x) == low(y);
  });
}

std::string clean(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c == '\r' || c == '\n' || c == '\0') c = ' ';
  }
  return out;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        throw Error(Code::invalid, "invalid URL escape").because(fmt::format("'%' at offset {} lacks two digits", i));
      }
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (c == '\0') throw Error(Code::invalid, "invalid URL").because("it holds a NUL");
    out += c;
  }
  return out;
}

bool refused(std::string_view parameters) {
  const auto at = parameters.find("q=");
  if (at == std::string_view::npos) return false;
  const auto weight = trim(parameters.substr(at + 2));
  return !weight.empty() && weight.find_first_not_of("0.") == std::string_view::npos;
}

}  // namespace

std::optional<std::string_view> Headers::find(std::string_view name) const {
  for (const auto& [key, value] : fields_) {
    if (same_name(key, name)) return value;
  }
  return std::nullopt;
}

bool Headers::has_token(std::string_view name, std::string_view token) const {
  for (const auto& [key, value] : fields_) {
    if (!same_name(key, name)) continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      const auto comma = rest.find(',');
      const std::string_view item = rest.substr(0, comma);
      rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
      const auto semicolon = item.find(';');
      if (!same_name(trim(item.substr(0, semicolon)), token)) continue;
      return semicolon == std::string_view::npos || !refused(item.substr(semicolon + 1));
    }
  }
  return false;
}

void Headers::set(std::string_view name, std::string value) {
  remove(name);
  add(name, std::move(value));
}

void Headers::add(std::string_view name, std::string value) { fields_.emplace_back(clean(name), clean(value)); }

void Headers::remove(std::string_view name) {
  std::erase_if(fields_, [&](const Field& field) { return same_name(field.first, name); });
}

Query Query::parse(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const auto end = text.find('&');
    const std::string_view item = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (item.empty()) continue;
    const auto equals = item.find('=');
    query.add(decode(item.substr(0, equals), true),
              equals == std::string_view::npos ? std::string{} : decode(item.substr(equals + 1), true));
  }
  return query;
}

std::optional<std::string> Query::find(std::string_view name) const {
  for (const auto& [key, value] : items_) {
    if (key == name) return value;
  }
  return std::nullopt;
}

bool Query::has(std::string_view name) const { return find(name).has_value(); }

bool Query::flag(std::string_view name) const {
  const auto value = find(name);
  return value && lower(*value) != "false" && *value != "0";
}

std::vector<std::string> Query::all(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : items_) {
    if (key == name) values.push_back(value);
  }
  return values;
}

void Query::add(std::string name, std::string value) { items_.emplace_back(std::move(name), std::move(value)); }

std::string Query::encode() const {
  std::string out;
  for (const auto& [key, value] : items_) {
    if (!out.empty()) out += '&';
    out += percent_encode(key) + "=" + percent_encode(value);
  }
  return out;
}

std::string percent_decode(std::string_view text) { return decode(text, false); }

std::string percent_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~';
    if (plain)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

const std::string& Request::param(std::string_view name) const {
  for (const auto& [key, value] : params) {
    if (key == name) return value;
  }
  throw Error(Code::internal, fmt::format("the route of '{}' has no parameter '{}'", path, name));
}

Request request(std::string method, std::string_view path, const Query& query, std::string body) {
  Request made;
  made.method = std::move(method);
  made.target = std::string(path);
  if (!query.empty()) made.target += (path.find('?') == std::string_view::npos ? "?" : "&") + query.encode();
  made.body = std::move(body);
  return made;
}

Response text(int status, std::string body) {
  Response response;
  response.status = status;
  response.headers.set("Content-Type", "text/plain; charset=utf-8");
  response.body = std::move(body);
  return response;
}

Response json(std::string body, int status) {
  Response response;
  response.status = status;
  response.headers.set("Content-Type", "application/json");
  response.body = std::move(body);
  return response;
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 101:
      return "Switching Protocols";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 416:
      return "Range Not Satisfiable";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 426:
      return "Upgrade Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    case 507:
      return "Insufficient Storage";
    default:
      return "";
  }
}

}  // namespace underway::http
