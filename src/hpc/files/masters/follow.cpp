// Masters that lie on nodes, the management host's own /etc/passwd for one.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "files/masters/pieces.hpp"
#include "files/masters/service.hpp"

namespace underway::files {

using async::awaitable;
using model::FileContent;
using model::FileDeclaration;

async::LoopPlan FileService::masters_loop() {
  return {.area = "files",
          .name = "masters on nodes",
          .trouble = "what changes in masters on nodes is not seen",
          .wait = [this] { return async::sleep_for(options_.follow); },
          .reconcile = [this] { return follow_masters(); },
          .retry = async::RetryPolicy::up_to(options_.follow),
          .patience = std::chrono::minutes(30)};
}

/// They are what their nodes have. One that cannot be read keeps nobody from reading the others.
awaitable<void> FileService::follow_masters() {
  const auto* tables = co_await server_.read();
  for (auto& file : tables::records<FileDeclaration>(*tables)) {
    const auto node = file.from.empty() ? nullptr : node_of_master(*tables, file);
    if (!node || !server_.linked(node->id)) continue;
    const std::string key = model::file_key(file.cluster, file.name);
    std::string failure;
    try {
      co_await follow_master(std::move(file), node->id);
    } catch (const Error& error) {
      failure = error.one_line();
    }
    if (!failure.empty() && failure != unread_[key])
      log::warn("files: the master of '{}' cannot be read, what is known of it stays: {}", key, failure);
    unread_[key] = failure;
  }
}

awaitable<void> FileService::follow_master(FileDeclaration file, std::string node_id) {
  const auto* tables = co_await server_.read();
  MasterRequest request{file.source, ""};
  if (const auto known = tables::find_record<FileContent>(*tables, file.content_id))
    request.have = known->pieces.empty() ? hex(crypto::sha256(open_content(*known, server_.keyring()).bytes()))
                                         : content_digest(*known, server_.keyring());
  auto body = json::to_value(request);
  const auto answer = co_await server_.call_node(node_id, "files.master", std::move(body));
  auto reply = json::decode<MasterReply>(answer);
  if (reply.data) {
    file.content = base64_decode(*reply.data);
  } else if (!reply.digest.empty()) {
    const bool rendered = file.templating != model::FileTemplate::none || file.type == model::FileType::part;
    if (rendered)
      throw Error(Code::too_large,
                  fmt::format("a template or a part of one has {} at most", human_bytes(model::kPieceBytes)));
    file.sent = model::SentBytes{reply.digest, reply.size, {}};
    file.sent->pieces = co_await take_pieces(std::move(node_id), request, file.secret);
    co_await check_sent(file);
  } else {
    co_return;
  }
  tables = co_await server_.read();
  FollowMaster follow{new_file(*tables, std::move(file))};
  co_await server_.apply(std::move(follow));
}

awaitable<std::vector<std::string>> FileService::take_pieces(std::string node_id, MasterRequest request, bool secret) {
  auto header = json::to_value(request);
  const auto stream = co_await server_.open_stream(std::move(node_id), "files.master", std::move(header));
  stream->end();
  std::vector<std::string> pieces;
  std::string gathered;
  std::size_t size = 0;
  while (auto chunk = co_await stream->read()) {
    size += chunk->bytes.size();
    if (size > model::kFileBytes) break;  // and its digest does not fit
    gathered += chunk->bytes;
    if (gathered.size() < model::kPieceBytes) continue;
    pieces.push_back(co_await put_piece(gathered.substr(0, model::kPieceBytes), secret));
    gathered.erase(0, model::kPieceBytes);
  }
  if (!gathered.empty()) pieces.push_back(co_await put_piece(std::move(gathered), secret));
  co_return pieces;
}

}  // namespace underway::files
