// The key that signs manifests, and the root keys under which it and secrets are sealed.
#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "provision/sync_pieces.hpp"
#include "provision/sync_server.hpp"

namespace underway::provision {

using async::awaitable;
using model::FileContent;
using model::FilePiece;
using model::FileSettings;
using model::SyncFile;
using server::Context;
using server::Decision;
using server::Nothing;

namespace {

constexpr std::string_view kSeedContext = "key of file manifests";

}  // namespace

/// The key that signs, made once; it is no use to who has the store without the keyring.
awaitable<void> FileService::prepare() {
  const auto seed = crypto::SigningKey::generate().seed();
  const auto sealed = server_.keyring().seal(seed.bytes(), kSeedContext);
  FileSettings fresh;
  fresh.key_id = sealed.key_id;
  fresh.seed = base64_encode(sealed.bytes);
  auto decide = [fresh](const Tables& tables, const Context&) {
    Decision<FileSettings> decision;
    const auto standing = tables::find_record<FileSettings>(tables, "settings");
    decision.result = standing.value_or(fresh);
    if (!standing) decision.changes.push_back(tables::put_record(fresh));
    return decision;
  };
  const auto settings = co_await server_.writer().submit(std::move(decide));
  signing_ = crypto::SigningKey::from_seed(
      server_.keyring().open({settings.key_id, base64_decode(settings.seed)}, kSeedContext));
  epoch_ = settings.epoch;
}

void FileService::refuse_removal(const Tables& tables, const std::string& key_id) const {
  const auto refuse = [&](const std::string& what) {
    throw Error(Code::conflict, fmt::format("root key {} is in use", key_id))
        .because(what + " is sealed under it")
        .advise("run `underway operator root keyring rotate -full` first");
  };
  for (const auto& file : tables::records<SyncFile>(tables)) {
    if (!file.secret) continue;
    const auto content = tables::find_record<FileContent>(tables, file.content_id);
    if (!content) continue;
    const auto is_under_it = [&](const std::string& id) {
      const auto piece = tables::find_record<FilePiece>(tables, id);
      return piece && piece->key_id == key_id;
    };
    if (content->key_id == key_id || std::ranges::any_of(content->pieces, is_under_it))
      refuse(fmt::format("file '{}'", file.name));
  }
  const auto settings = tables::find_record<FileSettings>(tables, "settings");
  if (settings && settings->key_id == key_id) refuse("the key of file manifests");
}

awaitable<void> FileService::seal_anew() {
  auto decide = [this](const Tables& now, const Context&) {
    Decision<Nothing> decision;
    const auto& keyring = server_.keyring();
    for (const auto& row : now.rows<model::Record>(tables::record_key<FileContent>(""))) {
      auto content = tables::decode_record<FileContent>(*row);
      if (content.key_id.empty() || content.key_id == keyring.active_id()) continue;
      const auto plain = keyring.open({content.key_id, base64_decode(content.data)}, seal_context(content.id));
      const auto sealed = keyring.seal(plain.bytes(), seal_context(content.id));
      content.key_id = sealed.key_id;
      content.data = base64_encode(sealed.bytes);
      decision.changes.push_back(tables::put_record(content));
    }
    auto settings = tables::find_record<FileSettings>(now, "settings");
    if (settings && settings->key_id != keyring.active_id()) {
      const auto sealed = keyring.seal(
          keyring.open({settings->key_id, base64_decode(settings->seed)}, kSeedContext).bytes(), kSeedContext);
      settings->key_id = sealed.key_id;
      settings->seed = base64_encode(sealed.bytes);
      decision.changes.push_back(tables::put_record(*settings));
    }
    return decision;
  };
  co_await server_.writer().submit(std::move(decide));
  std::vector<std::string> pieces;
  const auto* tables = co_await server_.read();
  for (const auto& row : tables->rows<model::Record>(tables::record_key<FilePiece>(""))) pieces.push_back(row->name);
  for (const auto& id : pieces) co_await seal_piece_anew(id);
}

/// Each is a change of its own: all of a large file would hold everybody else up.
awaitable<void> FileService::seal_piece_anew(std::string id) {
  auto decide = [this, id](const Tables& now, const Context&) {
    Decision<Nothing> decision;
    const auto& keyring = server_.keyring();
    auto piece = tables::find_record<FilePiece>(now, id);
    if (!piece || piece->key_id.empty() || piece->key_id == keyring.active_id()) return decision;
    const auto sealed = keyring.seal(open_piece(*piece, keyring).bytes(), piece_seal_context(id));
    piece->key_id = sealed.key_id;
    piece->data = base64_encode(sealed.bytes);
    decision.changes.push_back(tables::put_record(*piece));
    return decision;
  };
  co_await server_.writer().submit(std::move(decide));
}

}  // namespace underway::provision
