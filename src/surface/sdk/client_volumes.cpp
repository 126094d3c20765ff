// Volumes of hosts.
#include "base/json/json.hpp"
#include "sdk/client.hpp"

namespace underway::sdk {
namespace {

constexpr const char* kClaims = "/v1/volumes/claims";

std::string volume_path(const std::string& id) { return "/v1/volume/host/" + http::percent_encode(id); }

std::string body_of(const boost::json::value& volume) {
  return boost::json::serialize(boost::json::object{{"Volume", volume}});
}

/// A plugin may take its time on the node.
constexpr Duration kVolumePatience = std::chrono::minutes(6);

}  // namespace

boost::json::value Client::volumes(http::Query query) {
  query.add("type", "host");
  return json::parse(send("GET", "/v1/volumes", std::move(query)).body);
}

boost::json::value Client::volume(const std::string& id, std::optional<Wait> wait) {
  return json::parse(send("GET", volume_path(id), {}, {}, wait).body);
}

boost::json::value Client::create_volume(const boost::json::value& volume) {
  return json::parse(send("PUT", "/v1/volume/host/create", {}, body_of(volume), {}, kVolumePatience).body);
}

boost::json::value Client::register_volume(const boost::json::value& volume) {
  return json::parse(send("PUT", "/v1/volume/host/register", {}, body_of(volume)).body);
}

void Client::delete_volume(const std::string& id, bool force) {
  http::Query query;
  if (force) query.add("force", "true");
  send("DELETE", volume_path(id) + "/delete", std::move(query), {}, {}, kVolumePatience);
}

boost::json::value Client::volume_claims(http::Query query) {
  return json::parse(send("GET", kClaims, std::move(query)).body);
}

void Client::delete_volume_claim(const std::string& id) {
  send("DELETE", std::string(kClaims) + "/" + http::percent_encode(id));
}

}  // namespace underway::sdk
