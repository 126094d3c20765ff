// Synchronised files: ours, below /v1/underway. Names hold slashes, so they are in the query.
#include "api/cluster/change_note.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "files/masters/status.hpp"
#include "wire/file/file.hpp"

namespace underway::api {
namespace {

using acl::Level;
using model::FileDeclaration;

files::FileService& service_of(Api& api) {
  if (api.files == nullptr) throw Error(Code::unsupported, "this server synchronises no files");
  return *api.files;
}

std::string asked(const Request& request, const char* name) {
  const auto value = request.query.find(name);
  if (!value || value->empty()) throw Error(Code::invalid, fmt::format("the request names no {}", name));
  return *value;
}

std::string cluster_of(const Request& request) { return request.query.find("cluster").value_or(""); }

FileDeclaration get_file(const tables::Tables& tables, const Request& request) {
  const std::string name = asked(request, "name");
  auto file = tables::find_record<FileDeclaration>(tables, model::file_key(cluster_of(request), name));
  if (!file) throw Error(Code::not_found, fmt::format("file '{}' not found", name)).advise("see `underway file list`");
  return *std::move(file);
}

awaitable<Response> list_files(Api& api, Request request) {
  std::vector<tables::Scope> scopes{tables::records_scope()};
  const auto cluster = request.query.find("cluster");
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    std::vector<FileDeclaration> files;
    for (auto& file : tables::records<FileDeclaration>(tables)) {
      if (!cluster || cluster->empty() || file.cluster == *cluster) files.push_back(std::move(file));
    }
    return json_list(files, [](const auto& file) { return json::encode(file); });
  });
}

awaitable<Response> read_file(Api& api, Request request) {
  std::vector<tables::Scope> scopes{tables::records_scope()};
  co_return co_await answer_read(api, request, std::move(scopes),
                                 [&](const tables::Tables& tables) { return json::encode(get_file(tables, request)); });
}

/// As declared; with `node`, as that node gets it.
awaitable<Response> read_file_content(Api& api, Request request) {
  auto& service = service_of(api);
  const auto* tables = co_await api.server.read();
  const auto node = request.query.find("node");
  const auto file = get_file(*tables, request);
  if (!node) co_return http::json(json::encode(wire::MasterBody{base64_encode(service.master(*tables, file))}));
  auto render = service.preview(file.cluster, file.name, *node);
  const auto bytes = co_await computed(api, request, "rendering the files of the node", render);
  co_return http::json(json::encode(wire::MasterBody{base64_encode(bytes)}));
}

awaitable<Response> put_files(Api& api, Request request) {
  auto& service = service_of(api);
  auto read = [&request] { return json::decode<wire::FilesBody>(parse_body(request)); };
  auto body = co_await computed(api, request, "reading the files", read);
  for (const auto& entry : body.files) request.tell(fmt::format("file {}", entry.file.name));
  const bool dry = request.query.flag("dry-run");
  auto files = wire::files_of(std::move(body.files));
  auto wanted = co_await service.prepare_put(cluster_of(request), std::move(files), false, dry);
  if (dry) {
    co_await api.server.read();
    co_return http::json(json::encode(api.server.preview(wanted).result));
  }
  const auto put = co_await apply(api, request, std::move(wanted));
  co_return http::json(json::encode(put));
}

/// Before the declaration that names it.
awaitable<Response> put_piece(Api& api, Request request) {
  const bool secret = request.query.flag("secret");
  const auto id = co_await service_of(api).put_piece(std::move(request.body), secret);
  co_return http::json(json::encode(wire::FilePieceBody{id}));
}

awaitable<Response> delete_file(Api& api, Request request) {
  const std::string name = asked(request, "name");
  request.tell(fmt::format("file {}", name));
  service_of(api);
  files::RemoveFile file{cluster_of(request), name};
  co_await apply(api, request, std::move(file));
  co_return http::json("{}");
}

awaitable<Response> sync_now(Api& api, Request request) {
  auto& service = service_of(api);
  auto body = json::decode<wire::SyncNowBody>(parse_body(request));
  if (body.accept_restored) co_await service.accept_restored();
  const auto* tables = co_await api.server.read();
  const std::string cluster = cluster_of(request);
  if (body.nodes.empty()) {
    for (const auto& node : tables->nodes()) {
      if (cluster.empty() || node->cluster == cluster) body.nodes.push_back(node->id);
    }
  }
  for (const auto& id : body.nodes) get_node(*tables, id);
  const auto told = co_await service.sync(std::move(body.nodes));
  co_return http::json(boost::json::serialize(boost::json::object{{"Told", told}}));
}

awaitable<Response> read_states(Api& api, Request request) {
  auto& service = service_of(api);
  const std::string cluster = cluster_of(request);
  std::vector<tables::Scope> scopes{tables::records_scope(), {tables::Topic::nodes, ""}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    const auto linked = [&api](const std::string& id) { return api.server.linked(id); };
    return json_list(files::target_states(tables, service, cluster, linked),
                     [](const auto& status) { return json::encode(status); });
  });
}

/// Without a key, as long as the server has made none.
awaitable<Response> read_key(Api& api, Request request) {
  std::vector<tables::Scope> scopes{tables::records_scope(), {tables::Topic::nodes, ""}};
  co_return co_await answer_read(api, request, std::move(scopes), [](const tables::Tables& tables) {
    return json::encode(files::key_state(tables).value_or(model::FileKeyState{}));
  });
}

awaitable<Response> rotate_key(Api& api, Request request) {
  const bool force = request.query.flag("force");
  const auto state = co_await service_of(api).rotate_key(force);
  request.tell(state.next.empty() ? fmt::format("key {} signs", state.key)
                                  : fmt::format("key {} follows {}", state.next, state.key));
  impact::Finding finding{model::Impact::none, "nodes believe another key; their files stay as they are"};
  const std::string what = "rotate the key that signs manifests of files";
  ChangeWords words{force ? what + ", by force" : what};
  co_await note_change(api, request, std::move(words), std::move(finding));
  co_return http::json(json::encode(state));
}

/// A file as it is on a node now.
awaitable<Response> read_actual(Api& api, Request request) {
  files::ReadRequest ask{request.query.find("capsule").value_or(""), asked(request, "path")};
  const auto reply = co_await service_of(api).read(asked(request, "node"), std::move(ask));
  co_return http::json(json::encode(reply));
}

}  // namespace

void add_declared_file_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  // What a file says, and the commands beside it, run as root on nodes.
  routes.add("GET", "/v1/underway/files", "list files", right::operators(Level::read), with(list_files));
  routes.add("PUT|POST", "/v1/underway/files", "declare files", right::management(), with(put_files),
             {.body_limit = kClusterBodyLimit});
  routes.add("PUT|POST", "/v1/underway/files/piece", "piece of a file", right::management(), with(put_piece),
             {.body_limit = model::kPieceBytes});
  routes.add("PUT|POST", "/v1/underway/files/sync", "synchronise now", right::operators(Level::write), with(sync_now));
  routes.add("GET", "/v1/underway/files/status", "status of files", right::operators(Level::read), with(read_states));
  routes.add("GET", "/v1/underway/files/key", "key of manifests", right::operators(Level::read), with(read_key));
  routes.add("PUT|POST", "/v1/underway/files/key/rotate", "rotate key of manifests", right::management(),
             with(rotate_key));
  routes.add("GET", "/v1/underway/file", "read file", right::operators(Level::read), with(read_file));
  routes.add("DELETE", "/v1/underway/file", "remove file", right::management(), with(delete_file));
  routes.add("GET", "/v1/underway/file/content", "read master", right::management(), with(read_file_content));
  routes.add("GET", "/v1/underway/file/actual", "read file on node", right::management(), with(read_actual));
}

}  // namespace underway::api
