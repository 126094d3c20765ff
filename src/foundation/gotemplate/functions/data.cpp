// What job templates ask the node: the environment, files, variables and services.
#include "base/error.hpp"
#include "base/text.hpp"
#include "gotemplate/format.hpp"
#include "gotemplate/functions/library.hpp"
#include "gotemplate/objects.hpp"

#include <algorithm>

namespace underway::gotemplate {

namespace {

/// "path", "path@namespace" or "path@namespace.region".
struct Place {
  std::string path;
  std::string namespace_name;
  std::string region;

  std::string text() const { return namespace_name.empty() ? path : path + "@" + namespace_name; }
  /// As consul-template tells what is missing.
  std::string full() const {
    return fmt::format("{}@{}.{}", path, namespace_name.empty() ? "default" : namespace_name,
                       region.empty() ? "global" : region);
  }
};

Error invalid_place(std::string_view text, std::string_view kind) {
  return Error(Code::invalid, fmt::format("{}: invalid format: {}", kind, quote(text)))
      .advise("write it as path or path@namespace");
}

Place read_place(std::string_view text, std::string_view kind) {
  text = trim_set(trim_space(text), "/");
  Place place;
  const std::size_t at = text.find('@');
  place.path = text.substr(0, at);
  if (at != std::string_view::npos) {
    const std::string_view rest = text.substr(at + 1);
    const std::size_t dot = rest.find('.');
    place.namespace_name = rest.substr(0, dot);
    if (dot != std::string_view::npos) place.region = rest.substr(dot + 1);
    if (place.namespace_name.empty() || rest.find('@') != std::string_view::npos) throw invalid_place(text, kind);
  }
  return place;
}

using Found = DataSource::Answer<std::optional<Variable>>;

Found ask_variable(const Place& place, Run& run) {
  if (place.path.empty()) throw invalid_place(place.text(), "nomad.var.get");
  run.dependencies().variables.insert(place.text());
  return run.source().variable(place.path, place.namespace_name);
}

Value nomad_var(const Call& call) {
  if (call.text(0).empty()) return {};
  const Place place = read_place(call.text(0), "nomad.var.get");
  Found found = ask_variable(place, call.run);
  if (found && *found) return variable_items(std::move(**found));
  call.run.missing(fmt::format("nomad.var.block({})", place.full()));
  return {};
}

Value nomad_var_exists(const Call& call) {
  if (call.text(0).empty()) return false;
  const Place place = read_place(call.text(0), "nomad.var.get");
  const Found found = ask_variable(place, call.run);
  if (!found) call.run.missing(fmt::format("nomad.var.get({})", place.full()));
  return found && *found;
}

Value nomad_var_list(const Call& call, bool empty_is_missing) {
  if (call.size() > 1) throw Error(Code::invalid, "nomadVarList takes either a single \"prefix\" parameter or none");
  const Place place = read_place(call.size() == 1 ? call.text(0) : std::string_view(), "nomad.var.list");
  call.run.dependencies().variable_prefixes.insert(place.text());
  auto found = call.run.source().variables(place.path, place.namespace_name);
  if (!found || (empty_is_missing && found->empty())) call.run.missing(fmt::format("nomad.var.list({})", place.full()));
  List out;
  if (!found) return Value::list({});
  call.run.make_elements(found->size() * 8);
  for (auto& entry : *found) out.push_back(metadata_value(std::move(entry)));
  return Value::list(std::move(out));
}

/// `count` instances that the key decides: the same for the same key, and nearly the same when others come and go
/// (rendezvous hashing, Thaler and Ravishankar 1998).
std::vector<ServiceInstance> choose(std::vector<ServiceInstance> all, std::int64_t count, std::string_view key) {
  const auto rank = [&](const ServiceInstance& instance) { return digest("sha256", std::string(key) + instance.id); };
  std::vector<std::pair<std::string, std::size_t>> order;
  for (std::size_t i = 0; i < all.size(); ++i) order.emplace_back(rank(all[i]), i);
  std::ranges::sort(order);
  std::vector<ServiceInstance> chosen;
  for (std::size_t i = 0; i < order.size() && std::cmp_less(i, count); ++i)
    chosen.push_back(std::move(all[order[i].second]));
  return chosen;
}

Value nomad_service(const Call& call) {
  const auto wrong = [](std::string_view what) { return Error(Code::invalid, std::string(what)); };
  if (call.size() != 1 && call.size() != 3) throw wrong("expected arguments <service> or <count> <key> <service>");
  const Value& last = call[call.size() - 1];
  if (!last.is_text()) throw wrong("expected string for <service> argument");
  if (call.size() == 3 && call[0].kind() != Kind::integer) throw wrong("expected integer for <count> argument");
  if (call.size() == 3 && !call[1].is_text()) throw wrong("expected string for <key> argument");

  std::string_view spelled = last.as_text();
  std::string_view name = spelled.substr(0, spelled.find('@'));
  std::string_view tag;
  if (const std::size_t dot = name.rfind('.'); dot != std::string_view::npos) {
    tag = name.substr(0, dot);
    name = name.substr(dot + 1);
  }
  if (name.empty()) throw wrong(fmt::format("nomad.service: invalid format: {}", quote(spelled)));
  call.run.dependencies().services.emplace(name);
  auto found = call.run.source().service(std::string(name));
  if (!found) {
    call.run.missing(fmt::format("nomad.service({})", spelled));
    return Value::list({});
  }
  if (!tag.empty())
    std::erase_if(*found,
                  [&](const auto& instance) { return std::ranges::find(instance.tags, tag) == instance.tags.end(); });
  if (call.size() == 3) found = choose(std::move(*found), call.integer(0), call.text(1));
  call.run.make_elements(found->size() * 16);
  List out;
  for (auto& instance : *found) out.push_back(service_value(std::move(instance)));
  return Value::list(std::move(out));
}

Value nomad_services(const Call& call) {
  call.run.dependencies().services_list = true;
  auto found = call.run.source().services();
  List out;
  if (!found) {
    call.run.missing("nomad.services");
    return Value::list({});
  }
  call.run.make_elements(found->size() * 8);
  for (auto& summary : *found) out.push_back(summary_value(std::move(summary)));
  return Value::list(std::move(out));
}

/// A map from each tag to the services that have it.
Value by_tag(const Call& call) {
  std::map<std::string, List> groups;
  for (const Value& service : call.list(0)) {
    const auto tags = service.kind() == Kind::object ? service.as_object().member("Tags", {}) : std::nullopt;
    if (!tags || tags->kind() != Kind::list)
      throw Error(Code::invalid, fmt::format("byTag: wrong argument type {}", service.type_name()));
    for (const Value& tag : tags->as_list()) {
      call.run.make_elements(1);
      groups[as_text(tag, call.run)].push_back(service);
    }
  }
  Map map;
  for (auto& [tag, services] : groups) map.emplace(tag, Value::list(std::move(services)));
  return call.run.map(std::move(map));
}

Value must_env(const Call& call) {
  auto value = call.run.source().env(call.string(0));
  if (!value || value->empty())
    throw Error(Code::invalid, fmt::format("required environment variable {} is empty", call.text(0)));
  return std::move(*value);
}

Value file(const Call& call) {
  call.run.dependencies().files.insert(call.string(0));
  std::string text = call.run.source().read_file(call.string(0));
  call.run.make(text.size());
  return text;
}

}  // namespace

std::vector<Function> data_functions() {
  constexpr Origin kConsul = Origin::consul;
  return {
      {"env", "name string", "The variable of the task's environment, or \"\".", kConsul,
       [](const Call& c) -> Value { return c.run.source().env(c.string(0)).value_or(""); }},
      {"mustEnv", "name string", "The variable of the task's environment; none or an empty one is an error.", kConsul,
       must_env},
      {"envOrDefault", "name string, fallback string", "The variable of the task's environment, or the fallback.",
       kConsul, [](const Call& c) -> Value { return c.run.source().env(c.string(0)).value_or(c.string(1)); }},
      {"file", "path string", "The text of a file inside the allocation.", kConsul, file},
      {"nomadVar", "path string",
       "The items of a variable: `.key`, or range over them. The rendering waits until the variable is there.", kConsul,
       nomad_var},
      {"nomadVarExists", "path string", "Whether there is a variable at the path.", kConsul, nomad_var_exists},
      {"nomadVarList", "prefix ...string", "The variables below a prefix: `.Path`, `.Namespace`, …", kConsul,
       [](const Call& c) { return nomad_var_list(c, false); }},
      {"nomadVarListSafe", "prefix ...string", "nomadVarList that waits until there is one.", kConsul,
       [](const Call& c) { return nomad_var_list(c, true); }},
      {"nomadService", "name ...any",
       "The instances of a service: `.Address`, `.Port`, … With a count and a key before its name: so many of them, "
       "which the key decides.",
       kConsul, nomad_service},
      {"nomadServices", "region ...string", "All services: `.Name`, `.Tags`.", kConsul, nomad_services},
      {"byTag", "services list", "A map from each tag to the services that have it.", kConsul, by_tag},
  };
}

}  // namespace underway::gotemplate
