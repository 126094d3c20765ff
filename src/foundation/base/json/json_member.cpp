#include "base/json/json_member.hpp"

namespace underway::json {
namespace {

constexpr std::string_view kLongS = "\xc5\xbf", kKelvin = "\xe2\x84\xaa";

char lower_ascii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Takes the first letter of `text`, which is not empty, as it folds.
char take_folded(std::string_view& text) {
  for (const auto& [letter, folded] : {std::pair{kLongS, 's'}, std::pair{kKelvin, 'k'}}) {
    if (!text.starts_with(letter)) continue;
    text.remove_prefix(letter.size());
    return folded;
  }
  const char first = lower_ascii(text.front());
  text.remove_prefix(1);
  return first;
}

}  // namespace

bool names_field(std::string_view key, std::string_view name) {
  for (const char letter : name) {
    if (key.empty() || take_folded(key) != lower_ascii(letter)) return false;
  }
  return key.empty();
}

const boost::json::value* find_member(const boost::json::object& object, std::string_view name) {
  const boost::json::value* found = nullptr;
  for (const auto& [key, value] : object) {
    if (names_field({key.data(), key.size()}, name)) found = &value;
  }
  return found;
}

namespace {

std::string text_of(const boost::json::value* value) {
  return value != nullptr && value->is_string() ? std::string(std::string_view(value->get_string())) : std::string();
}

}  // namespace

std::string text_at(const boost::json::object& object, std::string_view name) {
  return text_of(object.if_contains(name));
}

std::string text_at(const boost::json::value& value, std::string_view name) {
  return value.is_object() ? text_at(value.get_object(), name) : std::string();
}

std::string text_member(const boost::json::object& object, std::string_view name) {
  return text_of(find_member(object, name));
}

bool flag_member(const boost::json::object& object, std::string_view name) {
  const auto* value = find_member(object, name);
  return value != nullptr && value->is_bool() && value->get_bool();
}

const boost::json::object& object_at(const boost::json::object& object, std::string_view name) {
  static const boost::json::object kNone;
  const auto* value = object.if_contains(name);
  return value != nullptr && value->is_object() ? value->get_object() : kNone;
}

}  // namespace underway::json
