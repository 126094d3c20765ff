#include "oci/registry/reference.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "oci/document.hpp"

namespace underway::oci {
namespace {

constexpr std::size_t kLongestReference = 4096;
constexpr std::size_t kLongestName = 255;
constexpr std::size_t kLongestTag = 128;
constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::string_view kWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

bool among(char c, std::string_view characters) { return characters.find(c) != std::string_view::npos; }

/// Knows the whole text, so that errors can say where.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Reference parse() const {
    if (text_.empty()) throw wrong(text_, "it is empty");
    if (text_.size() > kLongestReference)
      throw Error(Code::invalid, "the name of an image is too long").because(fmt::format("{} bytes", text_.size()));
    for (std::size_t i = 0; i < text_.size(); ++i)
      if (static_cast<unsigned char>(text_[i]) <= ' ' || text_[i] == 0x7f)
        throw wrong(text_.substr(i), "a blank or control character");
    static constexpr std::pair<std::string_view, Transport> kPrefixes[] = {
        {"oci:", Transport::layout},
        {"oci-archive:", Transport::oci_archive},
        {"docker-archive:", Transport::docker_archive}};
    for (const auto& [prefix, transport] : kPrefixes)
      if (text_.starts_with(prefix) && text_.substr(prefix.size()).starts_with('/'))
        return parse_local(transport, text_.substr(prefix.size()));
    for (const auto& [prefix, transport] : kPrefixes)
      if (text_.starts_with(prefix) && transport != Transport::layout)
        throw wrong(text_.substr(prefix.size()), "the path must begin with '/'");
    std::string_view rest = text_;
    if (rest.starts_with("docker://")) rest.remove_prefix(9);
    if (const auto scheme = rest.find("://"); scheme != std::string_view::npos)
      throw wrong(rest, "images have docker://, oci:, oci-archive: or docker-archive: in front, or nothing");
    return parse_registry(rest);
  }

 private:
  Error wrong(std::string_view at, const std::string& why) const {
    const auto column = static_cast<std::size_t>(at.data() - text_.data()) + 1;
    return Error(Code::invalid, fmt::format("'{}' names no image", text_))
        .because(fmt::format("column {}: {}", column, why));
  }

  Reference parse_local(Transport transport, std::string_view rest) const {
    Reference out{.transport = transport};
    const auto colon = rest.find(':');
    out.path = rest.substr(0, colon);
    for (const auto& part : split(out.path, '/'))
      if (part == "..") throw wrong(rest, "the path has '..'");
    if (colon == std::string_view::npos) return out;
    const auto tag = rest.substr(colon + 1);
    if (transport == Transport::docker_archive) {
      // Names in there are whole references: "busybox:1".
      const Reference inner = parse_registry(tag);
      out.tag = fmt::format("{}/{}:{}", inner.registry, inner.repository, inner.tag);
      return out;
    }
    check_tag(tag);
    out.tag = tag;
    return out;
  }

  Reference parse_registry(std::string_view rest) const {
    Reference out;
    if (const auto at = rest.find('@'); at != std::string_view::npos) {
      const auto digest = rest.substr(at + 1);
      if (!is_digest(digest)) throw wrong(digest, "a digest is sha256: and 64 hexadecimal digits in lower case");
      out.digest = digest;
      rest = rest.substr(0, at);
    }
    const auto slash = rest.find('/');
    const auto first = rest.substr(0, slash);
    // As Docker does: a first part is a host when it could be no part of a name, or is localhost.
    const bool host = slash != std::string_view::npos &&
                      (first.find_first_of(".:[") != std::string_view::npos || first == "localhost" ||
                       std::ranges::any_of(first, [](char c) { return c >= 'A' && c <= 'Z'; }));
    if (host) {
      check_host(first);
      out.registry = first;
      rest = rest.substr(slash + 1);
    }
    if (const auto colon = rest.find(':'); colon != std::string_view::npos) {
      check_tag(rest.substr(colon + 1));
      out.tag = rest.substr(colon + 1);
      rest = rest.substr(0, colon);
    }
    check_repository(rest);
    out.repository = rest;
    if (out.registry.empty() || out.registry == "index.docker.io" || out.registry == "registry-1.docker.io")
      out.registry = "docker.io";
    if (out.registry == "docker.io" && out.repository.find('/') == std::string::npos)
      out.repository = "library/" + out.repository;
    if (out.registry.size() + 1 + out.repository.size() > kLongestName)
      throw wrong(rest, fmt::format("the name is longer than {} bytes", kLongestName));
    if (out.tag.empty() && out.digest.empty()) out.tag = "latest";
    return out;
  }

  void check_host(std::string_view host) const {
    std::string_view rest = host;
    if (rest.starts_with('[')) {
      const auto end = rest.find(']');
      if (end == std::string_view::npos || end == 1) throw wrong(rest, "'[' without an address and ']'");
      for (std::size_t i = 1; i < end; ++i)
        if (!among(rest[i], "0123456789abcdefABCDEF:.")) throw wrong(rest.substr(i), "no part of an IPv6 address");
      rest.remove_prefix(end + 1);
    } else {
      const auto name = rest.substr(0, rest.find(':'));
      for (std::size_t i = 0; i < name.size(); ++i)
        if (!among(name[i], kWord) && !among(name[i], "-.")) throw wrong(name.substr(i), "no part of a host's name");
      if (name.empty() || among(name.front(), "-.") || among(name.back(), "-."))
        throw wrong(name, "a host's name begins and ends with a letter or digit");
      rest.remove_prefix(name.size());
    }
    if (rest.empty()) return;
    const auto port = rest.substr(1);
    if (!rest.starts_with(':') || port.size() > 5 || !parse_number<std::uint16_t>(port))
      throw wrong(rest, "a port is a number up to 65535");
  }

  /// Parts of lower-case letters and digits, with '.', '_', "__" or '-'s between.
  void check_repository(std::string_view name) const {
    if (name.empty()) throw wrong(name, "the name is missing");
    for (std::size_t i = 0; i < name.size(); ++i) {
      if (among(name[i], kLower)) continue;
      if (name[i] >= 'A' && name[i] <= 'Z') throw wrong(name.substr(i), "names have no capital letters");
      if (!among(name[i], "._-/")) throw wrong(name.substr(i), fmt::format("'{}' in a name", name[i]));
      if (i == 0 || i + 1 == name.size() || name[i - 1] == '/')
        throw wrong(name.substr(i), "a part of a name begins and ends with a letter or digit");
      const bool joined = name[i] == '-' ? among(name[i - 1], kLower) || name[i - 1] == '-'
                                         : among(name[i - 1], kLower) ||
                                               (name[i] == '_' && name[i - 1] == '_' && i > 1 && name[i - 2] != '_');
      if (!joined) throw wrong(name.substr(i), "a part of a name begins and ends with a letter or digit");
    }
  }

  void check_tag(std::string_view tag) const {
    if (tag.empty()) throw wrong(tag, "the tag is missing");
    if (tag.size() > kLongestTag) throw wrong(tag, fmt::format("the tag is longer than {} bytes", kLongestTag));
    for (std::size_t i = 0; i < tag.size(); ++i)
      if (!among(tag[i], kWord) && (i == 0 || !among(tag[i], ".-")))
        throw wrong(tag.substr(i), fmt::format("'{}' in a tag", tag[i]));
  }

  std::string_view text_;
};

}  // namespace

std::string Reference::text() const {
  const std::string end = tag.empty() ? "" : ":" + tag;
  switch (transport) {
    case Transport::layout:
      return "oci:" + path + end;
    case Transport::oci_archive:
      return "oci-archive:" + path + end;
    case Transport::docker_archive:
      return "docker-archive:" + path + end;
    case Transport::registry:
      break;
  }
  return registry + "/" + repository + end + (digest.empty() ? "" : "@" + digest);
}

Reference parse_reference(std::string_view text) { return Parser(text).parse(); }

}  // namespace underway::oci
