#include "migrate/file_text.hpp"

#include <fmt/format.h>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <map>

namespace underway::migrate {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
constexpr std::size_t kLongestName = 200;  // NAME_MAX is 255; endings are added

bool is_name(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kLetters) == std::string_view::npos && text[0] != '-' &&
         (text[0] < '0' || text[0] > '9');
}

std::string hcl_value(const boost::json::value& value) {
  if (value.is_string()) return hcl_string(std::string_view(value.get_string()));
  if (const auto* list = value.if_array()) {
    std::string out = "[";
    for (const auto& element : *list) out += (out.size() > 1 ? ", " : "") + hcl_value(element);
    return out + "]";
  }
  if (const auto* object = value.if_object()) {
    std::string out = "{";
    for (const auto& [key, member] : *object)
      out += (out.size() > 1 ? ", " : "") + hcl_string(std::string_view(key)) + " = " + hcl_value(member);
    return out + "}";
  }
  return boost::json::serialize(value);
}

}  // namespace

std::string file_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool stays = kLetters.find(c) != std::string_view::npos || (c == '.' && !out.empty());
    if (stays)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  if (out.empty()) return "%";
  // Two long names that differ at the end must not meet: the cut one tells its length.
  if (out.size() > kLongestName)
    out = fmt::format("{}%{}-{:x}", out.substr(0, kLongestName - 24), name.size(), std::hash<std::string_view>{}(name));
  return out;
}

std::string shell_word(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string hcl_string(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c == '$' || c == '%') && text.substr(i + 1).starts_with('{'))
      out += std::string(2, c);
    else if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "\"";
}

std::string hcl_members(const boost::json::object& object, std::size_t depth) {
  const std::string blanks(depth, ' ');
  std::map<std::string, const boost::json::value*> members;
  for (const auto& [key, value] : object) members.emplace(std::string(key), &value);
  std::string out;
  for (const auto& [key, value] : members) {
    const auto* inner = value->if_object();
    const bool is_block =
        inner != nullptr && std::all_of(inner->begin(), inner->end(), [](const auto& m) { return is_name(m.key()); });
    out += blanks + (is_name(key) ? key : hcl_string(key));
    out += is_block ? " {\n" + hcl_members(*inner, depth + 2) + blanks + "}\n" : " = " + hcl_value(*value) + "\n";
  }
  return out;
}

}  // namespace underway::migrate
