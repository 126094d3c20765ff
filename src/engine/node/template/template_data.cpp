#include "node/template/template_data.hpp"

namespace underway::node {
namespace {

gotemplate::VariableMetadata metadata_of(const protocol::KnownVariable& known) {
  return {known.ns,
          known.path,
          static_cast<std::uint64_t>(known.create_index),
          static_cast<std::uint64_t>(known.modify_index),
          from_unix_nanos(known.create_time),
          from_unix_nanos(known.modify_time)};
}

protocol::DataNeed need_of(const TemplateAsker& asker, protocol::DataKind kind, const std::string& name,
                           const std::string& ns) {
  return {asker.allocation_id, asker.task, kind, name, ns == asker.ns ? std::string() : ns};
}

}  // namespace

std::set<protocol::DataNeed> needs_of(const TemplateAsker& asker, const gotemplate::Dependencies& what) {
  std::set<protocol::DataNeed> needs;
  // "path" or "path@namespace"
  const auto add = [&](protocol::DataKind kind, const std::string& spelled) {
    const std::size_t at = spelled.find('@');
    needs.insert(need_of(asker, kind, spelled.substr(0, at), at == std::string::npos ? "" : spelled.substr(at + 1)));
  };
  for (const auto& path : what.variables) add(protocol::DataKind::variable, path);
  for (const auto& prefix : what.variable_prefixes) add(protocol::DataKind::variables, prefix);
  for (const auto& name : what.services) needs.insert(need_of(asker, protocol::DataKind::service, name, {}));
  if (what.services_list) needs.insert(need_of(asker, protocol::DataKind::services, {}, {}));
  return needs;
}

std::shared_ptr<void> TemplateData::watch(const TemplateAsker& asker, const gotemplate::Dependencies& what,
                                          std::function<void()> changed) {
  auto tokens = std::make_shared<std::vector<std::shared_ptr<void>>>();
  tokens->push_back(server_.watch(needs_of(asker, what), changed));
  if (sources_ != nullptr && !what.foreign.empty())
    tokens->push_back(sources_->watch(asker, what.foreign, std::move(changed)));
  return tokens;
}

std::optional<protocol::DataValue> TemplateData::find(const TemplateAsker& asker, protocol::DataKind kind,
                                                      const std::string& name, const std::string& ns) const {
  const auto answers = server_.answers();
  const auto it = answers->find(need_of(asker, kind, name, ns));
  if (it == answers->end()) return std::nullopt;
  if (!it->second.refused.empty()) throw Error(Code::denied, it->second.refused);
  return it->second;
}

TemplateData::Answer<std::optional<gotemplate::Variable>> TemplateData::variable(const TemplateAsker& asker,
                                                                                 const std::string& path,
                                                                                 const std::string& ns) {
  const auto known = find(asker, protocol::DataKind::variable, path, ns);
  if (!known) return std::nullopt;
  if (!known->variable) return std::optional<gotemplate::Variable>();
  return std::optional(gotemplate::Variable{metadata_of(*known->variable), known->variable->items});
}

TemplateData::Answer<std::vector<gotemplate::VariableMetadata>> TemplateData::variables(const TemplateAsker& asker,
                                                                                        const std::string& prefix,
                                                                                        const std::string& ns) {
  const auto known = find(asker, protocol::DataKind::variables, prefix, ns);
  if (!known) return std::nullopt;
  std::vector<gotemplate::VariableMetadata> out;
  for (const auto& variable : known->variables) out.push_back(metadata_of(variable));
  return out;
}

TemplateData::Answer<std::vector<gotemplate::ServiceInstance>> TemplateData::service(const TemplateAsker& asker,
                                                                                     const std::string& name) {
  const auto known = find(asker, protocol::DataKind::service, name);
  if (!known) return std::nullopt;
  std::vector<gotemplate::ServiceInstance> out;
  for (const auto& i : known->instances)
    out.push_back({i.id, i.name, i.node, i.address, i.port, i.datacenter, i.tags, i.job_id, i.alloc_id});
  return out;
}

TemplateData::Answer<std::vector<gotemplate::ForeignInstance>> TemplateData::catalogue(const TemplateAsker& asker,
                                                                                       const std::string& name,
                                                                                       bool passing) {
  const auto known =
      find(asker, protocol::DataKind::service, passing ? name : name + std::string(protocol::kOfAnyStatus));
  if (!known) return std::nullopt;
  std::vector<gotemplate::ForeignInstance> out;
  for (const auto& i : known->instances) {
    auto& instance = out.emplace_back();
    instance.id = i.id;
    instance.name = i.name;
    instance.node = i.node_name.empty() ? i.node : i.node_name;
    instance.node_id = i.node;
    instance.node_address = i.node_address.empty() ? i.address : i.node_address;
    instance.node_datacenter = i.datacenter;
    instance.address = i.address;
    instance.port = i.port;
    instance.tags = i.tags;
    instance.meta = i.meta;
    instance.status = i.unhealthy ? "critical" : "passing";
    instance.checks = {{.node = instance.node,
                        .id = "service:" + i.id,
                        .name = fmt::format("Service '{}' of allocation {}", i.name, i.alloc_id.substr(0, 8)),
                        .status = instance.status,
                        .notes = {},
                        .output = i.unhealthy ? "its checks do not pass, or its tasks do not run" : "",
                        .service_id = i.id,
                        .service_name = i.name}};
  }
  return out;
}

gotemplate::ForeignReply TemplateData::foreign(const TemplateAsker& asker, const gotemplate::ForeignQuery& query) {
  if (sources_ == nullptr) throw Error(Code::unsupported, "this node has neither Consul nor Vault");
  return sources_->find(asker, query);
}

TemplateData::Answer<std::vector<gotemplate::ServiceSummary>> TemplateData::services(const TemplateAsker& asker) {
  const auto known = find(asker, protocol::DataKind::services, {});
  if (!known) return std::nullopt;
  std::vector<gotemplate::ServiceSummary> out;
  for (const auto& instance : known->instances) out.push_back({instance.name, instance.tags});
  return out;
}

}  // namespace underway::node
