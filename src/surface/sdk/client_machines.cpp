// Tasks and hosts that are virtual machines: pause, suspend, resume, wake, move, checkpoint.
#include "base/json/json.hpp"
#include "sdk/client.hpp"

namespace underway::sdk {
namespace {

std::string machine_path(const std::string& allocation, const char* verb) {
  return fmt::format("/v1/underway/allocation/{}/{}", http::percent_encode(allocation), verb);
}

std::string machine_body(const std::string& task) {
  return boost::json::serialize(boost::json::object{{"Task", task}});
}

std::string host_path(const std::string& cluster, const std::string& name) {
  return fmt::format("/v1/underway/host/{}/{}", http::percent_encode(cluster), http::percent_encode(name));
}

/// Those behind the first, which stands in the path.
boost::json::array all_but_first(const std::vector<std::string>& names) {
  boost::json::array out;
  for (std::size_t i = 1; i < names.size(); ++i) out.emplace_back(names[i]);
  return out;
}

}  // namespace

void Client::pause_allocation(const std::string& id, const std::string& task) {
  send("PUT", machine_path(id, "pause"), {}, machine_body(task));
}

void Client::suspend_allocation(const std::string& id) { send("PUT", machine_path(id, "suspend"), {}, "{}"); }

void Client::resume_allocation(const std::string& id, const std::string& task) {
  send("PUT", machine_path(id, "resume"), {}, machine_body(task));
}

void Client::move_allocation(const std::string& id, const Move& move) {
  send("PUT", machine_path(id, "move"), {},
       boost::json::serialize(boost::json::object{{"Node", move.node}, {"Wake", move.wake}, {"Cancel", move.cancel}}));
}

Indexed<model::Host> Client::host_at(const std::string& cluster, const std::string& name, Wait wait) {
  return get_at<model::Host>(host_path(cluster, name), {}, wait);
}

void Client::suspend_hosts(const std::string& cluster, const std::vector<std::string>& names,
                           const std::string& reason) {
  send("PUT", host_path(cluster, names.front()) + "/suspend", {},
       boost::json::serialize(boost::json::object{{"Reason", reason}, {"With", all_but_first(names)}}));
}

void Client::wake_hosts(const std::string& cluster, const std::vector<std::string>& names, const std::string& node) {
  send("PUT", host_path(cluster, names.front()) + "/wake", {},
       boost::json::serialize(boost::json::object{{"Node", node}, {"With", all_but_first(names)}}));
}

model::Recall Client::recall_hosts(const std::string& cluster, const wire::RecallBody& body) {
  const auto response = send("PUT", "/v1/underway/recalls/" + http::percent_encode(cluster), {}, json::encode(body));
  return json::decode_text<model::Recall>(response.body, "answer");
}

Indexed<model::Recall> Client::recall_at(const std::string& cluster, std::int64_t number, Wait wait) {
  return get_at<model::Recall>(fmt::format("/v1/underway/recall/{}/{}", http::percent_encode(cluster), number), {},
                               wait);
}

std::vector<model::Recall> Client::end_recalls(const std::string& cluster, std::int64_t number,
                                               const std::string& pool) {
  http::Query query;
  if (number != 0) query.add("number", std::to_string(number));
  if (!pool.empty()) query.add("pool", pool);
  const auto response = send("DELETE", "/v1/underway/recalls/" + http::percent_encode(cluster), std::move(query));
  return json::decode_text<std::vector<model::Recall>>(response.body, "answer");
}

std::vector<protocol::TaskCheckpoint> Client::checkpoint_allocation(const std::string& id, const std::string& task) {
  constexpr Duration kAsLongAsTheirMemoryTakes = std::chrono::hours(24);
  const auto response =
      send("PUT", machine_path(id, "checkpoint"), {}, machine_body(task), {}, kAsLongAsTheirMemoryTakes);
  return json::decode_text<std::vector<protocol::TaskCheckpoint>>(response.body, "answer");
}

std::vector<protocol::TaskCheckpoint> Client::allocation_checkpoints(const std::string& id, const std::string& task) {
  const auto response = send("GET", machine_path(id, "checkpoints"), {{"task", task}});
  return json::decode_text<std::vector<protocol::TaskCheckpoint>>(response.body, "answer");
}

void Client::restore_allocation(const std::string& id, const std::string& task, const std::string& checkpoint) {
  send("PUT", machine_path(id, "restore"), {},
       boost::json::serialize(boost::json::object{{"Task", task}, {"Checkpoint", checkpoint}}));
}

}  // namespace underway::sdk
