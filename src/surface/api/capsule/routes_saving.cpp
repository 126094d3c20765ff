// What is saved of capsules: snapshots, backups, drills, asked of the node that has the overlay. Ours, below
// /v1/underway.
#include "api/capsule/capsule_limits.hpp"
#include "api/cluster/change_note.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "ownership/upgrade.hpp"
#include "saving/server_side.hpp"
#include "wire/capsule/saving.hpp"

namespace underway::api {
namespace {

using acl::Capability;

template <class Wanted>
awaitable<Response> ask(Api& api, Request request, const char* method, Wanted wanted) {
  wanted.capsule = {namespace_of(request), request.param("name")};
  auto body = json::to_value(wanted);
  const auto told =
      co_await saving::ask_its_node(api.server, namespace_of(request), request.param("name"), method, std::move(body));
  co_return http::json(boost::json::serialize(told));
}

template <class Body>
Body body_of(const Request& request) {
  return json::decode<Body>(boost::json::value(parse_body(request)));
}

awaitable<Response> take_snapshot(Api& api, Request request) {
  const auto body = body_of<wire::TakeSnapshot>(request);
  request.tell(fmt::format("a snapshot of capsule {}", request.param("name")));
  saving::SnapshotRequest wanted{
      .capsule = {}, .reason = body.reason.empty() ? "by hand" : body.reason, .keep = body.keep};
  co_return co_await ask(api, std::move(request), "saving.snapshot", std::move(wanted));
}

awaitable<Response> list_snapshots(Api& api, Request request) {
  const saving::CapsuleName name{namespace_of(request), request.param("name")};
  auto body = json::to_value(name);
  const auto told = co_await saving::ask_its_node(api.server, name.ns, name.name, "saving.snapshots", std::move(body));
  co_return http::json(boost::json::serialize(told));
}

saving::BackupRequest backup_request(const wire::MakeBackup& body) {
  return {.capsule = {}, .where = body.where, .keep = body.keep, .check_percent = body.check_percent};
}

awaitable<Response> make_backup(Api& api, Request request) {
  const auto body = body_of<wire::MakeBackup>(request);
  request.tell(fmt::format("a backup of capsule {}", request.param("name")));
  auto wanted = backup_request(body);
  co_return co_await ask(api, std::move(request), "saving.backup", std::move(wanted));
}

awaitable<Response> list_backups(Api& api, Request request) {
  auto wanted = backup_request(body_of<wire::MakeBackup>(request));
  co_return co_await ask(api, std::move(request), "saving.backups", std::move(wanted));
}

awaitable<Response> make_drill(Api& api, Request request) {
  const auto body = body_of<wire::MakeDrill>(request);
  request.tell(fmt::format("a restore drill of capsule {}", request.param("name")));
  saving::DrillRequest wanted{.capsule = {},
                              .backup = body.backup,
                              .where = body.where,
                              .snapshot = body.snapshot,
                              .at = body.at,
                              .start = !body.only_compare,
                              .scripts = body.scripts};
  co_return co_await ask(api, std::move(request), "saving.drill", std::move(wanted));
}

/// What is to be restored is brought to the node first, while the capsule runs; then it is the record's business.
awaitable<Response> restore_capsule(Api& api, Request request) {
  const auto body = body_of<wire::RestoreCapsule>(request);
  const std::string ns = namespace_of(request), name = request.param("name");
  if (body.snapshot.empty() == (body.at == 0))
    throw Error(Code::invalid, "say either which snapshot, or of which time it shall be");
  const saving::FindRequest wanted{
      .capsule = {ns, name}, .backup = body.backup, .where = body.where, .snapshot = body.snapshot, .at = body.at};
  auto find = json::to_value(wanted);
  const auto found = co_await saving::ask_its_node(api.server, ns, name, "saving.find", std::move(find));
  wire::RestoredCapsule restored;
  restored.snapshot = json::decode<model::Snapshot>(found);
  ownership::BeginRestore restore{{ns, name, restored.snapshot.id}, capsule_limits(api)};
  restored.upgrade_id = co_await apply(api, request, std::move(restore));
  request.tell(fmt::format("capsule {} is restored to the snapshot {}", name, restored.snapshot.id));
  co_return http::json(json::encode(restored));
}

awaitable<Response> read_saving(Api& api, Request request) {
  const std::string ns = namespace_of(request), name = request.param("name");
  std::vector<tables::Scope> scopes{tables::record_scope<model::CapsuleSaving>(model::capsule_key(ns, name))};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    ownership::get_capsule(tables, ns, name);
    auto saved = tables::find_record<model::CapsuleSaving>(tables, model::capsule_key(ns, name));
    if (!saved) saved = model::CapsuleSaving{.ns = ns, .name = name};
    return json::encode(*saved);
  });
}

}  // namespace

void add_saving_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  const auto read = right::ns(Capability::read_job), change = right::ns(Capability::register_job);
  routes.add("GET", "/v1/underway/capsule/:name/saving", "read what is saved of capsule", read, with(read_saving));
  routes.add("GET", "/v1/underway/capsule/:name/snapshots", "list snapshots of capsule", read, with(list_snapshots));
  routes.add("PUT|POST", "/v1/underway/capsule/:name/snapshot", "take snapshot of capsule", change,
             with(take_snapshot));
  routes.add("PUT|POST", "/v1/underway/capsule/:name/backup", "back capsule up", change, with(make_backup));
  // It changes nothing, but it has the node use what the body names.
  routes.add("PUT|POST", "/v1/underway/capsule/:name/backups", "list backups of capsule", change, with(list_backups));
  routes.add("PUT|POST", "/v1/underway/capsule/:name/restore", "restore capsule", change, with(restore_capsule));
  routes.add("PUT|POST", "/v1/underway/capsule/:name/drill", "try what was saved of capsule", change, with(make_drill));
}

}  // namespace underway::api
