// Lists by expression and page; what nodes tell of themselves; the log.
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "sdk/client.hpp"

namespace underway::sdk {

template <class T>
Page<T> Client::list(std::string_view path, const ListQuery& query, http::Query more) {
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) more.add(name, value);
  };
  add("prefix", query.prefix);
  add("filter", query.filter);
  if (query.per_page > 0) more.add("per_page", std::to_string(query.per_page));
  add("next_token", query.page_token);
  const auto response = send("GET", path, std::move(more));
  return {json::decode_text<std::vector<T>>(response.body, "answer"),
          std::string(response.headers.find("X-Nomad-NextToken").value_or(""))};
}

Page<wire::JobStub> Client::jobs(const ListQuery& query) { return list<wire::JobStub>("/v1/jobs", query); }
Page<wire::NodeStub> Client::nodes(const ListQuery& query) {
  return list<wire::NodeStub>("/v1/nodes", query, {{"resources", "true"}});
}
Page<model::Evaluation> Client::evaluations(const ListQuery& query) {
  return list<model::Evaluation>("/v1/evaluations", query);
}
Page<model::Deployment> Client::deployments(const ListQuery& query) {
  return list<model::Deployment>("/v1/deployments", query);
}
Page<wire::ServiceListStub> Client::services(const ListQuery& query) {
  return list<wire::ServiceListStub>("/v1/services", query);
}

Page<wire::TicketView> Client::tickets(const TicketQuery& which, const ListQuery& query) {
  http::Query more;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) more.add(name, value);
  };
  add("state", which.state);
  add("kind", which.kind);
  add("assignee", which.assignee);
  add("release", which.release);
  add("key", which.key);
  add("older", which.older);
  return list<wire::TicketView>("/v1/underway/tickets", query, std::move(more));
}

std::int64_t Client::count_evaluations(const std::string& filter) {
  const auto answer = json::parse(send("GET", "/v1/evaluations/count", {{"filter", filter}}).body);
  return answer.at("Count").as_int64();
}

std::int64_t Client::delete_evaluations(const std::vector<std::string>& ids, const std::string& filter) {
  boost::json::object body;
  if (!ids.empty()) body["EvalIDs"] = boost::json::array(ids.begin(), ids.end());
  if (!filter.empty()) body["Filter"] = filter;
  return json::parse(send("DELETE", "/v1/evaluations", {}, boost::json::serialize(body)).body).at("Count").as_int64();
}

protocol::HostStats Client::node_stats(const std::string& id) {
  return json::decode_text<protocol::HostStats>(send("GET", "/v1/client/stats", {{"node_id", id}}).body, "answer");
}
protocol::NodeMetadata Client::node_metadata(const std::string& id) {
  return json::decode_text<protocol::NodeMetadata>(send("GET", "/v1/client/metadata", {{"node_id", id}}).body,
                                                   "answer");
}
protocol::NodeMetadata Client::apply_node_metadata(const std::string& id, const protocol::MetadataRequest& request) {
  const boost::json::object body{{"NodeID", id}, {"Meta", json::to_value(request.meta)}};
  return json::decode_text<protocol::NodeMetadata>(
      send("PUT", "/v1/client/metadata", {}, boost::json::serialize(body)).body, "answer");
}

namespace {

/// Takes a stream of objects apart: {"Data": base64}, and {} for a heartbeat, which is told as nothing.
class LogFrames {
 public:
  explicit LogFrames(const std::function<bool(std::string_view)>& piece) : piece_(piece) {}

  bool take(std::string_view bytes) {
    rest_ += bytes;
    for (std::size_t end; (end = rest_.find('}')) != std::string::npos; rest_.erase(0, end + 1)) {
      const auto frame = json::parse(std::string_view(rest_).substr(0, end + 1));
      const auto* data = frame.as_object().if_contains("Data");
      if (!piece_(data == nullptr ? std::string() : base64_decode(data->as_string()))) return false;
    }
    return true;
  }

 private:
  const std::function<bool(std::string_view)>& piece_;
  std::string rest_;
};

}  // namespace

// Not as plain text: a heartbeat lets `piece` end it while nothing is logged.
void Client::monitor(const std::string& node, const std::string& level, bool as_json,
                     const std::function<bool(std::string_view)>& piece) {
  http::Query query{{"log_level", level}};
  if (as_json) query.add("log_json", "true");
  if (!node.empty()) query.add("node_id", node);
  LogFrames frames(piece);
  stream("/v1/agent/monitor", std::move(query), [&](std::string_view bytes) { return frames.take(bytes); });
}

}  // namespace underway::sdk
