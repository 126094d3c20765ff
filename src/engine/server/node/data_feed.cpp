#include "server/node/data_feed.hpp"

#include "acl/identity.hpp"
#include "base/json/json.hpp"
#include "crypto/digest.hpp"
#include "tables/services.hpp"

namespace underway::server {
namespace {

using protocol::DataKind;
using protocol::DataNeed;
using protocol::DataValue;

const std::string& namespace_of(const DataNeed& need, const model::Allocation& allocation) {
  return need.ns.empty() ? allocation.ns : need.ns;
}

protocol::KnownVariable known(const model::Variable& row) {
  protocol::KnownVariable out;
  out.ns = row.ns;
  out.path = row.path;
  out.create_index = row.create_index;
  out.modify_index = row.modify_index;
  out.create_time = row.create_time;
  out.modify_time = row.modify_time;
  return out;
}

protocol::KnownInstance known(const Tables& tables, const model::ServiceInstance& instance) {
  protocol::KnownInstance out;
  out.id = instance.id;
  out.name = instance.service_name;
  out.node = instance.node_id;
  out.address = instance.address;
  out.datacenter = instance.datacenter;
  out.job_id = instance.job_id;
  out.alloc_id = instance.alloc_id;
  out.port = instance.port;
  out.tags = instance.tags;
  out.meta = instance.meta;
  out.unhealthy = !instance.ready;
  if (const auto node = tables.find_node(instance.node_id)) {
    out.node_name = node->name;
    const auto address = node->attributes.find("unique.network.ip-address");
    if (address != node->attributes.end()) out.node_address = address->second;
  }
  return out;
}

/// A task, which reads the variables of what it is, and what policies that name it allow.
class Reader {
 public:
  Reader(const Tables& tables, const model::Allocation& allocation, const std::string& task)
      : allocation_(allocation), task_(task) {
    const auto policies = acl::policies_of_workload(tables, allocation.ns, allocation.job_id, allocation.group, task);
    if (!policies.empty()) granted_ = acl::Identities().rights_of(tables, policies);
  }
  bool may_read(const std::string& ns, const std::string& path) const {
    const bool its_own =
        ns == allocation_.ns && model::may_read_implicitly(path, allocation_.job_id, allocation_.group, task_);
    return its_own || (granted_ && granted_->variable(path, ns, acl::Access::read));
  }

 private:
  const model::Allocation& allocation_;
  const std::string& task_;
  std::shared_ptr<const acl::Rights> granted_;
};

struct AskedService {
  std::string name;
  bool any = false;  ///< not only what is healthy
};

AskedService service_of(const DataNeed& need) {
  const bool any = need.name.ends_with(protocol::kOfAnyStatus);
  return {any ? need.name.substr(0, need.name.size() - protocol::kOfAnyStatus.size()) : need.name, any};
}

tables::Scope scope_of(const Tables& tables, const DataNeed& need) {
  const auto allocation = tables.find_allocation(need.alloc);
  if (need.kind == DataKind::variable && allocation)
    return {tables::Topic::variables, model::variable_key(namespace_of(need, *allocation), need.name)};
  if (need.kind == DataKind::service && allocation)
    return {tables::Topic::services, allocation->ns + "/" + service_of(need).name};
  if (need.kind == DataKind::service || need.kind == DataKind::services) return {tables::Topic::services, ""};
  return {tables::Topic::variables, ""};
}

bool is_of_variables(const DataNeed& need) {
  return need.kind == DataKind::variable || need.kind == DataKind::variables;
}

/// When what is needed, or the right to it, changed last.
model::Revision revision_of(const Tables& tables, const DataNeed& need) {
  const auto revision = tables.revision_of(scope_of(tables, need));
  return is_of_variables(need) ? std::max(revision, tables.revision_of({tables::Topic::acl_policies, ""})) : revision;
}

}  // namespace

void DataFeed::watch(std::vector<DataNeed> needs) {
  std::map<DataNeed, Sent> next;
  for (auto& need : needs) {
    const auto it = sent_.find(need);
    Sent known_already = it == sent_.end() ? Sent{} : it->second;
    next.emplace(std::move(need), std::move(known_already));
  }
  sent_ = std::move(next);
}

std::vector<tables::Scope> DataFeed::scopes(const Tables& tables) const {
  std::vector<tables::Scope> out;
  const auto add = [&](tables::Scope scope) {
    if (std::find(out.begin(), out.end(), scope) == out.end()) out.push_back(std::move(scope));
  };
  for (const auto& [need, sent] : sent_) {
    add(scope_of(tables, need));
    if (is_of_variables(need)) add({tables::Topic::acl_policies, ""});
  }
  return out;
}

bool DataFeed::outdated(const Tables& tables) const {
  return std::any_of(sent_.begin(), sent_.end(),
                     [&](const auto& entry) { return revision_of(tables, entry.first) != entry.second.revision; });
}

std::optional<protocol::DataMessage> DataFeed::next(const Tables& tables) {
  protocol::DataMessage message;
  for (auto& [need, sent] : sent_) {
    const auto revision = revision_of(tables, need);
    if (sent.revision == revision) continue;
    auto value = value_of(tables, need);
    auto digest = crypto::sha256(json::encode(value, json::Encoding::compact));
    const bool same = sent.digest == digest;
    sent = {revision, std::move(digest)};
    if (!same) message.values.push_back(std::move(value));
  }
  if (message.values.empty()) return std::nullopt;
  return message;
}

DataValue DataFeed::value_of(const Tables& tables, const DataNeed& need) const {
  DataValue value;
  value.need = need;
  const auto allocation = tables.find_allocation(need.alloc);
  if (!allocation || allocation->node_id != node_id_) {
    value.refused = "the allocation is not this node's";
    return value;
  }
  try {
    switch (need.kind) {
      case DataKind::variable:
        find_variable(tables, *allocation, value);
        break;
      case DataKind::variables:
        list_variables(tables, *allocation, value);
        break;
      case DataKind::service: {
        const auto asked = service_of(need);
        for (const auto& instance : tables::service_instances(tables, allocation->ns, asked.name))
          if (instance.ready || asked.any) value.instances.push_back(known(tables, instance));
        break;
      }
      case DataKind::services:
        for (const auto& service : tables::service_names(tables, allocation->ns)) {
          auto& entry = value.instances.emplace_back();
          entry.name = service.name;
          entry.tags = service.tags;
        }
        break;
    }
  } catch (const Error& error) {
    value.refused = error.one_line();
  }
  return value;
}

void DataFeed::find_variable(const Tables& tables, const model::Allocation& allocation, DataValue& value) const {
  const auto& need = value.need;
  const std::string& ns = namespace_of(need, allocation);
  if (!Reader(tables, allocation, need.task).may_read(ns, need.name)) {
    value.refused = fmt::format(
        "task '{}' of job '{}' may not read variable '{}': it reads '{}', what is above it, and "
        "what policies for its job allow (`underway acl policy apply -job`)",
        need.task, allocation.job_id, need.name,
        model::implicit_paths(allocation.job_id, allocation.group, need.task).back());
    return;
  }
  const auto row = tables.find<model::Variable>(model::variable_key(ns, need.name));
  if (!row) return;
  value.variable = known(*row);
  value.variable->items = variables_.open(*row).items;
}

void DataFeed::list_variables(const Tables& tables, const model::Allocation& allocation, DataValue& value) const {
  const std::string& ns = namespace_of(value.need, allocation);
  const Reader reader(tables, allocation, value.need.task);
  for (const auto& row : tables.rows<model::Variable>(model::variable_key(ns, value.need.name))) {
    if (reader.may_read(ns, row->path)) value.variables.push_back(known(*row));
  }
}

}  // namespace underway::server
