#include "driver/settings.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "driver/scalar.hpp"

namespace underway::driver::settings {
namespace {

/// Nothing when it is neither a block nor a list of blocks of single values.
std::optional<std::map<std::string, std::string>> as_map(const boost::json::value& value) {
  std::map<std::string, std::string> out;
  const auto take = [&](const boost::json::value& block) {
    if (!block.is_object()) return false;
    for (const auto& member : block.get_object()) {
      auto text = as_text(member.value());
      if (!text) return false;
      out[std::string(member.key())] = *std::move(text);
    }
    return true;
  };
  if (!value.is_array()) return take(value) ? std::optional(out) : std::nullopt;
  for (const auto& block : value.get_array()) {
    if (!take(block)) return std::nullopt;
  }
  return out;
}

bool fits(const boost::json::value& value, Kind kind) {
  switch (kind) {
    case Kind::text:
      return as_text(value).has_value();
    case Kind::number:
      // A variable that is not replaced yet is a number to be.
      return as_number(value) || is_open(value);
    case Kind::flag:
      return as_flag(value) || is_open(value);
    case Kind::map:
      return as_map(value).has_value();
    case Kind::texts:
      return value.is_array() && std::all_of(value.as_array().begin(), value.as_array().end(),
                                             [](const boost::json::value& item) { return as_text(item).has_value(); });
  }
  return false;
}

std::string_view wanted(Kind kind) {
  switch (kind) {
    case Kind::text:
      return "a string";
    case Kind::texts:
      return "a list of strings";
    case Kind::flag:
      return "true or false";
    case Kind::map:
      return "a block of strings";
    case Kind::number:
      return "a whole number";
  }
  return "";
}

const boost::json::value* find(const boost::json::value& config, std::string_view key) {
  const auto* object = config.if_object();
  const auto* value = object != nullptr ? object->if_contains(key) : nullptr;
  return value != nullptr && !value->is_null() ? value : nullptr;
}

}  // namespace

std::vector<std::string> problems(const boost::json::value& config, const std::vector<Key>& keys) {
  std::vector<std::string> found;
  if (!config.is_object() && !config.is_null()) return {"config: must be an object"};
  std::vector<std::string> names;
  for (const auto& key : keys) {
    names.push_back(key.name);
    const auto* value = find(config, key.name);
    if (value == nullptr) {
      if (key.required) found.push_back(fmt::format("config.{}: is required", key.name));
    } else if (!fits(*value, key.kind)) {
      found.push_back(fmt::format("config.{}: must be {}", key.name, wanted(key.kind)));
    } else if (key.required && key.kind == Kind::text && as_text(*value)->empty()) {
      found.push_back(fmt::format("config.{}: is empty", key.name));
    }
  }
  if (!config.is_object()) return found;
  for (const auto& member : config.as_object()) {
    const std::string name(member.key());
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const auto near = nearest(name, names);
    found.push_back(fmt::format("config.{}: is not known{}", name,
                                near.empty() ? std::string() : fmt::format("; did you mean '{}'?", near)));
  }
  return found;
}

void require_none(const std::vector<std::string>& found) {
  if (found.empty()) return;
  throw Error(Code::invalid, "the task's config is wrong").because(found);
}

std::string text(const boost::json::value& config, std::string_view key) {
  const auto* value = find(config, key);
  return value != nullptr ? as_text(*value).value_or("") : std::string();
}

std::vector<std::string> texts(const boost::json::value& config, std::string_view key) {
  std::vector<std::string> list;
  const auto* value = find(config, key);
  if (value == nullptr || !value->is_array()) return list;
  for (const auto& item : value->as_array()) list.push_back(as_text(item).value_or(""));
  return list;
}

std::map<std::string, std::string> map(const boost::json::value& config, std::string_view key) {
  const auto* value = find(config, key);
  return value != nullptr ? as_map(*value).value_or(std::map<std::string, std::string>())
                          : std::map<std::string, std::string>();
}

bool flag(const boost::json::value& config, std::string_view key, bool otherwise) {
  const auto* value = find(config, key);
  return value != nullptr ? as_flag(*value).value_or(otherwise) : otherwise;
}

std::optional<std::int64_t> number(const boost::json::value& config, std::string_view key) {
  const auto* value = find(config, key);
  return value != nullptr ? as_number(*value) : std::nullopt;
}

}  // namespace underway::driver::settings
