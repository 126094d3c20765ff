// consul-template's functions for Consul and Vault: services, keys and secrets, wherever the source has them from.
#include "base/error.hpp"
#include "base/text.hpp"
#include "gotemplate/format.hpp"
#include "gotemplate/functions/library.hpp"
#include "gotemplate/objects.hpp"

#include <algorithm>

namespace underway::gotemplate {

namespace {

/// An answer that is not known yet is noted as missing. `text` is how the question is told.
ForeignReply ask(const ForeignQuery& query, const std::string& text, Run& run) {
  ForeignReply reply = run.source().foreign(query, run.dependencies());
  if (!reply.answer) run.missing(reply.why.empty() ? text : fmt::format("{}: {}", text, reply.why));
  return reply;
}
std::optional<ForeignAnswer> ask(const ForeignQuery& query, Run& run) {
  return ask(query, to_string(query), run).answer;
}

/// Cuts what follows `mark` from the end of `text`.
std::string cut(std::string& text, char mark) {
  const std::size_t at = text.rfind(mark);
  if (at == std::string::npos) return {};
  std::string rest = text.substr(at + 1);
  text.resize(at);
  return rest;
}

struct ServiceQuestion {
  ForeignQuery query;
  std::string tag;
  std::vector<std::string> statuses;  ///< none: any
};

/// "tag.name@datacenter~near|status,status", with the statuses as a second argument too.
ServiceQuestion read_service(const Call& call) {
  if (call.size() > 2) throw Error(Code::invalid, "service: expected 1 or 2 arguments");
  for (const Value& argument : call.arguments)
    if (!argument.is_text()) throw Error(Code::invalid, "service: expected string");
  std::string text = call.string(0);
  const std::string spelled = text;
  std::string statuses = cut(text, '|');
  if (call.size() == 2) statuses = call.string(1);
  ServiceQuestion out;
  out.query.near = cut(text, '~');
  out.query.datacenter = cut(text, '@');
  if (text.find('?') != std::string::npos)
    throw Error(Code::unsupported, fmt::format("service: {} names namespaces or peers", quote(spelled)))
        .advise("write it as tag.name@datacenter|status");
  const std::size_t dot = text.rfind('.');
  if (dot != std::string::npos) out.tag = text.substr(0, dot);
  out.query.name = dot == std::string::npos ? text : text.substr(dot + 1);
  if (out.query.name.empty())
    throw Error(Code::invalid, fmt::format("health.service: invalid format: {}", quote(spelled)));
  bool any = false;
  for (const auto& part : underway::split(statuses.empty() ? "passing" : statuses, ',')) {
    const std::string status(trim(part));
    if (status == "any")
      any = true;
    else if (status == "passing" || status == "warning" || status == "critical" || status == "maintenance")
      out.statuses.push_back(status);
    else if (status == "unhealthy")
      for (const char* bad : {"warning", "critical"}) out.statuses.emplace_back(bad);
    else if (!status.empty())
      throw Error(Code::invalid, fmt::format("health.service: invalid filter: {}", quote(status)))
          .advise("it is passing, warning, critical, maintenance or any");
  }
  if (any) out.statuses.clear();
  out.query.passing = out.statuses == std::vector<std::string>{"passing"};
  return out;
}

bool wanted(const ServiceQuestion& question, const ForeignInstance& instance) {
  const bool status =
      question.statuses.empty() || std::ranges::find(question.statuses, instance.status) != question.statuses.end();
  return status && (question.tag.empty() || std::ranges::find(instance.tags, question.tag) != instance.tags.end());
}

Value service(const Call& call) {
  const ServiceQuestion question = read_service(call);
  auto answer = ask(question.query, call.run);
  if (!answer) return Value::list({});
  std::erase_if(answer->instances, [&](const auto& instance) { return !wanted(question, instance); });
  if (question.query.near.empty())
    std::ranges::sort(answer->instances, {}, [](const auto& i) { return std::tie(i.node, i.id, i.port); });
  call.run.make_elements(answer->instances.size() * 32);
  List out;
  for (auto& instance : answer->instances) out.push_back(foreign_instance_value(std::move(instance)));
  return Value::list(std::move(out));
}

Value services(const Call& call) {
  if (call.size() > 1) throw Error(Code::invalid, "services: expected at most 1 argument");
  ForeignQuery query{.kind = ForeignKind::services};
  if (call.size() == 1) {
    query.datacenter = as_text(call[0], call.run);
    if (query.datacenter.starts_with('@')) query.datacenter.erase(0, 1);
  }
  auto answer = ask(query, call.run);
  List out;
  if (!answer) return Value::list({});
  call.run.make_elements(answer->services.size() * 8);
  for (auto& summary : answer->services) out.push_back(summary_value(std::move(summary), "*dependency.CatalogSnippet"));
  return Value::list(std::move(out));
}

// --- keys

/// "path@datacenter"
ForeignQuery key_query(ForeignKind kind, std::string_view spelled) {
  std::string text(trim_set(trim_space(spelled), "/"));
  ForeignQuery query{.kind = kind};
  query.datacenter = cut(text, '@');
  query.name = std::string(trim_set(text, "/"));
  if (query.name.empty() && kind == ForeignKind::key)
    throw Error(Code::invalid, fmt::format("kv.get: invalid format: {}", quote(spelled)));
  return query;
}

Value key(const Call& call) {
  if (call.text(0).empty()) return "";
  const ForeignQuery query = key_query(ForeignKind::key, call.text(0));
  const std::string text = "kv.block" + to_string(query).substr(6);
  ForeignReply reply = ask(query, text, call.run);
  if (!reply.answer) return "";
  if (!reply.answer->pairs.empty()) return std::move(reply.answer->pairs[0].value);
  call.run.missing(reply.why.empty() ? text : fmt::format("{}: {}", text, reply.why));
  return "";
}

Value key_exists(const Call& call) {
  if (call.text(0).empty()) return false;
  const auto answer = ask(key_query(ForeignKind::key, call.text(0)), call.run);
  return answer && !answer->pairs.empty();
}

Value key_or_default(const Call& call) {
  const auto answer = ask(key_query(ForeignKind::key, call.text(0)), call.run);
  const bool has = answer && !answer->pairs.empty() && !answer->pairs[0].value.empty();
  return has ? Value(answer->pairs[0].value) : call[1];
}

/// `path` below the prefix; nothing when it is not.
std::optional<std::string_view> below(std::string_view path, std::string_view prefix) {
  if (prefix.empty()) return path;
  if (!path.starts_with(prefix)) return std::nullopt;
  if (path.size() == prefix.size()) return std::string_view();
  if (path[prefix.size()] != '/') return std::nullopt;
  return path.substr(prefix.size() + 1);
}

/// The pairs below a prefix: `deep` all of them, else those that are right in it. Folders are none.
Value list_keys(const Call& call, bool deep, bool safe) {
  const ForeignQuery query = key_query(ForeignKind::keys, call.text(0));
  const auto answer = ask(query, call.run);
  List out;
  if (!answer) return Value::list({});
  call.run.make_elements(answer->pairs.size() * 12);
  for (const auto& pair : answer->pairs) {
    const auto key = below(pair.path, query.name);
    if (!key || key->empty() || key->ends_with('/') || (!deep && key->find('/') != std::string_view::npos)) continue;
    call.run.make(pair.value.size());
    out.push_back(key_value(pair, *key));
  }
  if (safe && out.empty()) call.run.missing(to_string(query));
  return Value::list(std::move(out));
}

/// The key of a pair of ls or tree.
std::string_view key_of(const Value& pair, std::string_view function, Value& holder) {
  const auto key = pair.kind() == Kind::object ? pair.as_object().member("Key", {}) : std::nullopt;
  if (!key || !key->is_text())
    throw Error(Code::invalid, fmt::format("{}: expected pairs of ls or tree; got {}", function, pair.type_name()));
  holder = *key;
  return holder.as_text();
}

/// The pair with the rest of its key.
Value with_key(const Value& pair, std::string_view key) {
  constexpr std::string_view kFields[] = {"Path",        "Key",       "Value", "Exists", "CreateIndex",
                                          "ModifyIndex", "LockIndex", "Flags", "Session"};
  std::vector<std::pair<std::string_view, Value>> fields;
  for (const auto name : kFields)
    fields.emplace_back(name, name == "Key" ? Value(key) : pair.as_object().member(name, {}).value_or(Value()));
  return record("*dependency.KeyPair", std::move(fields));
}

/// A map from the first part of each key to a map from its rest to the pair.
Value by_key(const Call& call) {
  std::map<std::string, Map> groups;
  Value holder;
  for (const Value& pair : call.list(0)) {
    const std::string_view key = key_of(pair, "byKey", holder);
    const std::size_t slash = std::min(key.find('/'), key.size());
    const std::string rest(key.substr(std::min(slash + 1, key.size())));
    call.run.make_elements(12);
    groups[std::string(key.substr(0, slash))].insert_or_assign(rest, with_key(pair, rest));
  }
  Map out;
  for (auto& [name, members] : groups) out.emplace(name, call.run.map(std::move(members)));
  return call.run.map(std::move(out));
}

/// The pairs as maps inside each other.
Value explode(const Call& call) {
  const Value root = call.run.map({});
  Value holder;
  for (const Value& pair : call.list(0)) {
    const std::string_view key = key_of(pair, "explode", holder);
    Map* at = &call.run.change(root);
    std::size_t begin = 0;
    for (std::size_t slash = key.find('/'); slash != std::string_view::npos; slash = key.find('/', begin)) {
      call.run.make_elements(4);
      auto& next = (*at)[std::string(key.substr(begin, slash - begin))];
      if (next.kind() != Kind::map) next = call.run.map({});
      at = &call.run.change(next);
      begin = slash + 1;
    }
    call.run.make_elements(4);
    at->insert_or_assign(std::string(key.substr(begin)), *pair.as_object().member("Value", {}));
  }
  return root;
}

/// The services by what they say of themselves: "version|int,zone" makes keys like "v00002_a".
Value by_meta(const Call& call) {
  std::map<std::string, List> groups;
  const auto names = underway::split(call.text(0), ',');
  for (const Value& service : call.list(1)) {
    const auto meta = service.kind() == Kind::object ? service.as_object().member("ServiceMeta", {}) : std::nullopt;
    if (!meta || meta->kind() != Kind::map)
      throw Error(Code::invalid, fmt::format("byMeta: wrong argument type {}", service.type_name()));
    std::vector<std::string> parts;
    for (std::string name : names) {
      const bool whole = name.ends_with("|int");
      if (whole) name.resize(name.size() - 4);
      const auto found = meta->as_map().find(name);
      const std::string value = found == meta->as_map().end() ? "" : std::string(found->second.as_text());
      if (whole)
        parts.push_back(fmt::format("{:0>5}", value.empty() ? "0" : value));
      else
        parts.push_back(value.empty() ? fmt::format("_no_{}_", name) : value);
    }
    std::string key = join(parts, "_");
    std::ranges::replace_if(key, [](unsigned char c) { return c >= 0x80 || (std::isalnum(c) == 0); }, '_');
    call.run.make_elements(4);
    groups[std::move(key)].push_back(service);
  }
  Map map;
  for (auto& [key, services] : groups) map.emplace(key, Value::list(std::move(services)));
  return call.run.map(std::move(map));
}

// --- secrets

ForeignQuery secret_query(ForeignKind kind, std::string_view spelled) {
  ForeignQuery query{.kind = kind, .name = std::string(trim_set(trim_space(spelled), "/"))};
  if (query.name.empty()) throw Error(Code::invalid, "secret: expected the path of a secret");
  return query;
}

Value secret(const Call& call) {
  if (call.text(0).empty()) return {};
  ForeignQuery query = secret_query(ForeignKind::secret, call.text(0));
  for (const Value& argument : call.arguments.subspan(1)) {
    const std::string text = as_text(argument, call.run);
    const std::size_t equals = text.find('=');
    if (text.empty()) continue;
    if (equals == std::string::npos)
      throw Error(Code::invalid, "secret: an argument behind the path is no pair").advise("write it as name=value");
    query.parameters[text.substr(0, equals)] = text.substr(equals + 1);
  }
  const std::string text = to_string(query);
  const ForeignReply reply = ask(query, text, call.run);
  if (reply.answer && reply.answer->secret) return secret_value(*reply.answer->secret, call.run);
  if (reply.answer) call.run.missing(fmt::format("{}: {}", text, reply.why.empty() ? "there is no secret" : reply.why));
  return secret_value({}, call.run);
}

Value secrets(const Call& call) {
  if (call.text(0).empty()) return Value::list({});
  const auto answer = ask(secret_query(ForeignKind::secrets, call.text(0)), call.run);
  if (!answer) return Value::list({});
  call.run.make_elements(answer->names.size() * 2);
  return Value::texts(answer->names);
}

}  // namespace

std::vector<Function> foreign_functions() {
  constexpr Origin kConsul = Origin::consul;
  return {
      {"service", "name string, statuses ...any",
       "The instances of a service, \"tag.name@datacenter|status\", with Consul's fields: `.Name`, `.Address`, "
       "`.Port`, `.Tags`, `.ID`, `.Node`, `.NodeAddress`, `.ServiceMeta`, `.Status`, `.Checks`.",
       kConsul, service},
      {"services", "datacenter ...any", "All services: `.Name`, `.Tags`.", kConsul, services},
      {"byMeta", "names string, services list", "A map from what services say in `.ServiceMeta` to the services.",
       kConsul, by_meta},
      {"key", "path string", "The value of a key. The rendering waits until it is there.", kConsul, key},
      {"keyExists", "path string", "Whether there is such a key.", kConsul, key_exists},
      {"keyOrDefault", "path string, fallback string", "The value of a key; the fallback where there is none.", kConsul,
       key_or_default},
      {"ls", "prefix string", "The keys right below a prefix: `.Key`, `.Value`, `.Path`, …", kConsul,
       [](const Call& c) { return list_keys(c, false, false); }},
      {"safeLs", "prefix string", "ls that waits until there is one.", kConsul,
       [](const Call& c) { return list_keys(c, false, true); }},
      {"tree", "prefix string", "All keys below a prefix.", kConsul,
       [](const Call& c) { return list_keys(c, true, false); }},
      {"safeTree", "prefix string", "tree that waits until there is one.", kConsul,
       [](const Call& c) { return list_keys(c, true, true); }},
      {"byKey", "pairs list", "A map from the first part of each key to a map from its rest to the pair.", kConsul,
       by_key},
      {"explode", "pairs list", "The pairs of tree as maps inside each other.", kConsul, explode},
      {"secret", "path string, parameters ...any",
       "A secret: `.Data.x` (`.Data.data.x` of KV version 2), `.LeaseID`, `.LeaseDuration`, `.Renewable`. With "
       "parameters \"name=value\" it is made by writing them.",
       kConsul, secret},
      {"secrets", "path string", "The names of the secrets below a path.", kConsul, secrets},
  };
}

}  // namespace underway::gotemplate
