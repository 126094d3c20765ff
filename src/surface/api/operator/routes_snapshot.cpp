// The state of the server in one file, and back: see server/storage/snapshots.hpp.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "os/fd.hpp"
#include "server/storage/snapshot_losses.hpp"

namespace underway::api {
namespace {

/// Packed. A state of a million allocations has about a tenth of it.
constexpr std::size_t kSnapshotLimit = std::size_t{4} << 30;
constexpr std::size_t kSnapshotPiece = 1U << 20;

/// The disk is asked on a thread of its own: the loop has nodes to listen to.
awaitable<void> send_file(std::shared_ptr<const server::SavedSnapshot> saved, http::BodyWriter& writer) {
  const std::string path = saved->file->path();
  const os::Fd file = os::open_file(path, O_RDONLY | O_NOFOLLOW);
  async::Pool pool(1);
  std::string piece;
  auto read_piece = [&] {
    piece.resize(kSnapshotPiece);
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0) throw errno_error(errno, fmt::format("cannot read '{}'", path));
    piece.resize(static_cast<std::size_t>(got));
  };
  while (true) {
    co_await async::on_pool(pool, read_piece);
    if (piece.empty()) co_return;
    co_await writer.write(std::exchange(piece, {}));
  }
}

/// The body on disk; how many bytes it has.
awaitable<std::size_t> receive_file(std::string path, http::BodyReader& body) {
  const os::Fd file = os::open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  async::Pool pool(1);
  std::string pending;
  std::size_t size = 0;
  auto write_pending = [&] { os::write_all(file, pending, fmt::format("'{}'", path)); };
  while (true) {
    const std::string piece = co_await body.read();
    pending += piece;
    size += piece.size();
    if (pending.size() < kSnapshotPiece && !piece.empty()) continue;
    co_await async::on_pool(pool, write_pending);
    pending.clear();
    if (piece.empty()) co_return size;
  }
}

awaitable<Response> save(Api& api, Request) {
  const auto saved = co_await api.server.save_snapshot();
  Response response;
  response.headers.set("Content-Type", "application/x-gzip");
  response.headers.set("Content-Disposition", fmt::format("attachment; filename={}.tgz", saved->metadata.id));
  response.headers.set("Digest", "sha-256=" + base64_encode(saved->packed.sha256));
  response.headers.set("X-Nomad-Index", std::to_string(saved->metadata.index));
  response.headers.set("X-Nomad-LastContact", "0");
  response.stream = [saved](http::BodyWriter& writer) { return send_file(saved, writer); };
  co_return response;
}

awaitable<std::shared_ptr<server::SnapshotFile>> receive(Api& api, http::BodyReader& body) {
  auto incoming = api.server.new_snapshot_file();
  const std::size_t size = co_await receive_file(incoming->path(), body);
  if (size == 0) {
    throw Error(Code::invalid, "there is no snapshot in the request")
        .advise("send the file as it was saved, as the body of the request");
  }
  co_return incoming;
}

/// A path of its own, and no flag of the restoration's: a server that did not know the flag would restore.
awaitable<Response> tell_losses(Api& api, Request request, http::BodyReader& body) {
  const auto incoming = co_await receive(api, body);
  const auto losses = co_await server::losses_of_snapshot(api.server, incoming->path(), request.query.flag("force"));
  co_return http::json(json::encode(losses));
}

awaitable<Response> restore(Api& api, Request request, http::BodyReader& body) {
  const auto incoming = co_await receive(api, body);
  const auto restored = co_await api.server.restore_snapshot(incoming->path(), request.query.flag("force"));
  request.tell(fmt::format("restored {} of revision {}", restored.metadata.id, restored.metadata.index));
  Response response = written("", restored.revision);
  response.headers.set("Content-Type", "text/plain");
  co_return response;
}

}  // namespace

void add_snapshot_routes(Routes& routes, Api& api) {
  routes.add("GET", "/v1/operator/snapshot", "save snapshot", right::management(),
             [&api](Request request) { return save(api, std::move(request)); });
  routes.add_streamed(
      "PUT|POST", "/v1/operator/snapshot", "restore snapshot", right::management(),
      [&api](Request request, http::BodyReader& body) { return restore(api, std::move(request), body); },
      {.body_limit = kSnapshotLimit});
  routes.add_streamed(
      "PUT|POST", "/v1/underway/snapshot/losses", "losses of snapshot", right::management(),
      [&api](Request request, http::BodyReader& body) { return tell_losses(api, std::move(request), body); },
      {.body_limit = kSnapshotLimit, .effect = Effect::reads});
}

}  // namespace underway::api
