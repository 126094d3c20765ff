// Capsules: who runs them, moves, upgrades, fences, standbys. Ours, below /v1/underway.
#include "api/capsule/capsule_limits.hpp"
#include "api/cluster/change_note.hpp"
#include "api/cluster/slurm_versions.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "imageshare/server_images.hpp"
#include "ownership/controller.hpp"
#include "ownership/upgrade.hpp"
#include "wire/capsule/capsule.hpp"

namespace underway::api {
namespace {

using acl::Capability;
using model::Capsule;

/// With who would take over, by what is known now.
void complete(const Api& api, const tables::Tables& tables, Capsule& capsule) {
  if (api.capsules != nullptr) api.capsules->complete(capsule);
  capsule.successor = ownership::successor_of(tables, capsule, api.clock.now());
}

awaitable<Response> list_capsules(Api& api, Request request) {
  std::vector<tables::Scope> scopes{tables::records_scope()};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    NamespaceFilter shown(request);
    std::vector<Capsule> visible;
    for (auto& capsule : tables::records<Capsule>(tables)) {
      if (!shown(capsule.ns)) continue;
      complete(api, tables, capsule);
      visible.push_back(std::move(capsule));
    }
    return json_list(visible, [](const auto& capsule) { return json::encode(capsule); });
  });
}

awaitable<Response> read_capsule(Api& api, Request request) {
  const std::string ns = namespace_of(request), name = request.param("name");
  std::vector<tables::Scope> scopes{tables::record_scope<Capsule>(model::capsule_key(ns, name))};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    auto capsule = ownership::get_capsule(tables, ns, name);
    complete(api, tables, capsule);
    return json::encode(capsule);
  });
}

ownership::MoveRequest move_request(const Request& request, const wire::MoveCapsule& body) {
  return {namespace_of(request), request.param("name"), body.node, body.without_overlay};
}

/// By the decision that would begin it; nothing is looked at on the target. Throws what the decision throws.
awaitable<Response> plan_move(Api& api, Request request) {
  const auto body = json::decode<wire::MoveCapsule>(boost::json::value(parse_body(request)));
  const auto* tables = co_await api.server.read();
  const ownership::BeginMove begin{move_request(request, body), capsule_limits(api)};
  const auto decision = api.server.preview(begin);
  co_return http::json(json::encode(judged(api, *tables, decision.changes)));
}

awaitable<Response> move_capsule(Api& api, Request request) {
  const auto body = json::decode<wire::MoveCapsule>(boost::json::value(parse_body(request)));
  const auto wanted = move_request(request, body);
  if (body.dry_run) {
    if (api.capsules == nullptr) throw Error(Code::unsupported, "this server moves no capsules");
    co_await api.capsules->check_move(wanted);
    co_return http::json(json::encode(wire::MovedCapsule{}));
  }
  ownership::BeginMove begin{wanted, capsule_limits(api)};
  wire::MovedCapsule moved{co_await apply(api, request, std::move(begin))};
  request.tell(fmt::format("capsule {} moves to node {}", wanted.name, wanted.node.substr(0, 8)));
  co_return http::json(json::encode(moved));
}

/// With its version: what is pushed later under the same name is another image. A path is its node's business.
awaitable<std::pair<std::string, std::string>> resolve_image(Api& api, std::string reference) {
  if (reference.empty()) throw Error(Code::invalid, "no image is named");
  if (reference.front() == '/' || api.images == nullptr) co_return std::pair(reference, std::string());
  const auto image = co_await api.images->get(reference);
  if (reference == image.name) reference = image.name + ":" + image.version;
  co_return std::pair(reference, image.digest);
}

/// Of the image that an upgrade would be taken back to; empty when the store does not have it.
awaitable<std::string> digest_of_way_back(Api& api, std::string ns, std::string name) {
  const auto* tables = co_await api.server.read();
  const auto capsule = ownership::get_capsule(*tables, ns, name);
  if (!capsule.way_back || api.images == nullptr) co_return std::string();
  const std::string image = capsule.way_back->image;
  for (const auto& stored : co_await api.images->list()) {
    if (image == stored.digest || image == stored.name + ":" + stored.version) co_return stored.digest;
  }
  co_return std::string();
}

awaitable<Response> upgrade_capsule(Api& api, Request request) {
  auto body = json::decode<wire::UpgradeCapsule>(boost::json::value(parse_body(request)));
  ownership::UpgradeRequest wanted;
  wanted.ns = namespace_of(request);
  wanted.name = request.param("name");
  wanted.back = body.revert;
  if (!body.revert) {
    const auto [image, digest] = co_await resolve_image(api, body.image);
    wanted.image = image;
    wanted.digest = digest;
    wanted.scripts = std::move(body.scripts);
    wanted.rehearse_only = body.rehearse_only;
  } else {
    wanted.digest = co_await digest_of_way_back(api, wanted.ns, wanted.name);
  }
  if (!wanted.digest.empty() && !body.any_slurm_version) {
    auto manifest = co_await api.images->manifest(wanted.digest);
    co_await check_slurm_versions(api, std::move(manifest), wanted.ns, wanted.name, wanted.back);
  }
  if (wanted.back && !body.loses && api.capsules != nullptr)
    co_await api.capsules->ask_what_is_lost(wanted.ns, wanted.name);
  ownership::BeginUpgrade upgrade{wanted, capsule_limits(api)};
  wire::UpgradedCapsule begun{co_await apply(api, request, std::move(upgrade))};
  request.tell(wanted.back            ? fmt::format("the upgrade of capsule {} is taken back", wanted.name)
               : wanted.rehearse_only ? fmt::format("capsule {} is rehearsed with {}", wanted.name, wanted.image)
                                      : fmt::format("capsule {} is upgraded to {}", wanted.name, wanted.image));
  co_return http::json(json::encode(begun));
}

awaitable<Response> cancel_move(Api& api, Request request) {
  ownership::Cancel cancel{namespace_of(request), request.param("name"), capsule_limits(api)};
  co_await apply(api, request, std::move(cancel));
  co_return http::json("{}");
}

awaitable<Response> vouch(Api& api, Request request) {
  request.tell("a person says that the host of its owner is off");
  ownership::Vouch off{namespace_of(request), request.param("name"), capsule_limits(api)};
  co_await apply(api, request, std::move(off));
  co_return http::json("{}");
}

awaitable<Response> set_standby(Api& api, Request request) {
  const auto body = json::decode<wire::CapsuleStandby>(boost::json::value(parse_body(request)));
  ownership::SetStandby standby{namespace_of(request), request.param("name"), body.node, body.every, body.rpo,
                                capsule_limits(api)};
  co_await apply(api, request, std::move(standby));
  co_return http::json("{}");
}

}  // namespace

void add_capsule_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  const auto read = right::ns(Capability::read_job), change = right::ns(Capability::register_job);
  routes.add("GET", "/v1/underway/capsules", "list capsules", read, with(list_capsules));
  routes.add("GET", "/v1/underway/capsule/:name", "read capsule", read, with(read_capsule));
  routes.add("PUT|POST", "/v1/underway/capsule/:name/move", "move capsule", change, with(move_capsule));
  routes.add("PUT|POST", "/v1/underway/capsule/:name/move/plan", "plan move of capsule", change, with(plan_move),
             {.effect = Effect::reads});
  routes.add("PUT|POST", "/v1/underway/capsule/:name/upgrade", "upgrade capsule", change, with(upgrade_capsule));
  routes.add("PUT|POST", "/v1/underway/capsule/:name/cancel", "cancel move of capsule", change, with(cancel_move));
  routes.add("PUT|POST", "/v1/underway/capsule/:name/standby", "set standby of capsule", change, with(set_standby));
  routes.add("PUT|POST", "/v1/underway/capsule/:name/host-is-off", "vouch for a fence", right::management(),
             with(vouch));
}

}  // namespace underway::api
