// Jobs that start others, versions and counts.
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "sdk/client.hpp"
#include "sdk/detail/path.hpp"

namespace underway::sdk {
namespace {

StartedJob started_of(const http::Response& response) {
  const auto answer = json::parse(response.body);
  const auto text = [&](const char* key) {
    const auto* value = answer.as_object().if_contains(key);
    return value != nullptr && value->is_string() ? std::string(std::string_view(value->get_string())) : std::string();
  };
  return {text("DispatchedJobID"), text("EvalID")};
}

}  // namespace

void Client::tag_job_version(const std::string& id, const std::string& name, std::optional<std::int64_t> version,
                             const std::string& description) {
  boost::json::object body{{"Description", description}};
  if (version) body["Version"] = *version;
  send("PUT", job_path(id, "/versions/") + http::percent_encode(name) + "/tag", {}, boost::json::serialize(body));
}
void Client::untag_job_version(const std::string& id, const std::string& name) {
  send("DELETE", job_path(id, "/versions/") + http::percent_encode(name) + "/tag");
}

RegisteredJob Client::scale_job(const std::string& id, const std::string& group, std::int64_t count,
                                const std::string& message) {
  const boost::json::object body{
      {"Target", boost::json::object{{"Job", id}, {"Group", group}}}, {"Count", count}, {"Message", message}};
  const auto answer = json::parse(send("PUT", job_path(id, "/scale"), {}, boost::json::serialize(body)).body);
  return {json::decode<std::string>(answer.at("EvalID")), json::decode<std::int64_t>(answer.at("JobModifyIndex")), {}};
}
boost::json::value Client::job_scale(const std::string& id) {
  return json::parse(send("GET", job_path(id, "/scale")).body);
}
boost::json::value Client::scaling_policies(const std::string& job, const std::string& type) {
  http::Query query;
  if (!job.empty()) query.add("job", job);
  if (!type.empty()) query.add("type", type);
  return json::parse(send("GET", "/v1/scaling/policies", std::move(query)).body);
}
boost::json::value Client::scaling_policy(const std::string& id) {
  return json::parse(send("GET", "/v1/scaling/policy/" + http::percent_encode(id)).body);
}

StartedJob Client::force_periodic(const std::string& id) {
  return started_of(send("PUT", job_path(id, "/periodic/force"), {}, "{}"));
}

StartedJob Client::dispatch_job(const Dispatch& dispatch) {
  boost::json::object meta;
  for (const auto& [key, value] : dispatch.meta) meta[key] = value;
  boost::json::object body{{"JobID", dispatch.job}, {"Payload", base64_encode(dispatch.payload)}, {"Meta", meta}};
  if (!dispatch.id_prefix_template.empty()) body["IdPrefixTemplate"] = dispatch.id_prefix_template;
  if (dispatch.priority != 0) body["Priority"] = dispatch.priority;
  http::Query query;
  if (!dispatch.idempotency_token.empty()) query.add("idempotency_token", dispatch.idempotency_token);
  return started_of(send("PUT", job_path(dispatch.job, "/dispatch"), std::move(query), boost::json::serialize(body)));
}

}  // namespace underway::sdk
