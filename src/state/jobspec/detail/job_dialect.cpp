#include "jobspec/detail/job_dialect.hpp"

#include "hcl/type.hpp"

namespace underway::jobspec::detail {

std::span<const Refused> refused_names() {
  // Source: Nomad's api/*.go at 2.0.
  static constexpr std::string_view kConsul = "it is part of Consul's service mesh, and there is no Consul here";
  static constexpr std::string_view kRegions = "it is for several regions at once; there is one region here";
  static constexpr std::string_view kCsi = "volumes here are directories of the nodes; there are no CSI plugins";
  static constexpr std::string_view kToken = "a token in a job is a secret that everybody who reads the job has";
  static constexpr Refused kNames[] = {
      {"job", "multiregion", "Multiregion", kRegions}, {"job", "consul_token", "ConsulToken", kToken},
      {"job", "vault_token", "VaultToken", kToken},    {"service", "connect", "Connect", kConsul},
      {"task", "csi_plugin", "CSIPluginConfig", kCsi},
  };
  return kNames;
}

std::span<const Shorthand> constraint_shorthands() {
  using enum Shorthand::Takes;
  static constexpr Shorthand kShorthands[] = {
      {"distinct_hosts", flag, "`true`: no two allocations of the job (or group) on one node."},
      {"distinct_property", target, "A property of which each value is used `value` times at most; once by default."},
      {"regexp", value, "An expression (RE2) that the attribute matches."},
      {"version", value, "A version constraint, e.g. `>= 5.10, < 6`."},
      {"semver", value, "The same by the rules of Semantic Versioning."},
      {"set_contains", value, "Elements that the attribute, a list separated by commas, holds."},
      {"set_contains_all", value, "The same."},
      {"set_contains_any", value, "Elements of which it holds at least one."},
      {"is_set", target, "A property that the node has."},
      {"is_not_set", target, "A property that the node lacks."},
  };
  return kShorthands;
}

namespace {

/// `name = <value>` as text; nothing, and an error, when it is none.
std::optional<std::string> text_of(const hcl::Attribute& attribute, const Site& site) {
  const auto value = attribute.expression.evaluate(site.context, site.diagnostics);
  if (!value) return std::nullopt;
  std::string text;
  decode_value(*value, describe::kType<std::string>, &text, attribute.expression.range(),
               fmt::format("'{}'", attribute.name), site.diagnostics);
  return text;
}

Comparison constraint_of(void* object) {
  auto& constraint = *static_cast<model::Constraint*>(object);
  return {constraint.ltarget, constraint.operand, constraint.rtarget};
}
Comparison affinity_of(void* object) {
  auto& affinity = *static_cast<model::Affinity*>(object);
  return {affinity.ltarget, affinity.operand, affinity.rtarget};
}

void read_shorthand(const Shorthand& shorthand, const hcl::Attribute& attribute, const Comparison& comparison,
                    const Site& site) {
  const auto text = text_of(attribute, site);
  if (!text) return;
  comparison.operand = shorthand.name;
  switch (shorthand.takes) {
    case Shorthand::Takes::flag:
      comparison.rtarget = *text;
      if (*text != "true")
        site.diagnostics.error(attribute.expression.range(), fmt::format("'{}' must be true", shorthand.name),
                               fmt::format("it is '{}'", *text), "remove the constraint to allow it");
      return;
    case Shorthand::Takes::target:
      // `attribute = "${…}"  is_set = true` is the other way to write it.
      if (comparison.ltarget.empty()) comparison.ltarget = *text;
      return;
    case Shorthand::Takes::value:
      comparison.rtarget = *text;
      return;
  }
}

}  // namespace

namespace {

/// Whether it is there and not null, which is the same.
bool gives(const Site& site, std::string_view name) {
  const hcl::Attribute* attribute = site.content.find(name);
  if (attribute == nullptr) return false;
  hcl::Diagnostics known;  // what is wrong with it was reported when it was read
  const auto value = attribute->expression.evaluate(site.context, known);
  return !value || !value->is_null();
}

/// A group without a word about its count has as many as its scaling has at least.
void settle_count(model::TaskGroup& group, const Site& site) {
  if (group.scaling && group.scaling->min && !gives(site, "count")) group.count = *group.scaling->min;
}

/// `id` in a job's block: the label is its name then.
void read_id(model::Job& job, const Site& site) {
  const hcl::Attribute* attribute = site.content.find("id");
  const auto id = attribute == nullptr || !gives(site, "id") ? std::nullopt : text_of(*attribute, site);
  if (!id) return;
  if (job.name.empty()) job.name = job.id;
  job.id = *id;
}

}  // namespace

JobDialect::JobDialect(JobSites& sites) : sites_(sites) {
  for (const auto& name : refused_names())
    extensions_[std::string(name.structure)].refused.emplace_back(name.hcl, name.why);
  add_context();
  add_sugar();
  add_network();
  for (const auto& [block, extension] : comparison_dialect()) extensions_[block] = extension;
  add_old_names();
  add_inherited();
}

/// Keeps track of what is around, and where it stands.
void JobDialect::add_context() {
  extensions_["job"].prepare = [this](void* object) { job_ = static_cast<model::Job*>(object); };
  extensions_["resources"].finish = [](void* object, const Site& site) {
    auto& resources = *static_cast<model::Resources*>(object);
    if (resources.cores > 0 && site.content.find("cpu") == nullptr) resources.cpu = 0;
  };
  extensions_["group"].prepare = [this](void* object) { group_ = static_cast<model::TaskGroup*>(object); };
  extensions_["group"].finish = [this](void* object, const Site& site) {
    auto& group = *static_cast<model::TaskGroup*>(object);
    settle_count(group, site);
    inherit(group.tasks, inherited(site), site);
    sites_.blocks.try_emplace(fmt::format("group '{}'", group.name), site.header);
  };
  extensions_["task"].prepare = [this](void*) { in_task_ = true; };
  extensions_["task"].finish = [this](void* object, const Site& site) {
    in_task_ = false;
    auto& task = *static_cast<model::Task*>(object);
    read_scaling(task, site);
    const auto path = fmt::format("group '{}' task '{}'", group_->name, task.name);
    sites_.blocks.try_emplace(path, site.header);
    note_config(path, task, site);
  };
  // What a restart block leaves out is the group's, else by the job's type.
  extensions_["restart"].prepare = [this](void* object) {
    const bool inherits = in_task_ && group_->restart;
    *static_cast<model::RestartPolicy*>(object) =
        inherits ? *group_->restart : model::RestartPolicy::for_type(job_->type);
  };
  extensions_["depends_on"].finish = [this](void* object, const Site& site) {
    sites_.dependencies.emplace_back(static_cast<model::Dependency*>(object)->job, site.header);
  };
}

/// Each key of the driver's own settings, as an attribute or as a block.
void JobDialect::note_config(const std::string& path, const model::Task& task, const Site& site) {
  const auto* config = task.config.if_object();
  if (config == nullptr) return;
  hcl::Schema schema;
  for (const auto& member : *config) {
    schema.attributes.push_back({std::string(member.key())});
    schema.blocks.push_back({.type = std::string(member.key()), .labels = {"label"}, .optional_labels = true});
  }
  hcl::Diagnostics known;  // what is wrong with it was reported when it was read
  for (const hcl::Block* block : site.content.blocks_of("config")) {
    const auto content = block->body.content(schema, known);
    for (const auto& attribute : content.attributes)
      sites_.blocks.try_emplace(fmt::format("{} config.{}", path, attribute.name), attribute.name_range);
    for (const auto& inner : content.blocks)
      sites_.blocks.try_emplace(fmt::format("{} config.{}", path, inner.type), inner.range);
  }
}

void JobDialect::add_sugar() {
  extensions_["job"].attributes.emplace_back("id");
  extensions_["job"].blocks.push_back({.type = "task", .labels = {"name"}});
  extensions_["job"].finish = [this](void* object, const Site& site) {
    sites_.blocks[""] = site.header;
    auto& job = *static_cast<model::Job*>(object);
    read_id(job, site);
    read_tasks(job, site);
    const Inherited from = inherited(site);
    for (auto& group : job.groups) inherit(group.tasks, from, site);
  };
}

/// A task of the job itself is a group of its own, of the same name.
void JobDialect::read_tasks(model::Job& job, const Site& site) {
  for (const hcl::Block* block : site.content.blocks_of("task")) {
    model::TaskGroup group;
    group.name = block->label(0);
    group_ = &group;
    Given* const given = site.given == nullptr ? nullptr : &site.given->add("TaskGroups").add("Tasks");
    decode(*block, describe::structure_of<model::Task>(), &group.tasks.emplace_back(), site.context, site.diagnostics,
           extensions_, given);
    sites_.blocks.try_emplace(fmt::format("group '{}'", group.name), block->range);
    job.groups.push_back(std::move(group));
  }
}

void JobDialect::add_network() {
  const auto& port = describe::structure_of<model::Port>();
  extensions_["network"].blocks.push_back({.type = "port", .labels = {"label"}});
  extensions_["network"].finish = [&port](void* object, const Site& site) {
    auto& network = *static_cast<model::NetworkResource*>(object);
    for (const hcl::Block* block : site.content.blocks_of("port")) {
      model::Port read;
      bool is_static = false;
      Dialect dialect = {{"port", {.finish = [&](void*, const Site& inside) {
                            is_static = inside.content.find("static") != nullptr;
                          }}}};
      decode(*block, port, &read, site.context, site.diagnostics, dialect);
      (is_static ? network.reserved_ports : network.dynamic_ports).push_back(std::move(read));
    }
  };
}

namespace {

Extension shorthands_of(const std::string& block, Comparison (*comparison)(void* object)) {
  Extension extension;
  for (const auto& shorthand : constraint_shorthands()) extension.attributes.emplace_back(shorthand.name);
  extension.finish = [block, comparison](void* object, const Site& site) {
    const hcl::Attribute* first = site.content.find("operator");
    for (const auto& shorthand : constraint_shorthands()) {
      const hcl::Attribute* attribute = site.content.find(shorthand.name);
      if (attribute == nullptr) continue;
      if (first != nullptr) {
        site.diagnostics.error(
            attribute->name_range, fmt::format("a second operator, '{}', in {}", shorthand.name, block),
            fmt::format("the first is '{}'", first->name), fmt::format("write one {} block for each", block));
        continue;
      }
      first = attribute;
      read_shorthand(shorthand, *attribute, comparison(object), site);
    }
  };
  return extension;
}

}  // namespace

const Dialect& comparison_dialect() {
  static const Dialect dialect{{"constraint", shorthands_of("constraint", &constraint_of)},
                               {"affinity", shorthands_of("affinity", &affinity_of)}};
  return dialect;
}

/// Spellings that are read and mean nothing any more, or the opposite of today's.
void JobDialect::add_old_names() {
  extensions_["template"].attributes.emplace_back("vault_grace");
  extensions_["logs"].attributes.emplace_back("enabled");
  extensions_["logs"].finish = [](void* object, const Site& site) {
    const hcl::Attribute* enabled = site.content.find("enabled");
    const auto text = enabled == nullptr ? std::nullopt : text_of(*enabled, site);
    if (text) static_cast<model::LogConfig*>(object)->disabled = *text == "false";
  };
}

/// What may stand at the job or the group, and is each task's that has none of its own.
void JobDialect::add_inherited() {
  for (const char* block : {"job", "group"}) {
    extensions_[block].blocks.push_back({.type = "vault"});
    extensions_[block].blocks.push_back({.type = "secret", .labels = {"name"}});
  }
  extensions_["task"].blocks.push_back({.type = "scaling", .labels = {"resource"}});
}

JobDialect::Inherited JobDialect::inherited(const Site& site) {
  Inherited found{site.content.blocks_of("vault"), site.content.blocks_of("secret")};
  for (std::size_t i = 1; i < found.vaults.size(); ++i)
    site.diagnostics.error(found.vaults[i]->range, "a second 'vault'",
                           fmt::format("the first is at {}", found.vaults[0]->range.where()), "join the two");
  return found;
}

void JobDialect::inherit(std::span<model::Task> tasks, const Inherited& from, const Site& site) {
  for (auto& task : tasks) {
    if (!from.vaults.empty() && !task.vault)
      decode(*from.vaults.front(), describe::structure_of<model::VaultUse>(), &task.vault.emplace(), site.context,
             site.diagnostics);
    for (const hcl::Block* block : from.secrets) {
      const bool has_own = std::any_of(task.secrets.begin(), task.secrets.end(),
                                       [&](const auto& secret) { return secret.name == block->label(0); });
      if (!has_own)
        decode(*block, describe::structure_of<model::SecretRequest>(), &task.secrets.emplace_back(), site.context,
               site.diagnostics);
    }
  }
}

/// `scaling "cpu"` and `scaling "mem"` of a task: the wire calls them vertical_cpu and vertical_mem.
void JobDialect::read_scaling(model::Task& task, const Site& site) {
  for (const hcl::Block* block : site.content.blocks_of("scaling")) {
    const std::string resource = block->label(0);
    if (resource != "cpu" && resource != "mem") {
      site.diagnostics.error(block->range, fmt::format("scaling \"{}\" of a task is neither cpu nor mem", resource));
      continue;
    }
    auto& scaling = task.scaling.emplace_back();
    decode(block->body, describe::structure_of<model::Scaling>(), &scaling, site.context, site.diagnostics);
    scaling.type = "vertical_" + resource;
  }
}

}  // namespace underway::jobspec::detail
