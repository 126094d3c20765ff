// The key that signs manifests, and the root keys under which it and secrets are sealed.
#include <algorithm>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "files/masters/pieces.hpp"
#include "files/masters/service.hpp"
#include "files/trust.hpp"

namespace underway::files {

using async::awaitable;
using model::FileContent;
using model::FileDeclaration;
using model::FilePiece;
using model::FileSettings;
using server::Context;
using server::Decision;
using server::Nothing;

namespace {

constexpr std::string_view kSeedContext = "key of file manifests";

crypto::SigningKey signing_key(const server::Keyring& keyring, const std::string& key_id, const std::string& seed) {
  return crypto::SigningKey::from_seed(keyring.open({key_id, base64_decode(seed)}, kSeedContext));
}

// What follows has the keyring by reference: it is the server's, which outlives every request.

/// `fresh` is the key that signs, unless there is one. Answers how the settings are then.
struct MakeSigningKey {
  model::FileKey fresh;
  const server::Keyring& keyring;
};
Decision<FileSettings> decide(const tables::Tables& tables, const MakeSigningKey& request, const Context&) {
  Decision<FileSettings> decision;
  auto settings = tables::find_record<FileSettings>(tables, "settings").value_or(FileSettings{});
  const bool is_new = settings.seed.empty();
  if (is_new) {
    settings.key_id = request.fresh.key_id;
    settings.seed = request.fresh.seed;
  }
  // Older servers wrote the seed alone.
  const bool names_none = settings.key.empty();
  if (names_none)
    settings.key = base64_encode(signing_key(request.keyring, settings.key_id, settings.seed).verifying().bytes);
  if (is_new || names_none) decision.changes.push_back(tables::put_record(settings));
  decision.result = std::move(settings);
  return decision;
}

/// Secret contents under the active root key.
struct SealContentsAnew {
  const server::Keyring& keyring;
};
Decision<Nothing> decide(const tables::Tables& tables, const SealContentsAnew& request, const Context&) {
  Decision<Nothing> decision;
  const auto& keyring = request.keyring;
  for (const auto& row : tables.rows<model::Record>(tables::record_key<FileContent>(""))) {
    auto content = tables::decode_record<FileContent>(*row);
    if (content.key_id.empty() || content.key_id == keyring.active_id()) continue;
    const auto plain = keyring.open({content.key_id, base64_decode(content.data)}, seal_context(content.id));
    const auto sealed = keyring.seal(plain.bytes(), seal_context(content.id));
    content.key_id = sealed.key_id;
    content.data = base64_encode(sealed.bytes);
    decision.changes.push_back(tables::put_record(content));
  }
  return decision;
}

/// The keys of manifests, the present and the next one, under the active root key.
struct SealOwnKeyAnew {
  const server::Keyring& keyring;
};
Decision<Nothing> decide(const tables::Tables& tables, const SealOwnKeyAnew& request, const Context&) {
  Decision<Nothing> decision;
  const auto& keyring = request.keyring;
  auto settings = tables::find_record<FileSettings>(tables, "settings");
  if (!settings) return decision;
  const auto anew = [&](std::string& under, std::string& seed) {
    if (under == keyring.active_id()) return false;
    const auto sealed = keyring.seal(keyring.open({under, base64_decode(seed)}, kSeedContext).bytes(), kSeedContext);
    under = sealed.key_id;
    seed = base64_encode(sealed.bytes);
    return true;
  };
  const bool present = anew(settings->key_id, settings->seed);
  const bool next = settings->next && anew(settings->next->key_id, settings->next->seed);
  if (present || next) decision.changes.push_back(tables::put_record(*settings));
  return decision;
}

/// A piece of a secret file under the active root key. Each is a change of its own: all of a large file would hold
/// everybody else up.
struct SealPieceAnew {
  const server::Keyring& keyring;
  std::string id;
};
Decision<Nothing> decide(const tables::Tables& tables, const SealPieceAnew& request, const Context&) {
  Decision<Nothing> decision;
  const auto& keyring = request.keyring;
  auto piece = tables::find_record<FilePiece>(tables, request.id);
  if (!piece || piece->key_id.empty() || piece->key_id == keyring.active_id()) return decision;
  const auto sealed = keyring.seal(open_piece(*piece, keyring).bytes(), piece_seal_context(request.id));
  piece->key_id = sealed.key_id;
  piece->data = base64_encode(sealed.bytes);
  decision.changes.push_back(tables::put_record(*piece));
  return decision;
}

}  // namespace

model::FileKey FileService::make_key() const {
  const auto key = crypto::SigningKey::generate();
  const auto seed = key.seed();
  const auto sealed = server_.keyring().seal(seed.bytes(), kSeedContext);
  return {base64_encode(key.verifying().bytes), sealed.key_id, base64_encode(sealed.bytes), 0};
}

crypto::SigningKey FileService::open_key(const std::string& key_id, const std::string& seed) const {
  return signing_key(server_.keyring(), key_id, seed);
}

/// The key that signs, made once; it is no use to who has the store without the keyring.
awaitable<void> FileService::prepare() {
  MakeSigningKey made{make_key(), server_.keyring()};
  take_settings(co_await server_.apply(std::move(made)));
}

/// True when nodes have a step to take that they were not told of.
bool FileService::take_settings(FileSettings settings) {
  if (!signing_ || settings.key != settings_.key) signing_ = open_key(settings.key_id, settings.seed);
  const bool news = settings.steps.size() != settings_.steps.size();
  settings_ = std::move(settings);
  return news;
}

/// What a node has to be told of keys: from its step on, or, when it believes none yet, from the last at which the key
/// that signs now was the only one.
void FileService::add_steps(const ManifestRequest& request, ManifestReply& reply) const {
  const auto& steps = settings_.steps;
  const auto newest = static_cast<std::int64_t>(steps.size());
  reply.key_serial = request.key_serial >= 0 ? request.key_serial : newest - (settings_.next ? 1 : 0);
  for (const auto& step : steps) {
    if (step.serial > reply.key_serial) reply.steps.push_back(step);
  }
}

awaitable<FileKeyState> FileService::rotate_key(bool force) {
  const auto* tables = co_await server_.read();
  auto settings = tables::find_record<FileSettings>(*tables, "settings");
  if (!settings || settings->key.empty()) throw Error(Code::unavailable, "files are not synchronised yet");
  // What is under way is ended by force, and begun anew by nobody.
  if (!settings->next || !force) {
    const auto next = make_key();
    const auto serial = static_cast<std::int64_t>(settings->steps.size()) + 1;
    const auto step =
        introduce_key(serial, open_key(settings->key_id, settings->seed), open_key(next.key_id, next.seed));
    IntroduceKey introduced{next, step};
    co_await server_.apply(std::move(introduced));
    tables = co_await server_.read();
    if (auto begun = tables::find_record<FileSettings>(*tables, "settings")) take_settings_and_tell(*std::move(begun));
  }
  co_await withdraw_key_if_due(force);
  tables = co_await server_.read();
  co_return key_state(*tables).value();
}

/// After a rotation has begun: the last step, once all who are alive have taken the first. A server that was killed
/// between them finds in its store where it was.
awaitable<void> FileService::withdraw_key_if_due(bool force) {
  const auto* tables = co_await server_.read();
  const auto settings = tables::find_record<FileSettings>(*tables, "settings");
  if (!settings || !settings->next) co_return;
  if (!force && !key_state(*tables)->waiting.empty()) co_return;
  const auto serial = static_cast<std::int64_t>(settings->steps.size()) + 1;
  auto step = withdraw_key(serial, settings->key, open_key(settings->next->key_id, settings->next->seed));
  WithdrawKey withdrawn{std::move(step), force};
  if (!co_await server_.apply(std::move(withdrawn))) co_return;
  log::info("files: another key signs manifests now, and the one before is withdrawn{}", force ? ", by force" : "");
  tables = co_await server_.read();
  if (auto now = tables::find_record<FileSettings>(*tables, "settings")) take_settings_and_tell(*std::move(now));
}

void FileService::take_settings_and_tell(FileSettings settings) {
  if (!take_settings(std::move(settings)) || !snapshot_) return;
  for (const auto& id : snapshot_->node_ids()) {
    if (server_.linked(id)) tasks_.spawn("telling a node", tell(id));
  }
}

void FileService::refuse_removal(const Tables& tables, const std::string& key_id) const {
  const auto refuse = [&](const std::string& what) {
    throw Error(Code::conflict, fmt::format("root key {} is in use", key_id))
        .because(what + " is sealed under it")
        .advise("run `underway operator root keyring rotate -full` first");
  };
  for (const auto& file : tables::records<FileDeclaration>(tables)) {
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
  if (settings && (settings->key_id == key_id || (settings->next && settings->next->key_id == key_id)))
    refuse("the key of file manifests");
}

awaitable<void> FileService::seal_anew() {
  SealContentsAnew contents{server_.keyring()};
  co_await server_.apply(std::move(contents));
  co_await seal_own_key_anew();
  std::vector<std::string> pieces;
  const auto* tables = co_await server_.read();
  for (const auto& row : tables->rows<model::Record>(tables::record_key<FilePiece>(""))) pieces.push_back(row->name);
  for (const auto& id : pieces) co_await seal_piece_anew(id);
}

awaitable<void> FileService::seal_own_key_anew() {
  SealOwnKeyAnew key{server_.keyring()};
  co_await server_.apply(std::move(key));
}

awaitable<void> FileService::seal_piece_anew(std::string id) {
  SealPieceAnew piece{server_.keyring(), std::move(id)};
  co_await server_.apply(std::move(piece));
}

}  // namespace underway::files
