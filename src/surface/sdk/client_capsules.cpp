// Capsules: who runs them, and moves.
#include <charconv>

#include "api/capsule_body.hpp"
#include "base/json.hpp"
#include "sdk/client.hpp"

namespace underway::sdk {
namespace {

std::string path_of(const std::string& name, std::string_view rest = {}) {
  return "/v1/underway/capsule/" + http::percent_encode(name) + std::string(rest);
}

}  // namespace

std::vector<model::Capsule> Client::capsules() {
  return json::decode_text<std::vector<model::Capsule>>(send("GET", "/v1/underway/capsules").body, "answer");
}

At<model::Capsule> Client::capsule(const std::string& name, Wait wait) {
  const auto response = send("GET", path_of(name), {}, {}, wait);
  At<model::Capsule> at{json::decode_text<model::Capsule>(response.body, "answer"), 0};
  if (const auto index = response.headers.find("X-Nomad-Index"))
    std::from_chars(index->data(), index->data() + index->size(), at.index);
  return at;
}

std::string Client::move_capsule(const std::string& name, const api::MoveCapsule& request) {
  const auto response = send("PUT", path_of(name, "/move"), {}, json::encode(request));
  return json::decode_text<api::MovedCapsule>(response.body, "answer").move_id;
}

void Client::cancel_capsule_move(const std::string& name) { send("PUT", path_of(name, "/cancel"), {}, "{}"); }

void Client::vouch_for_fence(const std::string& name) { send("PUT", path_of(name, "/host-is-off"), {}, "{}"); }

void Client::set_capsule_standby(const std::string& name, const api::CapsuleStandby& request) {
  send("PUT", path_of(name, "/standby"), {}, json::encode(request));
}

}  // namespace underway::sdk
