#pragma once
/// @file
/// Reading the `config` of a container key by key; see config.hpp.

#include <algorithm>
#include <boost/json/value.hpp>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "driver/scalar.hpp"
#include "pod/config.hpp"

namespace underway::pod::detail {

namespace json = boost::json;
using driver::as_number;
using driver::as_text;
using driver::is_open;
using Texts = std::vector<std::string>;
using Map = std::map<std::string, std::string>;

/// Blocks come as objects, or as lists of one or more.
inline std::optional<json::object> as_object(const json::value& value) {
  if (value.is_object()) return value.get_object();
  if (!value.is_array()) return std::nullopt;
  json::object all;
  for (const auto& each : value.get_array()) {
    if (!each.is_object()) return std::nullopt;
    for (const auto& member : each.get_object()) all.insert_or_assign(member.key(), member.value());
  }
  return all;
}

inline bool is_open(std::string_view text) { return text.find("${") != std::string_view::npos; }

inline bool is_clean_absolute(std::string_view path) {
  if (path.empty() || path.front() != '/') return false;
  if (path.find_first_of(std::string_view("\0\n", 2)) != std::string_view::npos) return false;
  const auto parts = split(path.substr(1), '/');
  return std::none_of(parts.begin(), parts.end(), [](const auto& part) { return part == ".."; });
}

inline bool escapes(std::string_view path) {
  const auto parts = split(path, '/');
  return std::find(parts.begin(), parts.end(), "..") != parts.end();
}

/// Reads the keys one by one and says what is wrong with each.
class Reader {
 public:
  Reader(const Policy& policy, Config& config, Texts& problems)
      : policy_(policy), config_(config), problems_(problems) {
    if (!policy_.host_users) config_.user_namespace.mode = UserNamespace::Mode::automatic;
  }

  void read(const json::object& object);

 private:
  using Read = std::function<void(const std::string& key, const json::value& value)>;

  void say(const std::string& key, const std::string& what) {
    problems_.push_back(fmt::format("config.{}: {}", key, what));
  }

  Read text(std::string& out) {
    return [this, &out](const std::string& key, const json::value& value) {
      if (auto text = as_text(value))
        out = *std::move(text);
      else
        say(key, "must be a string");
    };
  }
  Read texts(Texts& out) {
    return [this, &out](const std::string& key, const json::value& value) { read_texts(key, value, out); };
  }
  Read flag(bool& out) {
    return [this, &out](const std::string& key, const json::value& value) {
      if (value.is_bool())
        out = value.get_bool();
      else if (value == "true" || value == "false")
        out = value == "true";
      else if (!is_open(value))
        say(key, "must be true or false");
    };
  }
  Read map(Map& out) {
    return [this, &out](const std::string& key, const json::value& value) { out = read_map(key, value); };
  }
  void read_texts(const std::string& key, const json::value& value, Texts& out) {
    const auto* list = value.if_array();
    if (list == nullptr) return say(key, "must be a list of strings");
    for (const auto& each : *list) {
      if (auto text = as_text(each))
        out.push_back(*std::move(text));
      else
        return say(key, "must be a list of strings");
    }
  }
  Map read_map(const std::string& key, const json::value& value) {
    Map out;
    const auto object = as_object(value);
    if (!object) {
      say(key, "must be a block, or an object, of strings");
      return out;
    }
    for (const auto& member : *object) {
      if (auto text = as_text(member.value()))
        out[std::string(member.key())] = *std::move(text);
      else
        say(fmt::format("{}.{}", key, std::string_view(member.key())), "must be a string");
    }
    return out;
  }
  std::optional<std::int64_t> number(const std::string& key, const json::value& value, std::int64_t low,
                                     std::int64_t high) {
    if (is_open(value)) return std::nullopt;
    const auto number = as_number(value);
    if (number && *number >= low && *number <= high) return number;
    say(key, high == std::numeric_limits<std::int64_t>::max()
                 ? fmt::format("must be a whole number, at least {}", low)
                 : fmt::format("must be a whole number, {} to {}", low, high));
    return std::nullopt;
  }
  std::optional<std::uint64_t> size(const std::string& key, const json::value& value) {
    const auto text = as_text(value);
    if (is_open(value)) return std::nullopt;
    const auto bytes = text ? parse_size(*text) : std::nullopt;
    if (!bytes) say(key, "must be a size: a number with b, k, m or g behind it");
    return bytes;
  }

  std::map<std::string, Read> readers();
  void read_auth(const std::string& key, const json::value& value);
  void read_entrypoint(const std::string& key, const json::value& value);
  void read_logging(const std::string& key, const json::value& value);
  void read_mounts(const std::string& key, const json::value& value);
  void read_namespace(const std::string& key, const json::value& value, bool& own);
  void read_network(const std::string& key, const json::value& value);
  void read_security(const std::string& key, const json::value& value);
  void read_tmpfs(const std::string& key, const json::value& value);
  void read_ulimit(const std::string& key, const json::value& value);
  void read_userns(const std::string& key, const json::value& value);
  void read_userns_option(const std::string& key, const std::string& option);
  void read_volumes(const std::string& key, const json::value& value);
  void read_devices(const std::string& key, const json::value& value);
  void add_volume(const std::string& key, Volume volume);
  void check();
  void check_capabilities(const std::string& key, const Texts& names, bool added);

  const Policy& policy_;
  Config& config_;
  Texts& problems_;
};

}  // namespace underway::pod::detail
