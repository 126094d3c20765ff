#include "sdk/client.hpp"

#include <unistd.h>

#include <cstdlib>

#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "http/plain_error.hpp"
#include "sdk/detail/path.hpp"
#include "sdk/detail/refusal.hpp"

namespace underway::sdk {
namespace {

std::string environment(const char* ours, const char* nomads) {
  for (const char* name : {ours, nomads}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  }
  return {};
}

model::Revision index_of(const boost::json::value& value, const char* key) {
  const auto* found = value.is_object() ? value.get_object().if_contains(key) : nullptr;
  return found != nullptr && found->is_int64() ? found->get_int64() : 0;
}

RegisteredJob registered_of(const http::Response& response) {
  const auto value = json::parse(response.body);
  return {json::text_at(value, "EvalID"), index_of(value, "JobModifyIndex"), json::text_at(value, "Warnings")};
}

std::string job_body(const model::Job& job, const std::optional<model::JobSubmission>& submission,
                     const std::string& more) {
  std::string body = "{\"Job\":" + json::encode(job);
  if (submission) body += ",\"Submission\":" + json::encode(*submission);
  return body + more + "}";
}

}  // namespace

Address address_from_environment(const std::string& socket) {
  Address address;
  address.url = environment("UNDERWAY_ADDR", "NOMAD_ADDR");
  if (address.url.empty())
    address.url = ::access(socket.c_str(), F_OK) == 0 ? "unix://" + socket : "http://127.0.0.1:4646";
  address.token = environment("UNDERWAY_TOKEN", "NOMAD_TOKEN");
  address.ns = environment("UNDERWAY_NAMESPACE", "NOMAD_NAMESPACE");
  address.region = environment("UNDERWAY_REGION", "NOMAD_REGION");
  address.tls.files.authority = environment("UNDERWAY_CACERT", "NOMAD_CACERT");
  address.tls.files.certificate = environment("UNDERWAY_CLIENT_CERT", "NOMAD_CLIENT_CERT");
  address.tls.files.key = environment("UNDERWAY_CLIENT_KEY", "NOMAD_CLIENT_KEY");
  address.tls.server_name = environment("UNDERWAY_TLS_SERVER_NAME", "NOMAD_TLS_SERVER_NAME");
  const std::string skip = environment("UNDERWAY_SKIP_VERIFY", "NOMAD_SKIP_VERIFY");
  address.tls.verify = skip.empty() || skip == "0" || skip == "false";
  return address;
}

namespace {

/// A proxy in front of the agent may want to know who asks.
void add_proxy_access(http::ClientOptions& options) {
  const std::string access = environment("UNDERWAY_HTTP_AUTH", "NOMAD_HTTP_AUTH");
  if (access.empty()) return;
  const bool has_password = access.find(':') != std::string::npos;
  options.headers.set("Authorization", "Basic " + base64_encode(has_password ? access : access + ":"));
}

http::ClientOptions with_tls(http::ClientOptions options, const Address& address) {
  add_proxy_access(options);
  const Tls& tls = address.tls;
  if (http::parse_url(address.url).tls && !options.tls)
    options.tls = http::TlsContext::client(tls.files, tls.server_name, tls.verify);
  return options;
}

}  // namespace

Client::Client(Address address, http::ClientOptions options)
    : address_(std::move(address)), client_(http::parse_url(address_.url), with_tls(std::move(options), address_)) {}

Client::~Client() = default;

http::Response Client::exchange(const std::string& method, std::string_view path, http::Query query, std::string body,
                                std::optional<Wait> wait, std::optional<Duration> within) {
  if (!address_.ns.empty() && !query.has("namespace")) query.add("namespace", address_.ns);
  if (!address_.region.empty()) query.add("region", address_.region);
  std::optional<Duration> timeout = within.value_or(std::chrono::seconds(60));
  if (wait && wait->index > 0) {
    query.add("index", std::to_string(wait->index));
    query.add("wait", format_duration(wait->longest));
    timeout = wait->longest + std::chrono::seconds(60);
  }
  auto request = http::request(method, path, query, std::move(body));
  if (!address_.token.empty()) request.headers.set("X-Nomad-Token", address_.token);
  if (!request.body.empty()) request.headers.set("Content-Type", "application/json");
  try {
    return client_.send(std::move(request), timeout);
  } catch (Error& error) {
    if (error.code() == Code::unavailable)
      error.advise(
          "is the agent running? start it with `underway up DIR`, `systemctl start underway`, or name it with "
          "-address");
    throw;
  }
}

namespace detail {

void throw_refusal(const http::Response& response) {
  if (response.status < 300) return;
  throw http::parse_plain_error(
      response.status, response.body.empty() ? fmt::format("the server answered {}", response.status) : response.body);
}

}  // namespace detail

http::Response Client::send(const std::string& method, std::string_view path, http::Query query, std::string body,
                            std::optional<Wait> wait, std::optional<Duration> within) {
  auto response = exchange(method, path, std::move(query), std::move(body), wait, within);
  detail::throw_refusal(response);
  return response;
}

template <class T>
T Client::get(std::string_view path, http::Query query) {
  return json::decode_text<T>(send("GET", path, std::move(query)).body, "answer");
}

template <class T>
Indexed<T> Client::get_at(std::string_view path, http::Query query, Wait wait) {
  const auto response = send("GET", path, std::move(query), {}, wait);
  Indexed<T> at{json::decode_text<T>(response.body, "answer"), 0};
  if (const auto index = response.headers.find("X-Nomad-Index")) at.index = leading_number_or(*index, at.index);
  // 0 is told of a list in which nothing ever was; from there nobody could wait.
  at.index = std::max<model::Revision>(at.index, 1);
  return at;
}
// Of client_machines.cpp.
template Indexed<model::Host> Client::get_at(std::string_view, http::Query, Wait);
template Indexed<model::Recall> Client::get_at(std::string_view, http::Query, Wait);

RegisteredJob Client::register_job(const model::Job& job, const std::optional<model::JobSubmission>& submission,
                                   std::optional<model::Revision> enforce_index, const Registration& registration) {
  std::string more =
      enforce_index ? fmt::format(",\"EnforceIndex\":true,\"JobModifyIndex\":{}", *enforce_index) : std::string();
  if (registration.preserve_counts) more += ",\"PreserveCounts\":true";
  if (registration.preserve_resources) more += ",\"PreserveResources\":true";
  if (registration.eval_priority != 0) more += fmt::format(",\"EvalPriority\":{}", registration.eval_priority);
  return registered_of(send("PUT", "/v1/jobs", {}, job_body(job, submission, more)));
}

wire::JobChange Client::plan_job(const model::Job& job) {
  const auto response = send("PUT", job_path(job.id, "/plan"), {}, job_body(job, std::nullopt, ",\"Diff\":true"));
  auto value = json::parse(response.body);
  auto change = json::decode<wire::JobChange>(value, "plan");
  change.id = job.id;
  const auto& annotations = value.at("Annotations");
  change.updates =
      json::decode<std::map<std::string, wire::DesiredUpdates>>(annotations.at("DesiredTGUpdates"), "plan");
  change.evicted = json::decode<std::vector<wire::Evicted>>(annotations.at("PreemptedAllocs"), "plan");
  return change;
}

RegisteredJob Client::stop_job(const std::string& id, const Stop& how) {
  http::Query query;
  if (how.purge) query.add("purge", "true");
  if (how.no_shutdown_delay) query.add("no_shutdown_delay", "true");
  return registered_of(send("DELETE", job_path(id), std::move(query)));
}
RegisteredJob Client::evaluate_job(const std::string& id, bool force_reschedule) {
  const boost::json::object body{{"JobID", id}, {"EvalOptions", {{"ForceReschedule", force_reschedule}}}};
  return registered_of(send("PUT", job_path(id, "/evaluate"), {}, boost::json::serialize(body)));
}
std::vector<wire::JobStub> Client::jobs(const std::string& prefix) {
  return get<std::vector<wire::JobStub>>("/v1/jobs", {{"prefix", prefix}});
}
model::Job Client::job(const std::string& id) { return get<model::Job>(job_path(id)); }

std::vector<model::Job> Client::job_versions(const std::string& id) {
  const auto value = json::parse(send("GET", job_path(id, "/versions")).body);
  return json::decode<std::vector<model::Job>>(value.at("Versions"), "answer");
}
model::JobSubmission Client::job_submission(const std::string& id, std::optional<std::int64_t> version) {
  return get<model::JobSubmission>(job_path(id, "/submission"),
                                   version ? http::Query{{"version", std::to_string(*version)}} : http::Query{});
}
std::vector<wire::AllocationStub> Client::job_allocations(const std::string& id) {
  return get<std::vector<wire::AllocationStub>>(job_path(id, "/allocations"));
}
std::vector<model::Evaluation> Client::job_evaluations(const std::string& id) {
  return get<std::vector<model::Evaluation>>(job_path(id, "/evaluations"));
}
wire::JobSummary Client::job_summary(const std::string& id) { return get<wire::JobSummary>(job_path(id, "/summary")); }

std::vector<model::Deployment> Client::job_deployments(const std::string& id) {
  return get<std::vector<model::Deployment>>(job_path(id, "/deployments"));
}
RegisteredJob Client::revert_job(const std::string& id, std::int64_t version,
                                 std::optional<std::int64_t> enforce_prior_version) {
  boost::json::object body{{"JobID", id}, {"JobVersion", version}};
  if (enforce_prior_version) body["EnforcePriorVersion"] = *enforce_prior_version;
  return registered_of(send("PUT", job_path(id, "/revert"), {}, boost::json::serialize(body)));
}
void Client::set_job_stable(const std::string& id, std::int64_t version, bool stable) {
  send("PUT", job_path(id, "/stable"), {},
       boost::json::serialize(boost::json::object{{"JobID", id}, {"JobVersion", version}, {"Stable", stable}}));
}

std::vector<model::Deployment> Client::deployments(const std::string& prefix) {
  return get<std::vector<model::Deployment>>("/v1/deployments", {{"prefix", prefix}});
}
Indexed<model::Deployment> Client::deployment(const std::string& id, Wait wait) {
  return get_at<model::Deployment>("/v1/deployment/" + http::percent_encode(id), {}, wait);
}
std::vector<wire::AllocationStub> Client::deployment_allocations(const std::string& id) {
  return get<std::vector<wire::AllocationStub>>("/v1/deployment/allocations/" + http::percent_encode(id));
}

namespace {

UpdatedDeployment updated_of(const http::Response& response) {
  const auto value = json::parse(response.body);
  UpdatedDeployment updated{json::text_at(value, "EvalID"), {}};
  if (const auto* version = value.as_object().if_contains("RevertedJobVersion");
      version != nullptr && version->is_int64())
    updated.reverted_version = version->get_int64();
  return updated;
}

boost::json::array texts(const std::vector<std::string>& list) {
  boost::json::array out;
  for (const auto& text : list) out.emplace_back(text);
  return out;
}

}  // namespace

UpdatedDeployment Client::promote_deployment(const std::string& id, const std::vector<std::string>& groups) {
  return updated_of(send("PUT", "/v1/deployment/promote/" + http::percent_encode(id), {},
                         boost::json::serialize(boost::json::object{
                             {"DeploymentID", id}, {"All", groups.empty()}, {"Groups", texts(groups)}})));
}
UpdatedDeployment Client::fail_deployment(const std::string& id) {
  return updated_of(send("PUT", "/v1/deployment/fail/" + http::percent_encode(id), {}, "{}"));
}
UpdatedDeployment Client::pause_deployment(const std::string& id, bool pause) {
  return updated_of(send("PUT", "/v1/deployment/pause/" + http::percent_encode(id), {},
                         boost::json::serialize(boost::json::object{{"DeploymentID", id}, {"Pause", pause}})));
}
UpdatedDeployment Client::set_allocation_health(const std::string& deployment_id,
                                                const std::vector<std::string>& healthy,
                                                const std::vector<std::string>& unhealthy) {
  return updated_of(send("PUT", "/v1/deployment/allocation-health/" + http::percent_encode(deployment_id), {},
                         boost::json::serialize(boost::json::object{{"DeploymentID", deployment_id},
                                                                    {"HealthyAllocationIDs", texts(healthy)},
                                                                    {"UnhealthyAllocationIDs", texts(unhealthy)}})));
}

wire::Explanation Client::explain_job(const std::string& id, bool nodes) {
  return get<wire::Explanation>("/v1/underway/job/" + http::percent_encode(id) + "/explain",
                                nodes ? http::Query{{"nodes", ""}} : http::Query{});
}

std::vector<wire::NodeStub> Client::nodes(const std::string& prefix) {
  return get<std::vector<wire::NodeStub>>("/v1/nodes", {{"prefix", prefix}, {"resources", "true"}});
}
model::Node Client::node(const std::string& id) { return get<model::Node>("/v1/node/" + http::percent_encode(id)); }
Indexed<model::Node> Client::node_at(const std::string& id, Wait wait) {
  return get_at<model::Node>("/v1/node/" + http::percent_encode(id), {}, wait);
}
std::vector<model::Allocation> Client::node_allocations(const std::string& id) {
  return get<std::vector<model::Allocation>>("/v1/node/" + http::percent_encode(id) + "/allocations");
}
void Client::set_eligibility(const std::string& node_id, model::Eligibility eligibility) {
  send("PUT", "/v1/node/" + http::percent_encode(node_id) + "/eligibility", {},
       fmt::format("{{\"Eligibility\":\"{}\"}}", describe::spell(eligibility)));
}
namespace {

boost::json::value drain_spec(const std::optional<model::DrainStrategy>& drain) {
  if (!drain) return nullptr;
  return boost::json::object{{"Deadline", drain->deadline.count()},
                             {"IgnoreSystemJobs", drain->ignore_system_jobs},
                             {"AskSlurm", drain->ask_slurm}};
}

}  // namespace

model::Judgement Client::plan_drain(const std::string& node_id, const model::DrainStrategy& drain) {
  const boost::json::object body{{"DrainSpec", drain_spec(drain)}};
  const auto response = send("PUT", "/v1/underway/node/" + http::percent_encode(node_id) + "/drain/plan", {},
                             boost::json::serialize(body));
  return json::decode_text<model::Judgement>(response.body, "answer");
}
void Client::drain_node(const std::string& node_id, const std::optional<model::DrainStrategy>& drain,
                        bool mark_eligible, const model::StringMap& meta) {
  boost::json::value spec = drain_spec(drain);
  const boost::json::object body{
      {"DrainSpec", std::move(spec)}, {"MarkEligible", mark_eligible}, {"Meta", json::to_value(meta)}};
  send("PUT", "/v1/node/" + http::percent_encode(node_id) + "/drain", {}, boost::json::serialize(body));
}
void Client::purge_node(const std::string& node_id) {
  send("PUT", "/v1/node/" + http::percent_encode(node_id) + "/purge");
}
std::vector<model::Orphans> Client::orphans() { return get<std::vector<model::Orphans>>("/v1/underway/orphans"); }
std::int64_t Client::decide_orphans(const std::vector<std::string>& node_ids, bool keep) {
  const boost::json::object body{{"Nodes", json::to_value(node_ids)}, {"Keep", keep}};
  const auto response = send("PUT", "/v1/underway/orphans", {}, boost::json::serialize(body));
  return json::parse(response.body).at("Count").to_number<std::int64_t>();
}

std::vector<wire::AllocationStub> Client::allocations(const std::string& prefix) {
  return get<std::vector<wire::AllocationStub>>("/v1/allocations", {{"prefix", prefix}});
}
Indexed<model::Allocation> Client::allocation_at(const std::string& id, Wait wait) {
  return get_at<model::Allocation>("/v1/allocation/" + http::percent_encode(id), {}, wait);
}

model::Allocation Client::allocation(const std::string& id) {
  const auto value = json::parse(send("GET", "/v1/allocation/" + http::percent_encode(id)).body);
  auto allocation = json::decode<model::Allocation>(value, "answer");
  if (const auto* job = value.as_object().if_contains("Job"); job != nullptr && job->is_object()) {
    allocation.job = std::make_shared<const model::Job>(json::decode<model::Job>(*job, "answer.Job"));
  }
  return allocation;
}
std::string Client::stop_allocation(const std::string& id, bool no_shutdown_delay) {
  http::Query query;
  if (no_shutdown_delay) query.add("no_shutdown_delay", "true");
  return json::text_at(
      json::parse(send("PUT", "/v1/allocation/" + http::percent_encode(id) + "/stop", std::move(query)).body),
      "EvalID");
}
void Client::restart_allocation(const std::string& id, const std::string& task) {
  send("PUT", "/v1/client/allocation/" + http::percent_encode(id) + "/restart", {},
       boost::json::serialize(boost::json::object{{"TaskName", task}}));
}
void Client::restart_all_tasks(const std::string& id) {
  send("PUT", "/v1/client/allocation/" + http::percent_encode(id) + "/restart", {},
       boost::json::serialize(boost::json::object{{"AllTasks", true}}));
}
void Client::signal_allocation(const std::string& id, const std::string& task, const std::string& signal) {
  send("PUT", "/v1/client/allocation/" + http::percent_encode(id) + "/signal", {},
       boost::json::serialize(boost::json::object{{"Task", task}, {"Signal", signal}}));
}
std::map<std::string, model::CheckResult> Client::allocation_checks(const std::string& id) {
  return get<std::map<std::string, model::CheckResult>>("/v1/client/allocation/" + http::percent_encode(id) +
                                                        "/checks");
}
std::vector<model::Evaluation> Client::evaluations(const std::string& prefix) {
  return get<std::vector<model::Evaluation>>("/v1/evaluations", {{"prefix", prefix}});
}
Indexed<model::Evaluation> Client::evaluation(const std::string& id, Wait wait) {
  return get_at<model::Evaluation>("/v1/evaluation/" + http::percent_encode(id), {}, wait);
}
Indexed<std::vector<wire::AllocationStub>> Client::evaluation_allocations(const std::string& id, Wait wait) {
  return get_at<std::vector<wire::AllocationStub>>("/v1/evaluation/" + http::percent_encode(id) + "/allocations", {},
                                                   wait);
}

std::vector<model::ServiceInstance> Client::service(const std::string& name, const std::string& choose) {
  http::Query query;
  if (!choose.empty()) query.add("choose", choose);
  return get<std::vector<model::ServiceInstance>>("/v1/service/" + http::percent_encode(name), query);
}
std::vector<model::ServiceInstance> Client::allocation_services(const std::string& id) {
  return get<std::vector<model::ServiceInstance>>("/v1/allocation/" + http::percent_encode(id) + "/services");
}
std::vector<model::ServiceInstance> Client::job_services(const std::string& id) {
  return get<std::vector<model::ServiceInstance>>(job_path(id, "/services"));
}
void Client::delete_service(const std::string& name, const std::string& id) {
  send("DELETE", "/v1/service/" + http::percent_encode(name) + "/" + http::percent_encode(id));
}

AppliedCluster Client::apply_cluster(wire::ClusterBody body) {
  send_pieces(body.cluster.name, body.files);
  const auto value = json::parse(
      send("PUT", "/v1/underway/cluster/" + http::percent_encode(body.cluster.name), {}, json::encode(body)).body);
  AppliedCluster applied;
  applied.registered = json::decode<std::vector<std::string>>(value.at("Registered"));
  applied.stopped = json::decode<std::vector<std::string>>(value.at("Stopped"));
  applied.index = index_of(value, "Index");
  return applied;
}
wire::ClusterPlan Client::plan_cluster(const wire::ClusterBody& body) {
  return json::decode_text<wire::ClusterPlan>(
      send("PUT", "/v1/underway/cluster/" + http::percent_encode(body.cluster.name) + "/plan", {}, json::encode(body))
          .body,
      "plan");
}
void Client::stop_cluster(const std::string& name) {
  send("DELETE", "/v1/underway/cluster/" + http::percent_encode(name));
}
std::vector<model::Cluster> Client::clusters() { return get<std::vector<model::Cluster>>("/v1/underway/clusters"); }
std::vector<model::Host> Client::hosts(const std::string& cluster) {
  return get<std::vector<model::Host>>("/v1/underway/hosts", {{"cluster", cluster}});
}
Indexed<wire::Status> Client::status(const std::string& cluster, Wait wait) {
  return get_at<wire::Status>("/v1/underway/status", {{"cluster", cluster}}, wait);
}

wire::CreatedJoinToken Client::create_join_token(const wire::NewJoinToken& request) {
  return json::decode_text<wire::CreatedJoinToken>(
      send("PUT", "/v1/underway/join-tokens", {}, json::encode(request)).body, "answer");
}
std::vector<model::JoinToken> Client::join_tokens() {
  return get<std::vector<model::JoinToken>>("/v1/underway/join-tokens");
}
void Client::revoke_join_token(const std::string& id) {
  send("DELETE", "/v1/underway/join-token/" + http::percent_encode(id));
}
boost::json::value Client::tls() { return json::parse(send("GET", "/v1/underway/tls").body); }
boost::json::value Client::rotate_tls(bool authority) {
  http::Query query;
  if (authority) query.add("authority", "true");
  return json::parse(send("PUT", "/v1/underway/tls/rotate", query).body);
}

boost::json::value Client::agent_self() { return json::parse(send("GET", "/v1/agent/self").body); }
boost::json::value Client::members() { return json::parse(send("GET", "/v1/agent/members").body); }
void Client::collect_garbage() { send("PUT", "/v1/system/gc"); }

void Client::stream(std::string_view path, http::Query query, const std::function<bool(std::string_view)>& piece,
                    const std::function<void(const http::Headers&)>& head) {
  auto request = http::request("GET", path, query);
  if (!address_.token.empty()) request.headers.set("X-Nomad-Token", address_.token);
  std::string refusal;
  bool refused = false;
  const int status = client_.stream(
      std::move(request),
      [&](int answer, const http::Headers& headers) {
        refused = answer >= 300;
        if (!refused && head) head(headers);
        return true;
      },
      [&](std::string_view bytes) {
        if (!refused) return piece(bytes);
        refusal += bytes;
        return refusal.size() < 64 * 1024;
      });
  if (refused) throw http::parse_plain_error(status, refusal);
}

http::Response Client::raw(const std::string& method, const std::string& target, std::string body, Duration within,
                           const http::Headers& more) {
  http::Request request;
  request.headers = more;
  request.method = method;
  request.target = target;
  request.body = std::move(body);
  if (!address_.token.empty()) request.headers.set("X-Nomad-Token", address_.token);
  return client_.send(std::move(request), within);
}

}  // namespace underway::sdk
