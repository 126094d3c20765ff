#pragma once
/// @file
/// Reading a driver's `config`: every problem at once, each naming its key.

#include <boost/json/value.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace underway::driver::settings {

enum class Kind { text, texts, number, flag, map };
struct Key {
  std::string name;
  Kind kind = Kind::text;
  bool required = false;
};

/// What of `config` does not fit `keys`. An unknown key comes with the nearest known one.
std::vector<std::string> problems(const boost::json::value& config, const std::vector<Key>& keys);
/// Throws invalid with all of `found`.
void require_none(const std::vector<std::string>& found);

/// Values of a config without problems; empty when the key is absent or null.
std::string text(const boost::json::value& config, std::string_view key);
std::vector<std::string> texts(const boost::json::value& config, std::string_view key);
/// Of a block, or of a list of blocks.
std::map<std::string, std::string> map(const boost::json::value& config, std::string_view key);
bool flag(const boost::json::value& config, std::string_view key, bool otherwise = false);
std::optional<std::int64_t> number(const boost::json::value& config, std::string_view key);

}  // namespace underway::driver::settings
