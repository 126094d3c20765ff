#include "server/events.hpp"

#include "acl/login.hpp"
#include "tables/host_volumes.hpp"
#include "tables/node_pools.hpp"

namespace underway::server {

using model::Allocation;
using model::Deployment;
using model::Evaluation;
using model::Job;
using model::Node;
using model::ServiceInstance;

namespace {

template <class... Visit>
struct Cases : Visit... {
  using Visit::operator()...;
};

// The types are Nomad's (its API documentation, "Events"), where it has one for what happened.

std::string_view type_of(const Row<Job>& before, const Row<Job>& after) {
  if (!after || (after->stop && !(before && before->stop))) return "JobDeregistered";
  const bool registered = !before || before->version != after->version || before->stop != after->stop ||
                          before->job_modify_index != after->job_modify_index;
  if (registered) return "JobRegistered";
  // Its status follows what becomes of its allocations: Nomad names what changed that, and clients know no other words.
  return after->status == model::JobStatus::dead ? "AllocationUpdated" : "PlanResult";
}

std::string_view type_of(const Row<Node>& before, const Row<Node>& after) {
  if (!after) return "NodeDeregistration";
  if (!before) return "NodeRegistration";
  if (before->drain.has_value() != after->drain.has_value()) return "NodeDrain";
  if (before->eligibility != after->eligibility) return "NodeEligibility";
  return before->last_start != after->last_start ? "NodeRegistration" : "NodeEvent";
}

std::string_view type_of(const Row<Allocation>& before, const Row<Allocation>& after) {
  if (!after) return "AllocationDeleted";
  if (!before) return "PlanResult";
  if (before->transition.migrate != after->transition.migrate ||
      before->transition.reschedule != after->transition.reschedule)
    return "AllocationUpdateDesiredStatus";
  const bool planned = before->desired_status != after->desired_status || before->job_version != after->job_version ||
                       before->eval_id != after->eval_id;
  return planned ? "PlanResult" : "AllocationUpdated";
}

std::string_view type_of(const Row<Deployment>& before, const Row<Deployment>& after) {
  if (!after) return "DeploymentDeleted";
  if (!before) return "PlanResult";
  if (before->status != after->status || before->status_description != after->status_description)
    return "DeploymentStatusUpdate";
  for (const auto& [group, state] : after->groups) {
    const auto old = before->groups.find(group);
    if (old != before->groups.end() && old->second.promoted != state.promoted) return "DeploymentPromotion";
  }
  return "DeploymentAllocHealth";
}

/// What the allocation provides now, by id.
std::map<std::string, ServiceInstance> provided(const Row<Allocation>& allocation, const Node* node) {
  std::map<std::string, ServiceInstance> out;
  if (!allocation || allocation->terminal()) return out;
  for (const auto& declared : model::declared_services(*allocation)) {
    if (!model::is_provided(*allocation, declared)) continue;
    auto instance = model::service_instance(*allocation, declared, node);
    instance.modify_index = 0;  // of the allocation: it says nothing about the service
    std::string id = instance.id;
    out.emplace(std::move(id), std::move(instance));
  }
  return out;
}

}  // namespace

const describe::Enumeration& description(describe::Tag<EventTopic>) {
  static const describe::Enumeration e =
      describe::enumeration<EventTopic>("event topic", {{EventTopic::job, "Job"},
                                                        {EventTopic::allocation, "Allocation"},
                                                        {EventTopic::evaluation, "Evaluation"},
                                                        {EventTopic::deployment, "Deployment"},
                                                        {EventTopic::node, "Node"},
                                                        {EventTopic::service, "Service"},
                                                        {EventTopic::variable, "Variable"},
                                                        {EventTopic::node_pool, "NodePool"},
                                                        {EventTopic::host_volume, "HostVolume"},
                                                        {EventTopic::acl_policy, "ACLPolicy"},
                                                        {EventTopic::acl_token, "ACLToken"},
                                                        {EventTopic::acl_role, "ACLRole"},
                                                        {EventTopic::auth_method, "ACLAuthMethod"},
                                                        {EventTopic::binding_rule, "ACLBindingRule"},
                                                        {EventTopic::host, "Host"},
                                                        {EventTopic::cluster, "Cluster"}});
  return e;
}

std::string key_of(const Event& event) {
  return std::visit(Cases{[](const Row<model::Variable>& row) { return row->path; },
                          [](const Row<model::Host>& row) { return row->cluster + "/" + row->name; },
                          [](const Row<model::AclToken>& row) { return row->accessor_id; },
                          []<class T>(const Row<T>& row) {
                            if constexpr (requires { row->id; })
                              return row->id;
                            else
                              return row->name;
                          }},
                    event.row);
}

std::vector<std::string> filter_keys_of(const Event& event) {
  std::vector<std::string> keys;
  std::visit(Cases{[&](const Row<Allocation>& row) { keys = {row->job_id, row->deployment_id}; },
                   [&](const Row<Evaluation>& row) { keys = {row->job_id, row->deployment_id}; },
                   [&](const Row<Deployment>& row) { keys = {row->job_id}; },
                   [&](const Row<ServiceInstance>& row) { keys = {row->job_id, row->service_name}; },
                   [&](const Row<Node>& row) { keys = {row->name}; },
                   [&](const Row<model::HostVolume>& row) { keys = {row->name, row->node_id, row->plugin_id}; },
                   [&](const Row<model::AclRole>& row) { keys = {row->name}; },
                   [&](const Row<model::BindingRule>& row) { keys = {row->auth_method}; },
                   [&](const Row<model::Host>& row) { keys = {row->name, row->cluster}; }, [](const auto&) {}},
             event.row);
  std::erase(keys, std::string());
  return keys;
}

std::string namespace_of(const Event& event) {
  return std::visit(
      []<class T>(const Row<T>& row) {
        if constexpr (requires { row->ns; })
          return row->ns;
        else
          return std::string();
      },
      event.row);
}

EventBuffer::EventBuffer(const Tables& tables, const Clock& clock, std::size_t most)
    : tables_(tables), clock_(clock), most_(most) {}

// --- readers

EventBuffer::Reader EventBuffer::read_from(model::Revision index) const {
  const auto first =
      std::partition_point(batches_.begin(), batches_.end(), [&](const auto& batch) { return batch->index < index; });
  return {*this, first_number_ + static_cast<std::uint64_t>(first - batches_.begin())};
}

std::shared_ptr<const EventBuffer::Batch> EventBuffer::Reader::next() {
  if (number_ < buffer_->first_number_) {
    throw Error(Code::exhausted, fmt::format("events after index {} are gone", read_))
        .because(fmt::format("the reader was too slow: the oldest event kept is of index {}", buffer_->complete_from_))
        .advise("read the state anew, and follow from there");
  }
  const std::size_t at = number_ - buffer_->first_number_;
  if (at >= buffer_->batches_.size()) return nullptr;
  ++number_;
  read_ = buffer_->batches_[at]->index;
  return buffer_->batches_[at];
}

// --- the buffer

void EventBuffer::reset() {
  pending_.clear();
  loading_ = true;
}

void EventBuffer::loaded() {
  loading_ = false;
  if (tables_.revision() == revision_) return;  // read again after a failed commit: nothing has happened
  revision_ = tables_.revision();
  complete_from_ = revision_ + 1;
  // Readers that were at the end have missed something too.
  first_number_ += batches_.size() + 1;
  batches_.clear();
  events_ = 0;
  more_.notify_all();
}

void EventBuffer::publish() {
  revision_ = tables_.revision();
  if (pending_.empty()) return;
  auto batch = std::make_shared<Batch>();
  batch->index = revision_;
  batch->time = clock_.now();
  batch->events = std::exchange(pending_, {});
  for (auto& event : batch->events) event.index = revision_;
  events_ += batch->events.size();
  batches_.push_back(std::move(batch));
  forget_old();
  more_.notify_all();
}

void EventBuffer::forget_old() {
  while (events_ > most_ && batches_.size() > 1) {
    events_ -= batches_.front()->events.size();
    complete_from_ = batches_.front()->index + 1;
    batches_.pop_front();
    ++first_number_;
  }
}

// --- what the tables tell

template <class T>
void EventBuffer::add(EventTopic topic, std::string_view type, const Row<T>& before, const Row<T>& after) {
  pending_.push_back({topic, type, 0, after ? after : before});
}

void EventBuffer::job_changed(const Row<Job>& before, const Row<Job>& after) {
  add(EventTopic::job, type_of(before, after), before, after);
}

void EventBuffer::node_changed(const Row<Node>& before, const Row<Node>& after) {
  if (!loading_) add(EventTopic::node, type_of(before, after), before, after);
}

void EventBuffer::allocation_changed(const Row<Allocation>& before, const Row<Allocation>& after) {
  if (loading_) return;
  add(EventTopic::allocation, type_of(before, after), before, after);
  services_changed(before, after);
}

void EventBuffer::services_changed(const Row<Allocation>& before, const Row<Allocation>& after) {
  const auto declares = [](const Row<Allocation>& row) { return row && !model::declared_services(*row).empty(); };
  if (!declares(before) && !declares(after)) return;  // most do not, and 100,000 of them may be placed in a second
  const auto node = tables_.find_node((after ? after : before)->node_id);
  auto old = provided(before, node.get()), now = provided(after, node.get());
  for (auto& [id, instance] : now) {
    const auto it = old.find(id);
    const bool same = it != old.end() && describe::equal(it->second, instance);
    if (it != old.end()) old.erase(it);
    if (same) continue;
    instance.modify_index = after->modify_index;
    const auto row = std::make_shared<const ServiceInstance>(std::move(instance));
    add(EventTopic::service, "ServiceRegistration", row, row);
  }
  for (auto& [id, instance] : old) {
    const auto row = std::make_shared<const ServiceInstance>(std::move(instance));
    add(EventTopic::service, "ServiceDeregistration", row, row);
  }
}

void EventBuffer::evaluation_changed(const Row<Evaluation>& before, const Row<Evaluation>& after) {
  add(EventTopic::evaluation, after ? "EvaluationUpdated" : "EvaluationDeleted", before, after);
}

void EventBuffer::deployment_changed(const Row<Deployment>& before, const Row<Deployment>& after) {
  add(EventTopic::deployment, type_of(before, after), before, after);
}

void EventBuffer::cluster_changed(const Row<model::Cluster>& before, const Row<model::Cluster>& after) {
  add(EventTopic::cluster, after ? "ClusterUpdated" : "ClusterDeleted", before, after);
}

void EventBuffer::host_changed(const Row<model::Host>& before, const Row<model::Host>& after) {
  add(EventTopic::host, after ? "HostUpdated" : "HostDeleted", before, after);
}

void EventBuffer::variable_changed(const Row<model::Variable>& before, const Row<model::Variable>& after) {
  add(EventTopic::variable, after ? "VariableUpserted" : "VariableDeleted", before, after);
}

void EventBuffer::acl_policy_changed(const Row<model::AclPolicy>& before, const Row<model::AclPolicy>& after) {
  add(EventTopic::acl_policy, after ? "ACLPolicyUpserted" : "ACLPolicyDeleted", before, after);
}

void EventBuffer::acl_token_changed(const Row<model::AclToken>& before, const Row<model::AclToken>& after) {
  add(EventTopic::acl_token, after ? "ACLTokenUpserted" : "ACLTokenDeleted", before, after);
}

void EventBuffer::acl_role_changed(const Row<model::AclRole>& before, const Row<model::AclRole>& after) {
  add(EventTopic::acl_role, after ? "ACLRoleUpserted" : "ACLRoleDeleted", before, after);
}

template <class T>
bool EventBuffer::add_record(EventTopic topic, std::string_view put, std::string_view gone,
                             const Row<model::Record>& before, const Row<model::Record>& after) {
  const model::Record& record = after ? *after : *before;
  if (record.kind != tables::RecordOf<T>::kind) return false;
  try {
    const auto row = std::make_shared<const T>(tables::decode_record<T>(record));
    add(topic, after ? put : gone, row, row);
  } catch (const Error&) {
    // A newer version wrote it, which tells of it itself; what applies changes cannot fail.
  }
  return true;
}

void EventBuffer::record_changed(const Row<model::Record>& before, const Row<model::Record>& after) {
  // Of the other kinds nobody is told.
  add_record<model::HostVolume>(EventTopic::host_volume, "HostVolumeRegistered", "HostVolumeDeleted", before, after) ||
      add_record<model::NodePool>(EventTopic::node_pool, "NodePoolUpserted", "NodePoolDeleted", before, after) ||
      add_record<model::AuthMethod>(EventTopic::auth_method, "ACLAuthMethodUpserted", "ACLAuthMethodDeleted", before,
                                    after) ||
      add_record<model::BindingRule>(EventTopic::binding_rule, "ACLBindingRuleUpserted", "ACLBindingRuleDeleted",
                                     before, after);
}

}  // namespace underway::server
