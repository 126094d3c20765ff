#include "cli/job/url.hpp"

#include <algorithm>
#include <chrono>

#include "base/error.hpp"
#include "base/redact.hpp"
#include "base/text.hpp"
#include "cli/context.hpp"
#include "http/client.hpp"

namespace underway::cli {
namespace {

/// "scheme://user:password@host:port/path?query#fragment", in its parts.
struct Address {
  std::string scheme, user, host, target;

  std::string text() const { return fmt::format("{}://{}{}", scheme, host, target); }
};

Address parse_address(std::string_view url) {
  Address address;
  const auto scheme_end = url.find("://");
  address.scheme = lower(url.substr(0, scheme_end));
  url.remove_prefix(scheme_end + 3);
  url = url.substr(0, url.find('#'));
  const auto host_end = std::min(url.find_first_of("/?"), url.size());
  address.host = url.substr(0, host_end);
  address.target = url.substr(host_end);
  if (!address.target.starts_with('/')) address.target = "/" + address.target;
  if (const auto at = address.host.rfind('@'); at != std::string::npos) {
    address.user = address.host.substr(0, at);
    address.host = address.host.substr(at + 1);
  }
  return address;
}

void refuse_other_schemes(const Address& address) {
  if (address.scheme == "http" || address.scheme == "https") return;
  throw Error(Code::unsupported, fmt::format("'{}' cannot be fetched", address.text()))
      .because(fmt::format("job files are fetched by http and https, not by '{}'", address.scheme))
      .advise("fetch it by other means, and name the file");
}

/// What go-getter does before or after the download would be left undone without a word.
void refuse_options(const Address& address) {
  const auto question = address.target.find('?');
  if (question == std::string::npos) return;
  for (const auto& part : split(std::string_view(address.target).substr(question + 1), '&')) {
    for (const std::string_view option : {"checksum=", "archive="}) {
      if (!part.starts_with(option)) continue;
      throw Error(Code::unsupported, fmt::format("'{}' cannot be fetched", address.text()))
          .because(fmt::format("'{}' is nothing that is done with job files", part))
          .advise("fetch the file, check or unpack it, and name it");
    }
  }
}

void refuse_odd_characters(const std::string& url) {
  const auto odd = [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; };
  if (std::none_of(url.begin(), url.end(), odd)) return;
  throw Error(Code::invalid, fmt::format("'{}' is no URL", redact_url(url, UrlUser::absent)))
      .because("it has blanks or control characters")
      .advise("write them as %20 and the like");
}

/// Where a redirect leads: an absolute URL, or one relative to `from` (RFC 3986, 4.2).
Address resolve(const Address& from, const std::string& location) {
  refuse_odd_characters(location);
  if (is_url(location)) return parse_address(location);
  if (location.starts_with("//")) return parse_address(from.scheme + ":" + location);
  Address address = from;
  const std::string path = location.substr(0, location.find('#'));
  if (path.starts_with('/')) {
    address.target = path;
  } else {
    const std::string before = from.target.substr(0, from.target.find('?'));
    address.target = path.starts_with('?') ? before + path : before.substr(0, before.rfind('/') + 1) + path;
  }
  return address;
}

http::Response ask_address(const Address& address, const FetchLimits& limits, Duration left) {
  http::ClientOptions options;
  options.connect_timeout = std::min(options.connect_timeout, left);
  options.body_limit = limits.bytes;
  http::BlockingClient client(http::parse_url(fmt::format("{}://{}", address.scheme, address.host)),
                              std::move(options));
  http::Request request;
  request.target = address.target;
  request.headers.set("User-Agent", "underway");
  if (!address.user.empty())
    request.headers.set("Authorization", "Basic " + base64_encode(http::percent_decode(address.user)));
  return client.send(std::move(request), left);
}

/// Where to look instead; nothing: `response` is the answer. Throws when it leads to where nothing is fetched from.
std::optional<Address> redirected(const Address& from, const http::Response& response) {
  if (response.status < 300 || response.status > 399 || response.status == 304) return std::nullopt;
  const auto location = response.headers.find("Location");
  if (!location) return std::nullopt;
  Address to = resolve(from, std::string(*location));
  refuse_other_schemes(to);
  if (from.scheme == "https" && to.scheme != "https")
    throw Error(Code::unsupported, fmt::format("'{}' cannot be fetched", from.text()))
        .because(fmt::format("it is redirected to '{}', where anybody on the way could change it", to.text()))
        .advise("name that URL, if it is to be trusted");
  const bool same = to.scheme == from.scheme && to.host == from.host;
  if (same) to.user = from.user;
  return to;
}

std::string fetch(Address address, const FetchLimits& limits) {
  const auto deadline = std::chrono::steady_clock::now() + limits.span;
  for (int hops = 0; hops <= limits.redirects; ++hops) {
    const Duration left = deadline - std::chrono::steady_clock::now();
    if (left <= Duration{0}) break;
    const auto response = ask_address(address, limits, left);
    if (response.status == 200) return response.body;
    const auto next = redirected(address, response);
    if (!next)
      throw Error(http::code_of_status(response.status), fmt::format("'{}' cannot be fetched", address.text()))
          .because(fmt::format("the server answered {}", response.status));
    address = *next;
  }
  throw Error(Code::unavailable, fmt::format("'{}' cannot be fetched", address.text()))
      .because(fmt::format("it was redirected more than {} times, or for longer than {}", limits.redirects,
                           human_duration(limits.span)));
}

}  // namespace

bool is_url(std::string_view path) {
  const auto end = path.find("://");
  if (end == 0 || end == std::string_view::npos) return false;
  return std::all_of(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(end), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '-' ||
           c == '.' || c == ':';  // "git::https://…" is one of go-getter's
  });
}

std::string fetch_text(const std::string& url, const FetchLimits& limits) {
  refuse_odd_characters(url);
  const Address address = parse_address(url);
  refuse_other_schemes(address);
  refuse_options(address);
  try {
    return fetch(address, limits);
  } catch (Error& error) {
    error.while_doing(fmt::format("fetching '{}'", address.text()));
    throw;
  }
}

std::string read_job_file(const std::string& path) { return is_url(path) ? fetch_text(path) : read_input(path); }

}  // namespace underway::cli
