// Bytes on their way to nodes. However many ask at once: a large file is read from its rows piece by piece, so many
// nodes have their turn at a time, and the link's windows say how fast.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "files/masters/pieces.hpp"
#include "files/masters/service.hpp"

namespace underway::files {

using async::awaitable;
using model::FileContent;

namespace {

/// Large files that are sent at a time; each of them has one piece in memory, and a window of the link.
constexpr int kMostAtOnce = 32;
constexpr std::size_t kSentAtOnce = 64U << 10;
/// A node that takes nothing for so long loses its turn.
constexpr Duration kSendingPatience = std::chrono::seconds(60);

const Source& source_of(const Built& built, const std::string& digest, const std::string& node_id) {
  const auto source = built.sources.find(digest);
  if (source != built.sources.end()) return source->second;
  log::warn("files: node {} asked for bytes that its manifest does not name", node_id);
  throw Error(Code::denied, "these bytes are not for this node")
      .because("its present manifest does not name them; masters may have changed since it asked");
}

FileContent get_content(const tables::Tables& tables, const Source& source) {
  auto stored = tables::find_record<FileContent>(tables, source.content_id);
  if (!stored) throw Error(Code::not_found, "these bytes have just been replaced");
  return *std::move(stored);
}

}  // namespace

awaitable<boost::json::value> FileService::content(std::string node_id, ContentRequest request) {
  const auto built = co_await built_for(node_id, request.capsule);
  const auto* tables = co_await server_.read();
  // Not by way of ContentReply: a megabyte of base64 need not become text and be read again.
  boost::json::array contents;
  std::size_t bytes = 0;
  for (const auto& digest : request.digests) {
    const auto& source = source_of(built, digest, node_id);
    std::string data;
    if (source.text) {
      data = base64_encode(*source.text);
    } else {
      auto stored = get_content(*tables, source);
      if (!stored.pieces.empty())
        throw Error(Code::too_large, "a large file does not fit into an answer")
            .advise("upgrade the agent on this node: newer ones fetch it as a stream");
      data = stored.key_id.empty() ? std::move(stored.data)
                                   : base64_encode(open_content(stored, server_.keyring()).bytes());
    }
    bytes += data.size();
    if (!contents.empty() && bytes > 2 * static_cast<std::size_t>(kContentBytes))
      throw Error(Code::too_large, "more bytes were asked for than fit into one answer");
    contents.emplace_back(boost::json::object{{"Digest", digest}, {"Data", data}});
  }
  co_return boost::json::object{{"Contents", std::move(contents)}};
}

awaitable<void> FileService::serve(std::string node_id, std::string method, boost::json::value header,
                                   std::shared_ptr<link::Stream> stream) {
  if (method != "files.bytes") throw Error(Code::unsupported, fmt::format("the server has no stream '{}'", method));
  const auto request = json::decode<BytesRequest>(header);
  const auto turn = co_await take_turn();
  co_await send(std::move(node_id), request, std::move(stream));
}

awaitable<std::shared_ptr<void>> FileService::take_turn() {
  while (sending_ >= kMostAtOnce) co_await turn_.wait();
  ++sending_;
  co_return std::shared_ptr<void>(nullptr, [this](void*) {
    --sending_;
    turn_.notify_all();
  });
}

awaitable<void> FileService::send(std::string node_id, BytesRequest request, std::shared_ptr<link::Stream> stream) {
  const auto built = co_await built_for(node_id, request.capsule);
  const auto source = source_of(built, request.digest, node_id);
  const auto* tables = co_await server_.read();
  const auto pieces = source.text ? std::vector<std::string>() : get_content(*tables, source).pieces;
  if (pieces.empty()) throw Error(Code::invalid, "these bytes are too few for a stream");
  if (request.offset < 0) throw Error(Code::invalid, "a file has no bytes before its first");
  const auto offset = static_cast<std::size_t>(request.offset);
  std::size_t begin = offset % model::kPieceBytes;
  for (std::size_t i = offset / model::kPieceBytes; i < pieces.size(); ++i) {
    tables = co_await server_.read();
    const auto piece = open_piece(get_piece(*tables, pieces[i]), server_.keyring());
    for (; begin < piece.size(); begin += kSentAtOnce) {
      auto write = stream->write(std::string(piece.bytes().substr(begin, kSentAtOnce)));
      co_await async::within(kSendingPatience, "sending a file", std::move(write));
    }
    begin = 0;
  }
  stream->end();
}

}  // namespace underway::files
