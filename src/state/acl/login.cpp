#include "acl/login.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "filter/filter.hpp"

namespace underway::acl {
namespace {

constexpr std::size_t kLongestClaim = 4096;
constexpr std::size_t kMostOfAList = 1024;

/// RFC 6901.
const boost::json::value* find_pointer(const boost::json::object& claims, std::string_view pointer) {
  const boost::json::value* at = nullptr;
  const boost::json::object* object = &claims;
  for (std::string_view rest = pointer.substr(1); object != nullptr;) {
    const auto slash = rest.find('/');
    std::string name(rest.substr(0, slash));
    for (const auto& [escape, plain] : {std::pair("~1", '/'), std::pair("~0", '~')}) {
      for (auto found = name.find(escape); found != std::string::npos; found = name.find(escape, found + 1))
        name.replace(found, 2, 1, plain);
    }
    at = object->if_contains(name);
    if (at == nullptr || slash == std::string_view::npos) return at;
    object = at->if_object();
    rest.remove_prefix(slash + 1);
  }
  return nullptr;
}

const boost::json::value* find_claim(const boost::json::object& claims, const std::string& name) {
  return name.starts_with('/') ? find_pointer(claims, name) : claims.if_contains(name);
}

/// Nothing for null, lists and objects.
std::optional<std::string> text_of(const boost::json::value& value) {
  if (value.is_string()) return std::string(std::string_view(value.get_string()));
  if (value.is_bool()) return value.get_bool() ? "true" : "false";
  if (value.is_int64()) return std::to_string(value.get_int64());
  if (value.is_uint64()) return std::to_string(value.get_uint64());
  if (value.is_double()) return fmt::format("{}", value.get_double());
  return std::nullopt;
}

Error refused(const std::string& claim, std::string why) {
  return Error(Code::denied, fmt::format("the claim '{}' of the token cannot be used", claim)).because(std::move(why));
}

std::string checked(const std::string& claim, const boost::json::value& value) {
  auto text = text_of(value);
  if (!text) throw refused(claim, "it is neither text nor a number nor true or false");
  if (text->size() > kLongestClaim) throw refused(claim, "it is longer than 4 KiB");
  return std::move(*text);
}

std::vector<std::string> list_of(const std::string& claim, const boost::json::value& value) {
  std::vector<std::string> out;
  const auto* list = value.if_array();
  if (list == nullptr) return {checked(claim, value)};
  if (list->size() > kMostOfAList) throw refused(claim, fmt::format("it has more than {} entries", kMostOfAList));
  for (const auto& element : *list) out.push_back(checked(claim, element));
  return out;
}

Error no_template(const std::string& text, std::string why) {
  return Error(Code::invalid, fmt::format("'{}' cannot be filled in", text)).because(std::move(why));
}

/// Calls `name` for what stands in ${…}, and puts what it returns there.
std::string replace(const std::string& text, const std::function<std::string(const std::string&)>& name) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text.compare(at, 3, "$${") == 0) {
      out += "${";
      at += 3;
    } else if (text.compare(at, 2, "${") == 0) {
      const auto end = text.find('}', at);
      if (end == std::string::npos) throw no_template(text, "a '${' is not closed");
      out += name(std::string(trim(std::string_view(text).substr(at + 2, end - at - 2))));
      at = end + 1;
    } else {
      out += text[at++];
    }
  }
  return out;
}

template <class List, class Same>
void add_once(List& list, typename List::value_type value, Same same) {
  if (std::none_of(list.begin(), list.end(), [&](const auto& other) { return same(other, value); }))
    list.push_back(std::move(value));
}

tables::Row<model::AclRole> role_named(const tables::Tables& tables, const std::string& name) {
  for (const auto& role : tables.rows<model::AclRole>()) {
    if (role->name == name) return role;
  }
  return nullptr;
}

void apply(const tables::Tables& tables, const model::BindingRule& rule, const Claims& claims, Bindings& bindings) {
  if (rule.bind_type == model::BindType::management) {
    bindings.management = true;
    return;
  }
  const std::string name = interpolate(rule.bind_name, claims);
  if (rule.bind_type == model::BindType::policy) {
    if (tables.find<model::AclPolicy>(name)) add_once(bindings.policies, name, std::equal_to<>());
  } else if (const auto role = role_named(tables, name)) {
    add_once(bindings.roles, {role->id, role->name}, [](const auto& a, const auto& b) { return a.id == b.id; });
  }
}

}  // namespace

Claims map_claims(const model::AuthMethodConfig& config, const boost::json::object& claims) {
  Claims out;
  for (const auto& [claim, name] : config.claim_mappings) {
    const auto* value = find_claim(claims, claim);
    if (value != nullptr && !value->is_null()) out.values[name] = checked(claim, *value);
  }
  for (const auto& [claim, name] : config.list_claim_mappings) {
    const auto* value = find_claim(claims, claim);
    if (value != nullptr && !value->is_null()) out.lists[name] = list_of(claim, *value);
  }
  return out;
}

bool selects(const std::string& expression, const Claims& claims) {
  return filter::Expression(expression).matches(claims);
}

const describe::Structure& description(describe::Tag<Claims>) {
  static const describe::Structure s =
      describe::Builder<Claims>("claims", "What is mapped of a token.")
          .wire<&Claims::values>("value", "By name, what ClaimMappings take of the token: `value.NAME` of selectors.")
          .wire<&Claims::lists>("list", "By name, what ListClaimMappings take of the token: `list.NAME` of selectors.")
          .done();
  return s;
}

std::string interpolate(const std::string& text, const Claims& claims, const std::map<std::string, std::string>& more) {
  return replace(text, [&](const std::string& name) {
    if (const auto it = more.find(name); it != more.end()) return it->second;
    const auto it = name.starts_with("value.") ? claims.values.find(name.substr(6)) : claims.values.end();
    if (it == claims.values.end()) throw no_template(text, fmt::format("there is no '{}'", name));
    return it->second;
  });
}

void check_template(const std::string& text, const std::vector<std::string>& more) {
  replace(text, [&](const std::string& name) {
    const bool known =
        (name.starts_with("value.") && name.size() > 6) || std::find(more.begin(), more.end(), name) != more.end();
    if (!known) throw no_template(text, fmt::format("there is no '{}'; ${{value.NAME}} is a mapped claim", name));
    return std::string();
  });
}

Bindings bind(const tables::Tables& tables, const std::string& auth_method, const Claims& claims) {
  Bindings out;
  for (const auto& rule : tables::records<model::BindingRule>(tables)) {
    if (rule.auth_method != auth_method) continue;
    try {
      if (rule.selector.empty() || selects(rule.selector, claims)) apply(tables, rule, claims, out);
    } catch (const Error&) {
      continue;  // it cannot be made of these claims: it grants nothing
    }
  }
  return out;
}

}  // namespace underway::acl
