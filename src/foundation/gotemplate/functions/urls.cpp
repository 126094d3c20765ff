// URLs taken apart and put together, as Go's net/url does it.
#include "base/error.hpp"
#include "gotemplate/functions/library.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>

namespace underway::gotemplate {

namespace {

enum class Part : std::uint8_t { path, user, host, zone, fragment };

Error invalid(std::string_view what) { return {Code::invalid, fmt::format("unable to parse url: {}", what)}; }

bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
unsigned hex_value(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= '9' ? byte - '0' : (byte | 0x20U) - 'a' + 10;
}

/// Which bytes stand for themselves in a part of a URL.
bool is_plain(unsigned char c, Part part) {
  if (std::isalnum(c) != 0 || (c != 0 && std::string_view("-_.~").find(static_cast<char>(c)) != std::string_view::npos))
    return c < 0x80;
  const auto among = [c](std::string_view all) {
    return c != 0 && all.find(static_cast<char>(c)) != std::string_view::npos;
  };
  switch (part) {
    case Part::path:
      return among("$&+,/:;=@");
    case Part::user:
      return among("$&+,;=");
    case Part::host:
    case Part::zone:
      return among("!$&'()*+,;=:[]<>\"");
    case Part::fragment:
      return among("$&+,/:;=?@!()*");
  }
  return false;
}

std::string escape(std::string_view text, Part part) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(byte, part))
      out += c;
    else
      fmt::format_to(std::back_inserter(out), "%{:02X}", byte);
  }
  return out;
}

/// A host may escape only what is not ASCII, and the '%' of a zone.
void check_escape(std::string_view escaped, Part part) {
  const unsigned value = hex_value(escaped[1]) * 16 + hex_value(escaped[2]);
  const bool percent = escaped == "%25";
  if (part == Part::host && value < 0x80 && !percent) throw invalid("invalid URL escape");
  if (part == Part::zone && !percent && value != ' ' && !is_plain(static_cast<unsigned char>(value), Part::host))
    throw invalid("invalid URL escape");
}

std::string unescape(std::string_view text, Part part) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (text[i] == '%') {
      if (i + 2 >= text.size() || !is_hex(text[i + 1]) || !is_hex(text[i + 2])) throw invalid("invalid URL escape");
      check_escape(text.substr(i, 3), part);
      out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
      continue;
    }
    if ((part == Part::host || part == Part::zone) && byte < 0x80 && !is_plain(byte, part))
      throw invalid("invalid character in host name");
    out += text[i];
  }
  return out;
}

/// ":" and digits, or nothing.
bool is_port(std::string_view text) {
  return text.empty() || (text[0] == ':' && text.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

std::string bracketed_host(std::string_view host) {
  const std::size_t close = host.rfind(']');
  if (close == std::string_view::npos) throw invalid("missing ']' in host");
  const std::string_view port = host.substr(close + 1);
  if (!is_port(port)) throw invalid("invalid port after host");
  const std::string_view inside = host.substr(1, close - 1);
  const std::size_t zone = inside.find("%25");
  const std::string address = unescape(inside.substr(0, zone), Part::host);
  in6_addr parsed{};
  if (::inet_pton(AF_INET6, address.c_str(), &parsed) != 1) throw invalid("invalid host");
  std::string out = "[" + address;
  if (zone != std::string_view::npos) {
    const std::string named = unescape(inside.substr(zone), Part::zone);
    if (named.size() < 2) throw invalid("invalid host");
    out += named;
  }
  return out + "]" + std::string(port);
}

std::string read_host(std::string_view scheme, std::string_view host) {
  const std::size_t bracket = host.rfind('[');
  if (bracket == 0) return bracketed_host(host);
  if (bracket != std::string_view::npos) throw invalid("invalid IP-literal");
  const bool strict = scheme == "http" || scheme == "https";
  const std::size_t colon = strict ? host.find(':') : host.rfind(':');
  if (colon != std::string_view::npos && !is_port(host.substr(colon))) throw invalid("invalid port after host");
  return unescape(host, Part::host);
}

struct Url {
  std::string scheme, opaque, user, host, path, query, fragment;
};

/// As it is written back.
std::string read_user(std::string_view user) {
  const bool valid = std::ranges::all_of(user, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           (c != 0 && std::string_view("-._:~!$&'()*+,;=%@").find(c) != std::string_view::npos);
  });
  if (!valid) throw invalid("invalid userinfo");
  const std::size_t colon = user.find(':');
  std::string out = escape(unescape(user.substr(0, colon), Part::user), Part::user);
  if (colon != std::string_view::npos) out += ":" + escape(unescape(user.substr(colon + 1), Part::user), Part::user);
  return out;
}

/// Takes "scheme:" off; throws when there is a colon and nothing before it.
std::string take_scheme(std::string_view& rest) {
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const auto c = static_cast<unsigned char>(rest[i]);
    if (c < 0x80 && std::isalpha(c) != 0) continue;
    if (std::isdigit(c) != 0 || c == '+' || c == '-' || c == '.') {
      if (i == 0) return {};
      continue;
    }
    if (c != ':') return {};
    if (i == 0) throw invalid("missing protocol scheme");
    std::string scheme(rest.substr(0, i));
    std::ranges::transform(scheme, scheme.begin(), [](unsigned char b) { return static_cast<char>(std::tolower(b)); });
    rest.remove_prefix(i + 1);
    return scheme;
  }
  return {};
}

void read_authority(std::string_view& rest, Url& url) {
  rest.remove_prefix(2);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view authority = rest.substr(0, slash);
  rest.remove_prefix(slash);
  const std::size_t at = authority.rfind('@');
  url.host = read_host(url.scheme, at == std::string_view::npos ? authority : authority.substr(at + 1));
  if (at != std::string_view::npos) url.user = read_user(authority.substr(0, at));
}

Url read_url(std::string_view text) {
  Url url;
  const std::size_t hash = text.find('#');
  std::string_view rest = text.substr(0, hash);
  if (std::ranges::any_of(rest, [](unsigned char c) { return c < 0x20 || c == 0x7F; }))
    throw invalid("net/url: invalid control character in URL");
  if (hash != std::string_view::npos) url.fragment = unescape(text.substr(hash + 1), Part::fragment);
  if (rest == "*") {
    url.path = "*";
    return url;
  }
  url.scheme = take_scheme(rest);
  if (const std::size_t mark = rest.find('?'); mark != std::string_view::npos) {
    url.query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  if (!rest.starts_with('/')) {
    if (!url.scheme.empty()) {
      url.opaque = rest;
      return url;
    }
    if (rest.substr(0, rest.find('/')).find(':') != std::string_view::npos)
      throw invalid("first path segment in URL cannot contain colon");
  }
  if (rest.starts_with("//") && (!url.scheme.empty() || !rest.starts_with("///"))) read_authority(rest, url);
  url.path = unescape(rest, Part::path);
  return url;
}

/// Without the port, and without the brackets of an IPv6 address.
std::string hostname(const std::string& host) {
  std::string out = host;
  const std::size_t colon = out.rfind(':');
  if (colon != std::string::npos && is_port(std::string_view(out).substr(colon))) out.erase(colon);
  if (out.starts_with('[') && out.ends_with(']')) out = out.substr(1, out.size() - 2);
  return out;
}

Value url_parse(const Call& call) {
  const Url url = read_url(call.text(0));
  call.run.make(call.text(0).size() * 4);
  return call.run.map({{"scheme", Value(url.scheme)},
                       {"host", Value(url.host)},
                       {"hostname", Value(hostname(url.host))},
                       {"path", Value(url.path)},
                       {"query", Value(url.query)},
                       {"opaque", Value(url.opaque)},
                       {"fragment", Value(url.fragment)},
                       {"userinfo", Value(url.user)}});
}

std::string text_of(const Map& map, std::string_view key) {
  const auto found = map.find(key);
  if (found == map.end()) return {};
  if (!found->second.is_text())
    throw Error(Code::invalid, fmt::format("unable to parse {} key, must be of type string, but {} found", key,
                                           found->second.kind_name()));
  return std::string(found->second.as_text());
}

std::string write_url(const Url& url, bool has_user) {
  std::string out = url.scheme.empty() ? "" : url.scheme + ":";
  if (!url.opaque.empty()) {
    out += url.opaque;
  } else {
    if (!url.host.empty() || has_user || (!url.scheme.empty() && !url.path.empty())) out += "//";
    if (has_user) out += url.user + "@";
    out += escape(url.host, Part::host);
    const std::string path = url.path == "*" ? "*" : escape(url.path, Part::path);
    if (!path.empty() && path[0] != '/' && !url.host.empty()) out += '/';
    if (out.empty() && path.substr(0, path.find('/')).find(':') != std::string::npos) out += "./";
    out += path;
  }
  if (!url.query.empty()) out += "?" + url.query;
  if (!url.fragment.empty()) out += "#" + escape(url.fragment, Part::fragment);
  return out;
}

Value url_join(const Call& call) {
  const Map& map = call.map(0);
  Url url{text_of(map, "scheme"), text_of(map, "opaque"), text_of(map, "userinfo"), text_of(map, "host"),
          text_of(map, "path"),   text_of(map, "query"),  text_of(map, "fragment")};
  const bool has_user = !url.user.empty();
  if (has_user) {
    const Url parsed = read_url("proto://" + url.user + "@host");
    url.user = parsed.user;
  }
  std::string out = write_url(url, has_user);
  call.run.make(out.size() * 3);
  return out;
}

}  // namespace

std::vector<Function> url_functions() {
  constexpr Origin kSprig = Origin::sprig;
  return {
      {"urlParse", "url string", "A map of scheme, host, hostname, path, query, opaque, fragment and userinfo.", kSprig,
       url_parse},
      {"urlJoin", "parts map", "The URL of such a map.", kSprig, url_join},
  };
}

}  // namespace underway::gotemplate
