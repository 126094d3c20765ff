#include "imageshare/server_images.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"

namespace underway::imageshare {
namespace {

/// How long a node that knows the present keys waits for others.
constexpr auto kKeysWait = std::chrono::seconds(20);
constexpr std::size_t kPiece = 256U << 10;

Keys keys_in(const tables::Tables& tables) {
  Keys out;
  out.keys = tables::records<image::KeyRecord>(tables);
  std::string text;
  for (const auto& key : out.keys) text += json::encode(key);
  out.digest = hex(crypto::sha256(text));
  return out;
}

std::string read_piece(const os::Fd& file, std::int64_t offset) {
  std::string piece(kPiece, '\0');
  const ssize_t got = ::pread(file.get(), piece.data(), piece.size(), offset);
  if (got < 0) throw errno_error(errno, "cannot read an image");
  piece.resize(static_cast<std::size_t>(got));
  return piece;
}

/// What a capsule's task asks for; empty for others.
std::string image_of(const model::Task& task) {
  if (task.driver != "capsule" || !task.config.is_object()) return {};
  const auto* image = task.config.get_object().if_contains("image");
  return image != nullptr && image->is_string() ? std::string(std::string_view(image->get_string())) : std::string();
}

bool refers_to(const model::Job& job, const image::StoredImage& image) {
  for (const auto& group : job.groups) {
    for (const auto& task : group.tasks) {
      const auto asked = image_of(task);
      if (asked == image.digest || asked == image.name || asked == image.name + ":" + image.version) return true;
    }
  }
  return false;
}

}  // namespace

ServerImages::ServerImages(server::Server& server, Clock& clock, std::string directory)
    : server_(server), clock_(clock), store_(std::move(directory)) {}

server::Extension ServerImages::extension() {
  server::Extension out;
  out.call = [this](std::string, std::string method, boost::json::value body) {
    return answer(std::move(method), std::move(body));
  };
  out.stream = [this](std::string, std::string method, boost::json::value header,
                      std::shared_ptr<link::Stream> stream) {
    return serve(std::move(method), std::move(header), std::move(stream));
  };
  return out;
}

awaitable<boost::json::value> ServerImages::answer(std::string method, boost::json::value body) {
  if (method == "image.find") {
    const auto wanted = json::decode<Wanted>(body);
    const auto found = co_await get(wanted.reference);
    co_return json::to_value(found);
  }
  if (method == "image.keys") {
    const auto known = json::decode<KnownKeys>(body);
    const auto keys = co_await other_keys(known.digest);
    co_return json::to_value(keys);
  }
  throw Error(Code::unsupported, fmt::format("'{}' is no question about images", method));
}

awaitable<void> ServerImages::serve(std::string method, boost::json::value header,
                                    std::shared_ptr<link::Stream> stream) {
  if (method != "image.read") throw Error(Code::unsupported, fmt::format("'{}' is no stream of images", method));
  const auto part = json::decode<Part>(header);
  Write write = [stream](std::string bytes) { return stream->write(std::move(bytes)); };
  co_await read(part.digest, part.offset, std::move(write));
  stream->end();
}

awaitable<Keys> ServerImages::other_keys(std::string known) {
  const auto deadline = async::deadline_in(kKeysWait);
  const auto* tables = co_await server_.read();
  while (true) {
    auto keys = keys_in(*tables);
    if (keys.digest != known || std::chrono::steady_clock::now() >= deadline) co_return keys;
    const auto index = tables->revision();
    std::vector<tables::Scope> scopes{tables::records_scope()};
    tables = co_await server_.changed_since(std::move(scopes), index, deadline);
  }
}

std::vector<image::KeyRecord> ServerImages::keys() const {
  return tables::records<image::KeyRecord>(server_.writer().tables());
}

std::vector<image::TrustedKey> ServerImages::trusted() const {
  std::vector<image::TrustedKey> out;
  for (const auto& key : keys()) out.push_back(image::to_trusted(key));
  return out;
}

awaitable<std::vector<image::StoredImage>> ServerImages::list() {
  auto job = [this] { return store_.list(); };
  co_return co_await async::on_pool(pool_, job);
}

awaitable<image::StoredImage> ServerImages::get(std::string reference) {
  auto job = [&] { return store_.get(reference); };
  co_return co_await async::on_pool(pool_, job);
}

awaitable<image::Manifest> ServerImages::manifest(std::string digest) {
  auto job = [&] { return image::ImageFile::open(store_.path_of(digest)).manifest(); };
  co_return co_await async::on_pool(pool_, job);
}

std::vector<std::string> ServerImages::jobs_with(const image::StoredImage& image) const {
  std::vector<std::string> out;
  for (const auto& job : server_.writer().tables().jobs()) {
    if (!job->stop && refers_to(*job, image)) out.push_back(job->id);
  }
  return out;
}

awaitable<std::vector<image::StoredImage>> ServerImages::prune(Duration unused, bool dry) {
  auto images = co_await list();
  const auto* tables = co_await server_.read();
  const auto before = unix_nanos(clock_.now() - unused);
  // What capsules' records name, too: the way back of an upgrade asks for a digest.
  std::string named;
  for (const auto& row : tables->rows<model::Record>("capsule/")) named += boost::json::serialize(row->body);
  std::erase_if(images, [&](const auto& image) {
    if (image.added >= before || named.find(image.digest) != std::string::npos) return true;
    for (const auto& job : tables->jobs()) {
      if (refers_to(*job, image)) return true;
      for (const auto& version : tables->job_versions(job->ns, job->id)) {
        if (refers_to(version->job, image)) return true;
      }
    }
    return false;
  });
  auto job = [&] {
    for (const auto& image : images) store_.remove(image.digest);
  };
  if (!dry) co_await async::on_pool(pool_, job);
  co_return images;
}

awaitable<void> ServerImages::remove(std::string reference, bool force) {
  const auto image = co_await get(reference);
  co_await server_.read();
  const auto jobs = jobs_with(image);
  if (!force && !jobs.empty())
    throw Error(Code::conflict, fmt::format("the image '{}:{}' is not removed", image.name, image.version))
        .because("jobs refer to it: " + join(jobs, ", "))
        .advise("stop them, or remove it with -force: nodes that have it keep it");
  auto job = [&] { store_.remove(image.digest); };
  co_await async::on_pool(pool_, job);
}

awaitable<std::int64_t> ServerImages::received(image::Incoming incoming) {
  auto job = [&] { return store_.received(incoming); };
  co_return co_await async::on_pool(pool_, job);
}

awaitable<std::int64_t> ServerImages::append(image::Incoming incoming, std::int64_t offset, std::string bytes) {
  auto job = [&] { return store_.append(incoming, offset, bytes); };
  co_return co_await async::on_pool(pool_, job);
}

awaitable<image::StoredImage> ServerImages::finish(image::Incoming incoming) {
  co_await server_.read();
  const auto trusted_keys = trusted();
  auto job = [&] {
    store_.finish(incoming, trusted_keys, clock_.now());
    return store_.get(incoming.digest);
  };
  co_return co_await async::on_pool(pool_, job);
}

awaitable<void> ServerImages::read(std::string digest, std::int64_t offset, Write write) {
  auto open = [&] {
    if (!store_.has(digest)) throw Error(Code::not_found, fmt::format("there is no image '{}'", digest));
    return os::open_file(store_.path_of(digest), O_RDONLY);
  };
  const os::Fd file = co_await async::on_pool(pool_, open);
  if (offset < 0) throw Error(Code::invalid, "an image has no bytes before its first");
  while (true) {
    auto next = [&] { return read_piece(file, offset); };
    std::string piece = co_await async::on_pool(pool_, next);
    if (piece.empty()) co_return;
    offset += static_cast<std::int64_t>(piece.size());
    co_await write(std::move(piece));
  }
}

namespace {

/// Images that the key has signed are believed. Throws conflict for one that was revoked.
struct TrustKey {
  image::KeyRecord key;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const TrustKey& request,
                                         const server::Context&) {
  const auto known = tables::find_record<image::KeyRecord>(tables, request.key.id);
  if (known && known->revoked != 0)
    throw Error(Code::conflict, fmt::format("key '{}' ({}) was revoked and stays so", known->name, known->id))
        .because(known->reason)
        .advise("make a new key: underway capsule keys generate");
  server::Decision<server::Nothing> decision;
  decision.changes.push_back(tables::put_record(request.key));
  return decision;
}

/// They are not any more. Throws not_found; of one that is revoked already the first reason stays.
struct RevokeKey {
  std::string id, reason;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const RevokeKey& request,
                                         const server::Context& context) {
  auto known = tables::find_record<image::KeyRecord>(tables, request.id);
  if (!known)
    throw Error(Code::not_found, fmt::format("there is no key '{}'", request.id)).advise("see `capsule keys list`");
  server::Decision<server::Nothing> decision;
  if (known->revoked != 0) return decision;
  known->revoked = unix_nanos(context.now);
  known->reason = request.reason;
  decision.changes.push_back(tables::put_record(*known));
  return decision;
}

}  // namespace

awaitable<void> ServerImages::trust(image::KeyRecord key) {
  // Refused before anything is written.
  image::to_trusted(key);
  key.revoked = 0;
  key.reason.clear();
  TrustKey trusted{std::move(key)};
  co_await server_.apply(std::move(trusted));
}

awaitable<void> ServerImages::revoke(std::string id, std::string reason) {
  RevokeKey revoked{std::move(id), std::move(reason)};
  co_await server_.apply(std::move(revoked));
}

}  // namespace underway::imageshare
