#include "node/template/template_compat.hpp"

#include "base/error.hpp"

namespace underway::node {

using gotemplate::Dependencies;
using gotemplate::ForeignAnswer;
using gotemplate::ForeignKind;
using gotemplate::ForeignQuery;
using gotemplate::ForeignReply;
using sources::From;

namespace {

/// A list of them is a question each.
constexpr std::size_t kMostVariables = 1000;

/// `path` below `prefix`: "" for the prefix itself; nothing when it is elsewhere.
std::optional<std::string_view> below(std::string_view path, std::string_view prefix) {
  if (prefix.empty()) return path;
  if (!path.starts_with(prefix)) return std::nullopt;
  if (path.size() == prefix.size()) return std::string_view();
  if (path[prefix.size()] != '/') return std::nullopt;
  return path.substr(prefix.size() + 1);
}

std::string joined(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return std::string(a) + std::string(b);
  return std::string(a) + "/" + std::string(b);
}

/// Variables below a prefix as a tree of keys.
class VariableTree {
 public:
  struct Value {
    std::string text;
    gotemplate::VariableMetadata variable;
    std::size_t depth = 0;  ///< of its variable's path
  };

  /// Reads what can hold keys at `path` or below it. False: something is not known yet.
  bool read(const TemplateAsker& asker, ClusterData& cluster, const std::string& prefix, std::string_view path,
            Dependencies& used) {
    used.variable_prefixes.insert(prefix);
    const auto list = cluster.variables(asker, prefix, {});
    if (!list) return false;
    bool all = true;
    std::size_t count = 0;
    for (const auto& metadata : *list) {
      const auto inside = below(metadata.path, prefix);
      if (!inside || (!inside->empty() && !below(path, *inside) && !below(*inside, path))) continue;
      if (++count > kMostVariables)
        throw Error(Code::too_large,
                    fmt::format("a template reads more than {} variables below '{}'", kMostVariables, prefix))
            .advise("ask for a longer path");
      used.variables.insert(metadata.path);
      const auto variable = cluster.variable(asker, metadata.path, {});
      if (!variable)
        all = false;
      else if (*variable)
        add(*inside, **variable);
    }
    return all;
  }

  const std::map<std::string, Value>& values() const { return values_; }

 private:
  void add(std::string_view inside, const gotemplate::Variable& variable) {
    for (const auto& [item, text] : variable.items) {
      Value& value = values_[joined(inside, item)];
      if (value.variable.path.empty() || inside.size() >= value.depth) value = {text, variable.metadata, inside.size()};
    }
  }

  std::map<std::string, Value> values_;
};

gotemplate::KeyPair pair_of(const std::string& path, const VariableTree::Value& value) {
  gotemplate::KeyPair pair;
  pair.path = path;
  pair.value = value.text;
  pair.create_index = value.variable.create_index;
  pair.modify_index = value.variable.modify_index;
  return pair;
}

/// Where a key or a secret would be put.
std::string absent(const std::string& prefix, const std::string& path, const char* what) {
  return fmt::format(
      "no variable that the task may read has it: write it as item '{}' of '{}', or below that as a "
      "variable of its own; or have `template.compat` of the node name {}",
      path, prefix, what);
}

ForeignReply keys_of_variables(const std::string& prefix, const TemplateAsker& asker, ClusterData& cluster,
                               const ForeignQuery& query, Dependencies& used) {
  VariableTree tree;
  if (!tree.read(asker, cluster, prefix, query.name, used)) return {};
  ForeignAnswer answer;
  for (const auto& [path, value] : tree.values()) {
    const auto inside = below(path, query.name);
    if (inside && (query.kind == ForeignKind::keys || inside->empty())) answer.pairs.push_back(pair_of(path, value));
  }
  const bool none = query.kind == ForeignKind::key && answer.pairs.empty();
  return {std::move(answer), none ? absent(prefix, query.name, "a Consul") : ""};
}

/// "secret/data/db" is where version 2 of KV has "secret/db"; lists are below "metadata".
std::optional<std::string> without_part(const std::string& path, std::string_view part) {
  const std::size_t slash = path.find('/');
  if (slash == std::string::npos) return std::nullopt;
  const auto rest = below(std::string_view(path).substr(slash + 1), part);
  if (!rest) return std::nullopt;
  return joined(std::string_view(path).substr(0, slash), *rest);
}

boost::json::object metadata_of(const gotemplate::VariableMetadata& variable) {
  return {{"created_time", format_time(variable.modify_time)},
          {"custom_metadata", nullptr},
          {"deletion_time", ""},
          {"destroyed", false},
          {"version", variable.modify_index}};
}

/// What lies right in `path`.
boost::json::object items_in(const VariableTree& tree, const std::string& path, gotemplate::VariableMetadata& newest) {
  boost::json::object items;
  for (const auto& [key, value] : tree.values()) {
    const auto inside = below(key, path);
    if (!inside || inside->empty() || inside->find('/') != std::string_view::npos) continue;
    items[*inside] = value.text;
    if (value.variable.modify_index >= newest.modify_index) newest = value.variable;
  }
  return items;
}

ForeignReply secret_of_variables(const std::string& prefix, const TemplateAsker& asker, ClusterData& cluster,
                                 const ForeignQuery& query, Dependencies& used) {
  const std::string path = query.name.substr(0, query.name.find('?'));
  if (!query.parameters.empty())
    throw Error(Code::unsupported, fmt::format("nothing makes the secret '{}' here", path))
        .because("this node has its secrets from variables, and they are only read")
        .advise("name a Vault in `template { compat { vault { address = … } } }` of the node's agent");
  const auto plain = without_part(path, "data");
  VariableTree tree;
  bool known = tree.read(asker, cluster, prefix, path, used);
  if (plain) known = tree.read(asker, cluster, prefix, *plain, used) && known;
  if (!known) return {};
  gotemplate::VariableMetadata newest;
  boost::json::object items = items_in(tree, path, newest);
  if (items.empty() && plain) items = items_in(tree, *plain, newest);
  if (items.empty()) return {ForeignAnswer(), absent(prefix, path + "/…", "a Vault")};
  gotemplate::Secret secret;
  if (plain)
    secret.data = {{"data", std::move(items)}, {"metadata", metadata_of(newest)}};
  else {
    secret.data = std::move(items);
    secret.metadata = metadata_of(newest);
  }
  ForeignAnswer answer;
  answer.secret = std::move(secret);
  return {std::move(answer), {}};
}

/// As Vault lists: "db" is a secret, "apps/" holds others.
ForeignReply secrets_of_variables(const std::string& prefix, const TemplateAsker& asker, ClusterData& cluster,
                                  const ForeignQuery& query, Dependencies& used) {
  const std::string path = without_part(query.name, "metadata").value_or(query.name);
  VariableTree tree;
  if (!tree.read(asker, cluster, prefix, path, used)) return {};
  std::set<std::string> names;
  for (const auto& [key, value] : tree.values()) {
    const auto inside = below(key, path);
    if (!inside) continue;
    const std::size_t slash = inside->find('/');
    if (slash == std::string_view::npos) continue;  // an item of the path itself
    const bool deeper = inside->find('/', slash + 1) != std::string_view::npos;
    names.insert(std::string(inside->substr(0, slash)) + (deeper ? "/" : ""));
  }
  ForeignAnswer answer;
  answer.names = {names.begin(), names.end()};
  return {std::move(answer), {}};
}

ForeignReply of_catalogue(const TemplateAsker& asker, ClusterData& cluster, const ForeignQuery& query,
                          Dependencies& used) {
  ForeignAnswer answer;
  if (query.kind == ForeignKind::services) {
    used.services_list = true;
    auto services = cluster.services(asker);
    if (!services) return {};
    answer.services = std::move(*services);
    return {std::move(answer), {}};
  }
  used.services.insert(query.passing ? query.name : query.name + "|any");
  auto instances = cluster.catalogue(asker, query.name, query.passing);
  if (!instances) return {};
  if (!query.datacenter.empty())
    std::erase_if(*instances, [&](const auto& instance) { return instance.node_datacenter != query.datacenter; });
  answer.instances = std::move(*instances);
  return {std::move(answer), {}};
}

From from(const sources::Settings& settings, ForeignKind kind) {
  switch (kind) {
    case ForeignKind::service:
    case ForeignKind::services:
      return settings.service;
    case ForeignKind::key:
    case ForeignKind::keys:
      return settings.key;
    default:
      return settings.secret;
  }
}

}  // namespace

ForeignReply compat_reply(const sources::Settings& settings, const TemplateAsker& asker, ClusterData& cluster,
                          const ForeignQuery& query, Dependencies& used) {
  switch (from(settings, query.kind)) {
    case From::nothing:
      throw Error(Code::unsupported, fmt::format("{} is switched off on this node", gotemplate::to_string(query)))
          .because("`template { compat { … } }` of its agent says \"none\"")
          .advise("use nomadService and nomadVar");
    case From::foreign:
      used.foreign.insert(query);
      return cluster.foreign(asker, query);
    case From::ours:
      break;
  }
  const std::string keys = sources::for_asker(settings.key_variables, asker);
  const std::string secrets = sources::for_asker(settings.secret_variables, asker);
  switch (query.kind) {
    case ForeignKind::service:
    case ForeignKind::services:
      return of_catalogue(asker, cluster, query, used);
    case ForeignKind::key:
    case ForeignKind::keys:
      return keys_of_variables(keys, asker, cluster, query, used);
    case ForeignKind::secrets:
      return secrets_of_variables(secrets, asker, cluster, query, used);
    case ForeignKind::secret:
      break;
  }
  return secret_of_variables(secrets, asker, cluster, query, used);
}

}  // namespace underway::node
