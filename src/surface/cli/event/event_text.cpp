#include "cli/event/event_text.hpp"

#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/context.hpp"
#include "model/deployment.hpp"
#include "model/node/host_volume.hpp"
#include "model/service_instance.hpp"

namespace underway::cli {
namespace {

std::string_view text_of(const boost::json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

std::string with_why(std::string text, const std::string& why) { return why.empty() ? text : text + ": " + why; }

std::string in_words(const model::Job& job, std::string_view type) {
  if (type == "JobDeregistered") return fmt::format("{} is stopped", job.id);
  if (type == "JobRegistered") return fmt::format("{} version {} is registered", job.id, job.version);
  return fmt::format("{} is {}", job.id, describe::spell(job.status));
}

/// What a task of it said last, and of whom.
std::string newest_word(const model::Allocation& allocation) {
  std::string word;
  std::int64_t newest = -1;
  for (const auto& [task, state] : allocation.task_states) {
    if (state.events.empty() || state.events.back().time <= newest) continue;
    newest = state.events.back().time;
    word = fmt::format("; {}: {}", task, state.events.back().message);
    if (state.restarts > 0) word += fmt::format(" ({} restart{})", state.restarts, state.restarts == 1 ? "" : "s");
  }
  return word;
}

std::string in_words(const model::Allocation& allocation, std::string_view type) {
  std::string text = fmt::format("{} {} on {}: ", allocation.name, short_id(allocation.id), allocation.node_name);
  if (type == "AllocationDeleted") return text + "forgotten";
  const bool wanted = allocation.desired_status == model::DesiredStatus::run;
  if (type == "PlanResult" && wanted && allocation.task_states.empty()) return text + "placed";
  text += describe::spell(allocation.client_status);
  if (allocation.health.ready) text += ", ready";
  if (!wanted && !allocation.client_terminal()) text += with_why(", to be stopped", allocation.desired_description);
  if (allocation.transition.migrate && !allocation.terminal()) text += ", to be moved";
  return type == "AllocationUpdated" ? text + newest_word(allocation) : text;
}

std::string in_words(const model::Evaluation& evaluation, std::string_view type) {
  std::string text = fmt::format("{} of {} ({}): ", short_id(evaluation.id), evaluation.job_id,
                                 describe::spell(evaluation.triggered_by));
  if (type == "EvaluationDeleted") return text + "forgotten";
  text += with_why(std::string(describe::spell(evaluation.status)), evaluation.status_description);
  for (const auto& [group, metric] : evaluation.failed_groups)
    text += fmt::format("; {} of group {} cannot be placed", metric.coalesced_failures + 1, group);
  return text;
}

std::string in_words(const model::Deployment& deployment, std::string_view type) {
  std::string text =
      fmt::format("{} of {} version {}: ", short_id(deployment.id), deployment.job_id, deployment.job_version);
  if (type == "DeploymentDeleted") return text + "forgotten";
  text += describe::spell(deployment.status);
  if (deployment.status != model::DeploymentStatus::running && deployment.status != model::DeploymentStatus::successful)
    text += ": " + deployment.status_description;
  for (const auto& [group, state] : deployment.groups) {
    text += fmt::format("; {} {} of {} healthy, {} placed", group, state.healthy_allocs, state.desired_total,
                        state.placed_allocs);
    if (state.unhealthy_allocs > 0) text += fmt::format(", {} unhealthy", state.unhealthy_allocs);
  }
  return text;
}

std::string in_words(const model::Node& node, std::string_view type) {
  std::string text = fmt::format("{} {}: ", node.name, short_id(node.id));
  if (type == "NodeDeregistration") return text + "forgotten";
  text += describe::spell(node.status);
  if (node.drain) return text + ", being drained";
  if (node.eligibility == model::Eligibility::ineligible) text += ", not eligible";
  return node.status == model::NodeStatus::ready ? text : with_why(text, node.status_description);
}

std::string in_words(const model::ServiceInstance& service, std::string_view type) {
  const std::string address =
      service.port > 0 ? fmt::format(" at {}:{}", service.address, service.port) : std::string();
  return fmt::format("{} of {}{} {}", service.service_name, short_id(service.alloc_id), address,
                     type == "ServiceDeregistration" ? "is gone"
                     : service.ready                 ? "is there"
                                                     : "is there, not ready");
}

std::string in_words(const model::HostVolume& volume, std::string_view type) {
  const std::string text = fmt::format("{} {} on {}: ", volume.name, short_id(volume.id), short_id(volume.node_id));
  return text + std::string(type == "HostVolumeDeleted" ? "deleted" : describe::spell(volume.state));
}

std::string in_words(const model::Host& host, std::string_view type) {
  const std::string text = fmt::format("{} of cluster {}: ", host.name, host.cluster);
  if (type == "HostDeleted") return text + "gone";
  const std::string joined = host.node_id.empty() ? "" : ", its agent has joined";
  return text + with_why(std::string(describe::spell(host.status)) + joined, host.status_description);
}

std::string in_words(const model::Cluster& cluster, std::string_view type) {
  if (type == "ClusterDeleted") return cluster.name + " is gone";
  return cluster.name + (cluster.stop ? " is being taken down" : " is declared anew");
}

template <class T>
std::string decoded(const boost::json::object& payload, std::string_view topic, std::string_view type) {
  const auto* value = payload.if_contains(topic);
  return value == nullptr ? std::string() : in_words(json::decode<T>(*value), type);
}

std::string about(const boost::json::object& event) {
  const auto topic = text_of(event, "Topic"), type = text_of(event, "Type");
  const auto* payload = event.if_contains("Payload");
  if (payload != nullptr && payload->is_object()) {
    const auto& object = payload->get_object();
    if (topic == "Job") return decoded<model::Job>(object, topic, type);
    if (topic == "Allocation") return decoded<model::Allocation>(object, topic, type);
    if (topic == "Evaluation") return decoded<model::Evaluation>(object, topic, type);
    if (topic == "Deployment") return decoded<model::Deployment>(object, topic, type);
    if (topic == "Node" || topic == "NodeDrain") return decoded<model::Node>(object, "Node", type);
    if (topic == "Service") return decoded<model::ServiceInstance>(object, topic, type);
    if (topic == "HostVolume") return decoded<model::HostVolume>(object, "Volume", type);
    if (topic == "Host") return decoded<model::Host>(object, topic, type);
    if (topic == "Cluster") return decoded<model::Cluster>(object, topic, type);
  }
  return fmt::format("{} {}", text_of(event, "Key"), type);
}

}  // namespace

std::string event_text(const boost::json::value& event) {
  const auto& object = event.as_object();
  std::string time = "-";  // Nomad's events have none
  if (const auto* at = object.if_contains("Time"); at != nullptr && at->is_int64())
    time = format_time(from_unix_nanos(at->get_int64()));
  return fmt::format("{} {:<10}  {}", time, lower(text_of(object, "Topic")), about(object));
}

}  // namespace underway::cli
