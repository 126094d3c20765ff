// Files and logs of allocations, read from their node over the link. Streams are raw with ?plain=true; else Nomad's
// frames, one JSON object per piece: {"File":"…","Offset":n,"Data":base64} (api/fs.go, StreamFrame).
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "protocol/messages.hpp"

namespace underway::api {
namespace {

using acl::Capability;
protocol::FileRequest file_request(const Request& request, std::string alloc) {
  protocol::FileRequest file;
  file.alloc = std::move(alloc);
  file.path = request.query.find("path").value_or("/");
  file.offset = integer_parameter(request, "offset", 0);
  file.limit = integer_parameter(request, "limit", 0);
  file.origin = request.query.find("origin").value_or("start");
  file.follow = !request.query.has("follow") || request.query.flag("follow");
  return file;
}

awaitable<std::pair<std::string, std::string>> locate(Api& api, const Request& request) {
  const auto* tables = co_await api.server.read();
  const auto allocation = tables->find_allocation(request.param("id"));
  // In the words of Nomad's nodes, who are asked there.
  if (!allocation) throw Error(Code::not_found, fmt::format("Unknown allocation \"{}\"", request.param("id")));
  co_return std::pair{allocation->id, allocation->node_id};
}

awaitable<Response> answer_from_node(Api& api, Request request, const char* method) {
  const auto [alloc, node_id] = co_await locate(api, request);
  auto body = json::to_value(file_request(request, alloc));
  const auto answer = co_await api.server.call_node(node_id, method, std::move(body));
  co_return http::json(boost::json::serialize(answer));
}

/// What the node sent first: a refusal becomes the answer, with its status, instead of a body that breaks off. One that
/// has nothing to say yet (a log that is followed) is not waited for longer than this.
constexpr Duration kFirstPiece = std::chrono::milliseconds(500);

struct Opened {
  std::shared_ptr<link::Stream> stream;
  std::optional<link::Chunk> first;
  bool over = false;
};

awaitable<Opened> begin_stream(Api& api, std::string node_id, const char* method, boost::json::value header) {
  Opened opened;
  opened.stream = co_await api.server.open_stream(std::move(node_id), method, std::move(header));
  try {
    opened.first = co_await async::within(kFirstPiece, "the first piece", opened.stream->read());
    opened.over = !opened.first;
  } catch (const Error& error) {
    if (error.code() != Code::timeout) throw;
  }
  co_return opened;
}

awaitable<void> copy(Opened opened, http::BodyWriter& writer, std::string file, std::int64_t offset, bool plain) {
  while (!opened.over) {
    auto chunk = opened.first ? std::exchange(opened.first, {}) : co_await opened.stream->read();
    if (!chunk) break;
    std::string piece = std::move(chunk->bytes);
    if (!plain) {
      const auto size = static_cast<std::int64_t>(piece.size());
      piece = boost::json::serialize(
          boost::json::object{{"File", file}, {"Offset", offset}, {"Data", base64_encode(piece)}});
      offset += size;
    }
    co_await writer.write(std::move(piece));
  }
}

/// A response whose body is the stream.
awaitable<Response> stream_from_node(Api& api, std::string node_id, const char* method, boost::json::value header,
                                     std::string file, std::int64_t offset, bool plain) {
  const auto opened = co_await begin_stream(api, std::move(node_id), method, std::move(header));
  Response response;
  response.headers.set("Content-Type", plain ? "text/plain; charset=utf-8" : "application/json");
  response.stream = [opened, file, offset, plain](http::BodyWriter& writer) {
    return copy(opened, writer, file, offset, plain);
  };
  co_return response;
}

awaitable<Response> read_file(Api& api, Request request, const char* method, bool plain) {
  if (request.query.find("path").value_or("").empty()) throw Error(Code::invalid, "must provide a file name");
  const auto [alloc, node_id] = co_await locate(api, request);
  const auto file = file_request(request, alloc);
  if (file.origin != "start" && file.origin != "end") throw Error(Code::invalid, "origin must be start or end");
  auto header = json::to_value(file);
  co_return co_await stream_from_node(api, node_id, method, std::move(header), file.path, file.offset, plain);
}

awaitable<Response> read_logs(Api& api, Request request) {
  protocol::LogRequest logs;
  logs.task = request.query.find("task").value_or("");
  logs.type = request.query.find("type").value_or("stdout");
  logs.follow = request.query.flag("follow");
  logs.origin = request.query.find("origin").value_or("start");
  logs.offset = integer_parameter(request, "offset", 0);
  if (logs.task.empty()) throw Error(Code::invalid, "must provide task name");
  if (logs.type != "stdout" && logs.type != "stderr")
    throw Error(Code::invalid, "must provide log type (stdout/stderr)");
  if (logs.origin != "start" && logs.origin != "end") throw Error(Code::invalid, "origin must be start or end");
  const auto [alloc, node_id] = co_await locate(api, request);
  logs.alloc = alloc;
  auto header = json::to_value(logs);
  co_return co_await stream_from_node(api, node_id, "logs", std::move(header), logs.task + "." + logs.type, logs.offset,
                                      request.query.flag("plain"));
}

}  // namespace

void add_allocation_file_routes(Routes& routes, Api& api) {
  const auto ask = [&](const char* path, const char* name, const char* method) {
    routes.add("GET", path, name, right::ns(Capability::read_fs, of_allocation),
               [&api, method](Request request) { return answer_from_node(api, std::move(request), method); });
  };
  ask("/v1/client/fs/ls/:id", "list files", "fs.ls");
  ask("/v1/client/fs/stat/:id", "file status", "fs.stat");
  routes.add("GET", "/v1/client/fs/cat/:id", "read file", right::ns(Capability::read_fs, of_allocation),
             [&api](Request request) { return read_file(api, std::move(request), "fs.cat", true); });
  routes.add("GET", "/v1/client/fs/readat/:id", "read part of file", right::ns(Capability::read_fs, of_allocation),
             [&api](Request request) { return read_file(api, std::move(request), "fs.readat", true); });
  routes.add("GET", "/v1/client/fs/stream/:id", "follow file", right::ns(Capability::read_fs, of_allocation),
             [&api](Request request) {
               const bool plain = request.query.flag("plain");
               return read_file(api, std::move(request), "fs.stream", plain);
             });
  routes.add("GET", "/v1/client/fs/logs/:id", "read logs", right::ns(Capability::read_logs, of_allocation),
             [&api](Request request) { return read_logs(api, std::move(request)); });
}

}  // namespace underway::api
