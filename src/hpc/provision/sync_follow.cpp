// Masters that lie on nodes, the management host's own /etc/passwd for one.
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "provision/sync_server.hpp"

namespace underway::provision {

using async::awaitable;
using model::FileContent;
using model::SyncFile;

/// They are what their nodes have.
awaitable<void> FileService::follow_masters() {
  while (true) {
    co_await async::sleep_for(options_.follow);
    const auto* tables = co_await server_.read();
    for (auto& file : tables::records<SyncFile>(*tables)) {
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
}

awaitable<void> FileService::follow_master(SyncFile file, std::string node_id) {
  const auto* tables = co_await server_.read();
  MasterRequest request{file.source, ""};
  if (const auto known = tables::find_record<FileContent>(*tables, file.content_id))
    request.have = hex(crypto::sha256(open_content(*known, server_.keyring()).bytes()));
  auto body = json::to_value(request);
  const auto answer = co_await server_.call_node(std::move(node_id), "files.master", std::move(body));
  auto reply = json::decode<MasterReply>(answer);
  if (!reply.data) co_return;
  file.content = base64_decode(*reply.data);
  tables = co_await server_.read();
  const auto read = new_file(*tables, std::move(file));
  auto decide = [read](const Tables& now, const server::Context& context) {
    return decide_follow_master(now, read, context);
  };
  co_await server_.writer().submit(std::move(decide));
}

}  // namespace underway::provision
