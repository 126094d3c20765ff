// Masters: how they come into the store, and what is shown of them.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "crypto/hasher.hpp"
#include "files/masters/pieces.hpp"
#include "files/masters/service.hpp"

namespace underway::files {

using async::awaitable;
using model::FileContent;
using model::FileDeclaration;
using server::Context;
using server::Decision;
using server::Nothing;

namespace {

constexpr Duration kCollectEvery = std::chrono::minutes(10);

/// As people would see them.
std::string shown(const FileDeclaration& file, const std::optional<FileContent>& content) {
  if (!content) return {};
  if (!content->pieces.empty())
    throw Error(Code::too_large, fmt::format("file '{}' is not shown", file.name))
        .because(fmt::format("it has {}, and {} at most are shown", human_bytes(static_cast<std::uint64_t>(file.size)),
                             human_bytes(model::kPieceBytes)))
        .advise(fmt::format("`underway file status {}` says where it is not as its master", file.where()));
  return base64_decode(content->data);
}

/// A part of a large file, until a declaration names it.
struct KeepPiece {
  model::FilePiece piece;
};
Decision<Nothing> decide(const tables::Tables&, const KeepPiece& request, const Context& context) {
  auto row = request.piece;
  row.at = unix_nanos(context.now);
  return {{tables::put_record(row)}, {}};
}

/// A newer epoch of manifests than any that a node has: nodes that followed a newer store follow this one.
struct BeginEpoch {};
Decision<Nothing> decide(const tables::Tables& tables, const BeginEpoch&, const Context&) {
  auto settings = tables::find_record<model::FileSettings>(tables, "settings");
  if (!settings) throw Error(Code::unavailable, "files are not synchronised yet");
  for (const auto& report : tables::records<model::FileReport>(tables))
    settings->epoch = std::max(settings->epoch, report.epoch);
  ++settings->epoch;
  return {{tables::put_record(*settings)}, {}};
}

}  // namespace

// --- pieces ---

awaitable<std::string> FileService::put_piece(std::string bytes, bool secret) {
  if (bytes.empty() || bytes.size() > model::kPieceBytes)
    throw Error(Code::invalid,
                fmt::format("a piece of a file has 1 to {} bytes, and not {}", model::kPieceBytes, bytes.size()));
  auto piece = make_piece(bytes, secret, server_.keyring(), ids_);
  std::string id = piece.id;
  KeepPiece keep{std::move(piece)};
  co_await server_.apply(std::move(keep));
  co_return id;
}

/// What does not fit into a row goes ahead in pieces. In a plan nothing is kept: its digest says whether it is news.
awaitable<void> FileService::split(std::vector<FileDeclaration>& files, bool dry) {
  for (auto& file : files) {
    if (!file.content || file.content->size() <= model::kPieceBytes || !model::problems(file).empty()) continue;
    const std::string bytes = *std::exchange(file.content, std::nullopt);
    model::SentBytes sent;
    sent.size = static_cast<std::int64_t>(bytes.size());
    auto hash = [&bytes] { return hex(crypto::sha256(bytes)); };
    sent.digest = co_await async::on_pool(pool_, hash);
    for (std::size_t at = 0; !dry && at < bytes.size(); at += model::kPieceBytes)
      sent.pieces.push_back(co_await put_piece(bytes.substr(at, model::kPieceBytes), file.secret));
    file.sent = std::move(sent);
  }
}

/// Throws unless the pieces are here, and together what is said of them.
awaitable<void> FileService::check_sent(const FileDeclaration& file) {
  const auto& sent = *file.sent;
  crypto::Hasher hasher;
  std::int64_t size = 0;
  for (const auto& id : sent.pieces) {
    const auto* tables = co_await server_.read();
    const auto piece = get_piece(*tables, id);
    if (piece.key_id.empty() == file.secret)
      throw Error(Code::invalid,
                  fmt::format("file '{}': a piece of it was {}sent as a secret", file.name, file.secret ? "not " : ""));
    const auto bytes = open_piece(piece, server_.keyring());
    auto add = [&] { hasher.add(bytes.bytes()); };
    co_await async::on_pool(pool_, add);
    size += static_cast<std::int64_t>(bytes.size());
  }
  if (size != sent.size || hex(hasher.finish()) != sent.digest)
    throw Error(Code::invalid, fmt::format("file '{}': its pieces are not the bytes that it says", file.name))
        .because(fmt::format("they are {} bytes, and {} with the digest {} were said", size, sent.size, sent.digest));
}

async::LoopPlan FileService::pieces_loop() {
  return {.area = "files",
          .name = "pieces that no file names",
          .trouble = "pieces that no file names stay",
          .wait = [] { return async::sleep_for(kCollectEvery); },
          .reconcile = [this] { return collect_pieces(); },
          .retry = async::RetryPolicy::up_to(kCollectEvery)};
}

awaitable<void> FileService::collect_pieces() { co_await server_.apply(CollectPieces{}); }

// --- declarations ---

NewFile FileService::new_file(const Tables& tables, FileDeclaration file) const {
  const auto standing = tables::find_record<FileDeclaration>(tables, model::file_key(file.cluster, file.name));
  file.content_id.clear();
  file.size = 0;
  const bool has_bytes = file.type == model::FileType::file || file.type == model::FileType::part;
  if (!has_bytes) return {std::move(file), {}};
  std::optional<FileContent> before;
  if (standing) before = tables::find_record<FileContent>(tables, standing->content_id);
  const bool keeps_large = !file.content && !file.sent && before && !before->pieces.empty();
  if (file.sent) return new_large_file(std::move(file), before);
  if (keeps_large) {
    if (before->key_id.empty() == file.secret)
      throw Error(Code::invalid,
                  fmt::format("file '{}' becomes {} secret with its bytes only", file.name, file.secret ? "a" : "no"))
          .advise("give them again: `underway file add`");
    file.content_id = before->id;
    file.size = standing->size;
    return {std::move(file), {}};
  }
  crypto::Secret bytes;
  if (file.content)
    bytes = crypto::Secret(*file.content);
  else if (before)
    bytes = open_content(*before, server_.keyring());
  else
    return {std::move(file), {}};  // refused as a declaration without content
  file.size = static_cast<std::int64_t>(bytes.size());
  const bool same_kind = before && before->key_id.empty() != file.secret;
  if (file.secret && same_kind) {
    const auto known = open_content(*before, server_.keyring());
    if (crypto::equal_in_constant_time(known.bytes(), bytes.bytes())) {
      file.content_id = before->id;
      return {std::move(file), {}};
    }
  }
  FileContent content;
  if (file.secret) {
    content.id = "sealed-" + ids_.uuid();
    const auto sealed = server_.keyring().seal(bytes.bytes(), seal_context(content.id));
    content.key_id = sealed.key_id;
    content.data = base64_encode(sealed.bytes);
  } else {
    content.id = "sha256-" + hex(crypto::sha256(bytes.bytes()));
    content.data = base64_encode(bytes.bytes());
  }
  file.content_id = content.id;
  return {std::move(file), std::move(content)};
}

/// By its digest: the pieces themselves are where they are.
NewFile FileService::new_large_file(FileDeclaration file, const std::optional<FileContent>& before) const {
  const model::SentBytes sent = *std::exchange(file.sent, std::nullopt);
  file.size = sent.size;
  const bool same_kind = before && !before->pieces.empty() && before->key_id.empty() != file.secret;
  if (same_kind && crypto::equal_in_constant_time(content_digest(*before, server_.keyring()), sent.digest)) {
    file.content_id = before->id;
    return {std::move(file), {}};
  }
  auto content = make_content(sent, file.secret, server_.keyring(), ids_);
  file.content_id = content.id;
  if (sent.pieces.empty()) return {std::move(file), {}};
  return {std::move(file), std::move(content)};
}

std::vector<NewFile> FileService::new_files(const Tables& tables, const std::string& cluster,
                                            std::vector<FileDeclaration> files) const {
  std::vector<NewFile> out;
  for (auto& file : files) {
    file.cluster = cluster;
    out.push_back(new_file(tables, std::move(file)));
  }
  return out;
}

awaitable<PutFiles> FileService::prepare_put(std::string cluster, std::vector<FileDeclaration> files, bool directory,
                                             bool dry) {
  co_await split(files, dry);
  std::vector<FileDeclaration> large;
  std::ranges::copy_if(files, std::back_inserter(large), [](const auto& file) { return file.sent.has_value(); });
  require_valid(large);
  for (const auto& file : large) {
    if (!dry && !file.sent->pieces.empty()) co_await check_sent(file);
  }
  const auto* tables = co_await server_.read();
  PutFiles request;
  request.cluster = cluster;
  request.directory = directory;
  request.files = new_files(*tables, cluster, std::move(files));
  request.plan = dry;
  co_return request;
}

awaitable<std::int64_t> FileService::sync(std::vector<std::string> node_ids) {
  std::int64_t told = 0;
  for (const auto& id : node_ids) {
    if (!server_.linked(id)) continue;
    ++told;
    tasks_.spawn("telling a node", tell(id));
  }
  co_return told;
}

awaitable<void> FileService::accept_restored() { co_await server_.apply(BeginEpoch{}); }

std::function<std::string()> FileService::preview(const std::string& cluster, const std::string& name,
                                                  const std::string& node_id) const {
  const auto target = snapshot_ ? snapshot_->target(node_id) : std::nullopt;
  if (!target) throw Error(Code::not_found, fmt::format("node '{}' not found", node_id));
  const auto& tables = server_.writer().tables();
  auto file = tables::find_record<FileDeclaration>(tables, model::file_key(cluster, name));
  if (!file || target->cluster != cluster)
    throw Error(Code::not_found, fmt::format("node '{}' does not get file '{}'", target->node, name));
  auto content = tables::find_record<FileContent>(tables, file->content_id);
  return [snapshot = snapshot_, target = *target, file = *std::move(file), content = std::move(content)] {
    const auto built = snapshot->build(target);
    for (const auto& entry : built.manifest.entries) {
      if (entry.file != file.name) continue;
      if (entry.secret) throw Error(Code::denied, fmt::format("file '{}' is secret", file.name));
      if (!entry.problem.empty()) throw Error(Code::invalid, fmt::format("file '{}': {}", file.name, entry.problem));
      const auto source = built.sources.find(entry.digest);
      if (source != built.sources.end() && source->second.text) return *source->second.text;
      return shown(file, content);
    }
    throw Error(Code::not_found, fmt::format("node '{}' does not get file '{}'", target.node, file.name));
  };
}

std::string FileService::master(const Tables& tables, const FileDeclaration& file) const {
  if (file.secret) throw Error(Code::denied, fmt::format("file '{}' is secret", file.name));
  return shown(file, tables::find_record<FileContent>(tables, file.content_id));
}

awaitable<FoundFile> FileService::read(std::string node_id, ReadRequest request) {
  auto body = json::to_value(request);
  const auto reply = co_await server_.call_node(std::move(node_id), "files.read", std::move(body));
  co_return json::decode<FoundFile>(reply);
}

}  // namespace underway::files
