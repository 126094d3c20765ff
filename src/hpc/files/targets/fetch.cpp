// Bytes that a node lacks: small files several in one answer, large ones as a stream onto the disk.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "files/targets/extension.hpp"

namespace underway::files {

using node::awaitable;

awaitable<std::map<std::string, std::string>> FileExtension::fetch(std::string capsule,
                                                                   std::vector<ManifestEntry> entries,
                                                                   std::shared_ptr<link::Connection> server) {
  std::map<std::string, std::string> out;
  std::set<std::string> asked;
  for (std::size_t next = 0; next < entries.size();) {
    ContentRequest request{capsule, {}};
    std::int64_t bytes = 0;
    for (; next < entries.size(); ++next) {
      if (asked.contains(entries[next].digest)) continue;
      if (!request.digests.empty() && bytes + entries[next].size > kContentBytes) break;
      bytes += entries[next].size;
      asked.insert(entries[next].digest);
      request.digests.push_back(entries[next].digest);
    }
    if (request.digests.empty()) break;
    auto body = json::to_value(request);
    const auto answer = co_await server->call("files.content", std::move(body));
    for (auto& content : json::decode<ContentReply>(answer).contents) {
      auto text = base64_decode(content.data);
      if (hex(crypto::sha256(text)) != content.digest)
        throw Error(Code::denied, "bytes that the server sent are not those that its manifest names");
      out[content.digest] = std::move(text);
    }
  }
  co_return out;
}

/// What an earlier try brought is not asked for again.
awaitable<void> FileExtension::fetch_large(Followed& followed, std::vector<ManifestEntry> entries,
                                           std::shared_ptr<link::Connection> server) {
  auto& incoming = followed.rounds->incoming();
  std::set<std::string> digests;
  for (const auto& entry : entries) digests.insert(entry.digest);
  auto clear = [&] { incoming.keep_only(digests); };
  co_await async::on_pool(context_->pool, clear);
  for (auto& entry : entries) {
    if (digests.erase(entry.digest) > 0) co_await receive(incoming, std::move(entry), followed.target->name(), server);
  }
}

awaitable<void> FileExtension::receive(Incoming& incoming, ManifestEntry entry, std::string capsule,
                                       std::shared_ptr<link::Connection> server) {
  auto& pool = context_->pool;
  BytesRequest request{std::move(capsule), entry.digest, 0};
  auto look = [&] {
    request.offset = incoming.received(entry.digest);
    return incoming.is_whole(entry.digest);
  };
  if (co_await async::on_pool(pool, look)) co_return;
  std::int64_t have = request.offset;
  std::string gathered;
  auto write = [&] {
    incoming.append(entry.digest, have, gathered);
    have += static_cast<std::int64_t>(gathered.size());
    gathered.clear();
  };
  if (have < entry.size) {
    auto header = json::to_value(request, json::Encoding::compact);
    const auto stream = co_await server->open("files.bytes", std::move(header));
    stream->end();
    while (auto chunk = co_await stream->read()) {
      gathered += chunk->bytes;
      if (have + static_cast<std::int64_t>(gathered.size()) > entry.size) break;  // and it is not what it should be
      if (gathered.size() >= model::kPieceBytes) co_await async::on_pool(pool, write);
    }
    if (!gathered.empty()) co_await async::on_pool(pool, write);
  }
  auto finish = [&] { incoming.finish(entry.digest, entry.size); };
  co_await async::on_pool(pool, finish);
}

}  // namespace underway::files
