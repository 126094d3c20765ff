// Capsules: who runs them, and moves.
#include "base/json/json.hpp"
#include "base/numbers.hpp"
#include "sdk/client.hpp"
#include "wire/capsule/capsule.hpp"

namespace underway::sdk {
namespace {

std::string capsule_path(const std::string& name, std::string_view rest = {}) {
  return "/v1/underway/capsule/" + http::percent_encode(name) + std::string(rest);
}

}  // namespace

std::vector<model::Capsule> Client::capsules() {
  return json::decode_text<std::vector<model::Capsule>>(send("GET", "/v1/underway/capsules").body, "answer");
}

Indexed<model::Capsule> Client::capsule(const std::string& name, Wait wait) {
  const auto response = send("GET", capsule_path(name), {}, {}, wait);
  Indexed<model::Capsule> at{json::decode_text<model::Capsule>(response.body, "answer"), 0};
  if (const auto index = response.headers.find("X-Nomad-Index")) at.index = leading_number_or(*index, at.index);
  return at;
}

std::string Client::move_capsule(const std::string& name, const wire::MoveCapsule& request) {
  const auto response = send("PUT", capsule_path(name, "/move"), {}, json::encode(request));
  return json::decode_text<wire::MovedCapsule>(response.body, "answer").move_id;
}

model::Judgement Client::plan_capsule_move(const std::string& name, const wire::MoveCapsule& request) {
  const auto response = send("PUT", capsule_path(name, "/move/plan"), {}, json::encode(request));
  return json::decode_text<model::Judgement>(response.body, "answer");
}

std::string Client::upgrade_capsule(const std::string& name, const wire::UpgradeCapsule& request) {
  const auto response = send("PUT", capsule_path(name, "/upgrade"), {}, json::encode(request));
  return json::decode_text<wire::UpgradedCapsule>(response.body, "answer").upgrade_id;
}

void Client::cancel_capsule_move(const std::string& name) { send("PUT", capsule_path(name, "/cancel"), {}, "{}"); }

void Client::vouch_for_fence(const std::string& name) { send("PUT", capsule_path(name, "/host-is-off"), {}, "{}"); }

void Client::set_capsule_standby(const std::string& name, const wire::CapsuleStandby& request) {
  send("PUT", capsule_path(name, "/standby"), {}, json::encode(request));
}

namespace {

/// Of what reads or writes all of an overlay.
constexpr Duration kAsLongAsTheDiskTakes = std::chrono::hours(24);

}  // namespace

model::CapsuleSaving Client::capsule_saving(const std::string& name) {
  return json::decode_text<model::CapsuleSaving>(send("GET", capsule_path(name, "/saving")).body, "answer");
}

model::Snapshots Client::capsule_snapshots(const std::string& name) {
  return json::decode_text<model::Snapshots>(send("GET", capsule_path(name, "/snapshots")).body, "answer");
}

model::Snapshot Client::take_capsule_snapshot(const std::string& name, const wire::TakeSnapshot& request) {
  const auto response =
      send("PUT", capsule_path(name, "/snapshot"), {}, json::encode(request), {}, kAsLongAsTheDiskTakes);
  return json::decode_text<model::Snapshot>(response.body, "answer");
}

model::Backed Client::make_capsule_backup(const std::string& name, const wire::MakeBackup& request) {
  const auto response =
      send("PUT", capsule_path(name, "/backup"), {}, json::encode(request), {}, kAsLongAsTheDiskTakes);
  return json::decode_text<model::Backed>(response.body, "answer");
}

model::Backups Client::capsule_backups(const std::string& name, const wire::MakeBackup& request) {
  const auto response =
      send("PUT", capsule_path(name, "/backups"), {}, json::encode(request), {}, kAsLongAsTheDiskTakes);
  return json::decode_text<model::Backups>(response.body, "answer");
}

wire::RestoredCapsule Client::restore_capsule(const std::string& name, const wire::RestoreCapsule& request) {
  const auto response =
      send("PUT", capsule_path(name, "/restore"), {}, json::encode(request), {}, kAsLongAsTheDiskTakes);
  return json::decode_text<wire::RestoredCapsule>(response.body, "answer");
}

model::Drilled Client::drill_capsule(const std::string& name, const wire::MakeDrill& request) {
  const auto response = send("PUT", capsule_path(name, "/drill"), {}, json::encode(request), {}, kAsLongAsTheDiskTakes);
  return json::decode_text<model::Drilled>(response.body, "answer");
}

}  // namespace underway::sdk
