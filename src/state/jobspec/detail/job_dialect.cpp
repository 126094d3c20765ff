#include "jobspec/detail/job_dialect.hpp"

#include "hcl/type.hpp"

namespace underway::jobspec::detail {

std::span<const Unsupported> unsupported_names() {
  // Source: Nomad's api/*.go at 2.0; what is added to the model leaves this list.
  static constexpr Unsupported kNames[] = {
      {"job", "affinity", "Affinities"},
      {"job", "spread", "Spreads"},
      {"job", "periodic", "Periodic"},
      {"job", "parameterized", "ParameterizedJob"},
      {"job", "multiregion", "Multiregion"},
      {"job", "ui", "UI"},
      {"job", "vault", ""},
      {"job", "secret", ""},
      {"job", "consul_token", "ConsulToken"},
      {"job", "vault_token", "VaultToken"},
      {"job", "", "Payload"},
      {"group", "affinity", "Affinities"},
      {"group", "spread", "Spreads"},
      {"group", "volume", "Volumes"},
      {"group", "scaling", "Scaling"},
      {"group", "consul", "Consul"},
      {"group", "vault", ""},
      {"group", "secret", ""},
      {"group", "max_run_duration", "MaxRunDuration"},
      {"group", "max_client_disconnect", "MaxClientDisconnect"},
      {"group", "stop_after_client_disconnect", "StopAfterClientDisconnect"},
      {"group", "prevent_reschedule_on_lost", "PreventRescheduleOnLost"},
      {"service", "enable_tag_override", "EnableTagOverride"},
      {"service", "tagged_addresses", "TaggedAddresses"},
      {"service", "weights", "Weights"},
      {"service", "connect", "Connect"},
      {"service", "identity", "Identity"},
      {"service", "cluster", "Cluster"},
      {"service", "kind", "Kind"},
      {"check", "grpc_service", "GRPCService"},
      {"check", "grpc_use_tls", "GRPCUseTLS"},
      {"check", "expose", "Expose"},
      {"check", "notes", "Notes"},
      {"task", "affinity", "Affinities"},
      {"task", "volume_mount", "VolumeMounts"},
      {"task", "vault", "Vault"},
      {"task", "consul", "Consul"},
      {"task", "secret", "Secrets"},
      {"identity", "extra_claims", "ExtraClaims"},
      {"task", "action", "Actions"},
      {"task", "scaling", "ScalingPolicies"},
      {"task", "csi_plugin", "CSIPluginConfig"},
      {"task", "dispatch_payload", "DispatchPayload"},
      {"task", "schedule", "Schedule"},
      {"task", "kind", "Kind"},
      {"resources", "cores", "Cores"},
      {"resources", "device", "Devices"},
      {"resources", "numa", "NUMA"},
      {"resources", "secrets", "SecretsMB"},
      {"resources", "disk", "DiskMB"},
      {"resources", "iops", "IOPS"},
      {"resources", "network", "Networks"},
      {"network", "dns", "DNS"},
      {"network", "cni", "CNI"},
      {"network", "mbits", "MBits"},
      {"template", "vault_grace", "VaultGrace"},
      {"logs", "enabled", "Enabled"},
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

void read_shorthand(const Shorthand& shorthand, const hcl::Attribute& attribute, model::Constraint& constraint,
                    const Site& site) {
  const auto text = text_of(attribute, site);
  if (!text) return;
  constraint.operand = shorthand.name;
  switch (shorthand.takes) {
    case Shorthand::Takes::flag:
      constraint.rtarget = *text;
      if (*text != "true")
        site.diagnostics.error(attribute.expression.range(), fmt::format("'{}' must be true", shorthand.name),
                               fmt::format("it is '{}'", *text), "remove the constraint to allow it");
      return;
    case Shorthand::Takes::target:
      // `attribute = "${…}"  is_set = true` is the other way to write it.
      if (constraint.ltarget.empty()) constraint.ltarget = *text;
      return;
    case Shorthand::Takes::value:
      constraint.rtarget = *text;
      return;
  }
}

}  // namespace

JobDialect::JobDialect(JobSites& sites) : sites_(sites) {
  for (const auto& name : unsupported_names()) {
    if (!name.hcl.empty()) extensions_[std::string(name.structure)].unsupported.emplace_back(name.hcl);
  }
  add_context();
  add_sugar();
  add_network();
  add_constraint();
}

/// Keeps track of what is around, and where it stands.
void JobDialect::add_context() {
  extensions_["job"].prepare = [this](void* object) { job_ = static_cast<model::Job*>(object); };
  extensions_["group"].prepare = [this](void* object) { group_ = static_cast<model::TaskGroup*>(object); };
  extensions_["group"].finish = [this](void* object, const Site& site) {
    const auto& group = *static_cast<model::TaskGroup*>(object);
    sites_.blocks.try_emplace(fmt::format("group '{}'", group.name), site.header);
  };
  extensions_["task"].prepare = [this](void*) { in_task_ = true; };
  extensions_["task"].finish = [this](void* object, const Site& site) {
    in_task_ = false;
    const auto& task = *static_cast<model::Task*>(object);
    sites_.blocks.try_emplace(fmt::format("group '{}' task '{}'", group_->name, task.name), site.header);
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

void JobDialect::add_sugar() {
  extensions_["job"].blocks.push_back({.type = "task", .labels = {"name"}});
  extensions_["job"].finish = [this](void* object, const Site& site) {
    sites_.blocks[""] = site.header;
    read_tasks(*static_cast<model::Job*>(object), site);
  };
}

/// A task of the job itself is a group of its own, of the same name.
void JobDialect::read_tasks(model::Job& job, const Site& site) {
  for (const hcl::Block* block : site.content.blocks_of("task")) {
    model::TaskGroup group;
    group.name = block->label(0);
    group_ = &group;
    decode(*block, describe::structure_of<model::Task>(), &group.tasks.emplace_back(), site.context, site.diagnostics,
           extensions_);
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

void JobDialect::add_constraint() {
  auto& extension = extensions_["constraint"];
  for (const auto& shorthand : constraint_shorthands()) extension.attributes.emplace_back(shorthand.name);
  extension.finish = [](void* object, const Site& site) {
    const hcl::Attribute* first = site.content.find("operator");
    for (const auto& shorthand : constraint_shorthands()) {
      const hcl::Attribute* attribute = site.content.find(shorthand.name);
      if (attribute == nullptr) continue;
      if (first != nullptr) {
        site.diagnostics.error(attribute->name_range,
                               fmt::format("a second operator, '{}', in constraint", shorthand.name),
                               fmt::format("the first is '{}'", first->name), "write one constraint block for each");
        continue;
      }
      first = attribute;
      read_shorthand(shorthand, *attribute, *static_cast<model::Constraint*>(object), site);
    }
  };
}

}  // namespace underway::jobspec::detail
