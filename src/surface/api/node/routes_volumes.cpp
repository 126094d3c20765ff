// Dynamic host volumes and the claims on them. Volumes of CSI are refused by name: there are no such plugins here.
#include "api/cluster/change_note.hpp"
#include "api/node/volume_body.hpp"
#include "api/nomad/stubs.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "server/node/host_volumes.hpp"

namespace underway::api {
namespace {

using acl::Capability;
using acl::Level;
using boost::json::object;
using model::HostVolume;
using model::HostVolumeClaim;
using tables::Tables;

/// The namespace of the volume that the path names.
std::string of_volume(const Tables& tables, const http::Request& request) {
  for (const auto& [name, value] : request.params) {
    if (name != "id") continue;
    const auto volume = tables::find_record<HostVolume>(tables, value);
    return volume ? volume->ns : "*";
  }
  return "*";
}

std::string of_claim(const Tables& tables, const http::Request& request) {
  for (const auto& [name, value] : request.params) {
    if (name != "id") continue;
    for (const auto& claim : tables::records<HostVolumeClaim>(tables)) {
      if (claim.id == value) return claim.ns;
    }
  }
  return "*";
}

/// As Nomad's HostVolumeStub.
object stub_of(const HostVolume& volume) {
  return {{"ID", volume.id},
          {"Name", volume.name},
          {"Namespace", volume.ns},
          {"PluginID", volume.plugin_id},
          {"NodePool", volume.node_pool},
          {"NodeID", volume.node_id},
          {"CapacityBytes", volume.capacity},
          {"State", std::string(describe::spell(volume.state))},
          {"CreateIndex", volume.create_index},
          {"CreateTime", volume.create_time},
          {"ModifyIndex", volume.modify_index},
          {"ModifyTime", volume.modify_time}};
}

bool asked_for(const Request& request, const char* parameter, const std::string& value) {
  const auto wanted = request.query.find(parameter);
  return !wanted || wanted->empty() || *wanted == value;
}

awaitable<Response> list_volumes(Api& api, Request request) {
  const std::string type = request.query.find("type").value_or("");
  if (type != "host" && type != "csi" && !type.empty())
    throw Error(Code::invalid, fmt::format("volume type '{}' is neither host nor csi", type));
  const std::string prefix = request.query.find("prefix").value_or("");
  std::vector<tables::Scope> scopes{tables::records_scope()};
  co_return co_await answer_list(api, request, std::move(scopes), [&](const Tables& tables) {
    std::vector<Item> items;
    if (type != "host") return items;
    NamespaceFilter shown(request);
    for (auto& volume : tables::records<HostVolume>(tables, prefix)) {
      const std::string node_prefix = request.query.find("node_id").value_or("");
      if (!shown(volume.ns) || !volume.node_id.starts_with(node_prefix)) continue;
      if (!asked_for(request, "node_pool", volume.node_pool) || !asked_for(request, "plugin_id", volume.plugin_id))
        continue;
      const auto row = std::make_shared<const HostVolume>(std::move(volume));
      items.push_back({row->id, [row] { return boost::json::serialize(stub_of(*row)); }, filter::datum_of(*row)});
    }
    return items;
  });
}

awaitable<Response> read_volume(Api& api, Request request) {
  const std::string id = request.param("id");
  std::vector<tables::Scope> scopes{tables::record_scope<HostVolume>(id), {tables::Topic::allocations, ""}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const Tables& tables) {
    const auto volume = tables::find_record<HostVolume>(tables, id);
    if (!volume) throw Error(Code::not_found, "volume not found");
    object body = volume_body(*volume);
    boost::json::array users;
    for (const auto& user : server::users_of(tables, *volume)) users.push_back(nomad_value(stub(tables, *user)));
    body["Allocations"] = std::move(users);
    return boost::json::serialize(body);
  });
}

server::PutHostVolume put_of(const Request& request, bool registering, Capability needed) {
  const auto body = parse_body(request);
  const auto* given = json::find_member(body, "Volume");
  if (given == nullptr || !given->is_object()) throw Error(Code::invalid, "Volume must be specified");
  server::PutHostVolume put;
  put.volume = json::decode<HostVolume>(*given, "Volume");
  put.registering = registering;
  if (put.volume.ns.empty() || json::find_member(given->get_object(), "Namespace") == nullptr)
    put.volume.ns = namespace_of(request);
  if (!registering && put.volume.plugin_id.empty()) put.volume.plugin_id = model::kMkdirPlugin;
  request.require(right::ns(needed), put.volume.ns);
  return put;
}

awaitable<Response> put_volume(Api& api, Request request, bool registering) {
  auto put =
      put_of(request, registering, registering ? Capability::host_volume_register : Capability::host_volume_create);
  const auto answer = co_await api.server.host_volumes().put(std::move(put));
  request.made(tables::record_scope<HostVolume>(answer.volume.id));
  const auto index = api.server.writer().tables().revision();
  co_return written(
      boost::json::serialize(object{{"Volume", volume_body(answer.volume)}, {"Warnings", answer.warning}}), index);
}

awaitable<Response> create_volume(Api& api, Request request) { return put_volume(api, std::move(request), false); }
awaitable<Response> register_volume(Api& api, Request request) { return put_volume(api, std::move(request), true); }

awaitable<Response> delete_volume(Api& api, Request request) {
  co_await request.about(tables::record_scope<HostVolume>(request.param("id")));
  co_await api.server.host_volumes().remove(request.param("id"), request.query.flag("force"));
  co_return written("{}", api.server.writer().tables().revision());
}

object claim_of(const HostVolumeClaim& claim) {
  object body = json::to_value(claim).as_object();
  body.erase("AllocIndex");
  return body;
}

awaitable<Response> list_claims(Api& api, Request request) {
  std::vector<tables::Scope> scopes{tables::records_scope()};
  co_return co_await answer_list(api, request, std::move(scopes), [&](const Tables& tables) {
    std::vector<Item> items;
    NamespaceFilter shown(request);
    for (auto& claim : tables::records<HostVolumeClaim>(tables)) {
      if (!shown(claim.ns) || !asked_for(request, "job_id", claim.job_id) ||
          !asked_for(request, "task_group", claim.group) || !asked_for(request, "volume_name", claim.volume_name))
        continue;
      const auto row = std::make_shared<const HostVolumeClaim>(std::move(claim));
      items.push_back({row->id, [row] { return boost::json::serialize(claim_of(*row)); }, filter::datum_of(*row)});
    }
    return items;
  });
}

awaitable<Response> delete_claim(Api& api, Request request) {
  server::DeleteVolumeClaim wanted{request.param("id")};
  co_await apply(api, request, std::move(wanted));
  co_return written("{}", api.server.writer().tables().revision());
}

/// Of CSI, which has none here.
awaitable<Response> list_plugins(Api& api, Request request) {
  std::vector<tables::Scope> scopes;
  co_return co_await answer_read(api, request, std::move(scopes), [](const Tables&) { return std::string("[]"); });
}

awaitable<Response> no_csi(Api&, Request request) {
  const bool plugin = request.path.starts_with("/v1/plugin/");
  throw Error(Code::not_found, plugin ? "plugin not found" : "volume not found")
      .advise("storage is not attached by CSI here: see `underway volume create`");
}

}  // namespace

void add_volume_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  const auto reads = right::ns(Capability::host_volume_read);
  const auto deletes = right::ns(Capability::host_volume_delete, of_volume);
  routes.add("GET", "/v1/volumes", "list volumes", reads, with(list_volumes));
  routes.add("PUT|POST", "/v1/volume/host/create", "create volume", right::ns(Capability::host_volume_create, in_body),
             with(create_volume));
  routes.add("PUT|POST", "/v1/volume/host/register", "register volume",
             right::ns(Capability::host_volume_register, in_body), with(register_volume));
  routes.add("GET", "/v1/volume/host/:id", "read volume", right::ns(Capability::host_volume_read, of_volume),
             with(read_volume));
  routes.add("DELETE", "/v1/volume/host/:id/delete", "delete volume", deletes, with(delete_volume));
  // Nomad's own client library sends it here.
  routes.add("DELETE", "/v1/volume/host/:id", "delete volume", deletes, with(delete_volume));
  routes.add("GET", "/v1/volumes/claims", "list volume claims", reads, with(list_claims));
  routes.add("DELETE", "/v1/volumes/claims/:id", "delete volume claim",
             right::ns(Capability::host_volume_delete, of_claim), with(delete_claim));
  routes.add("GET", "/v1/plugins", "list plugins", right::plugin(Level::read), with(list_plugins));
  routes.add("GET", "/v1/plugin/csi/:id", "read CSI plugin", right::plugin(Level::read), with(no_csi));
  routes.add("GET", "/v1/volume/csi/:id", "read CSI volume", right::ns(Capability::csi_read_volume), with(no_csi));
}

}  // namespace underway::api
