#include "provision/sync_server.hpp"

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "provision/sync_manifest.hpp"

namespace underway::provision {

using async::awaitable;
using model::FileContent;
using model::FileReport;
using model::FileSettings;
using model::SyncFile;
using server::Context;
using server::Decision;
using server::Nothing;

namespace {

constexpr std::string_view kSeedContext = "key of file manifests";
constexpr std::size_t kMostProblems = 500;
constexpr std::size_t kMostText = 600;
constexpr std::size_t kMostReloads = 10'000;

void shorten(std::string& text) {
  if (text.size() > kMostText) text.resize(kMostText);
  if (!is_utf8(text)) text = "(no text)";
}

/// What was said of a capsule on nodes that it has left says nothing any more.
void forget_where_it_was(const tables::Tables& tables, const FileReport& report, Decision<Nothing>& decision) {
  for (const auto& other : tables::records<FileReport>(tables)) {
    if (other.capsule == report.capsule && other.node_id != report.node_id &&
        !capsules_on(tables, other.node_id).contains(report.capsule))
      decision.changes.push_back(tables::delete_record<FileReport>(model::report_key(other.node_id, other.capsule)));
  }
}

/// A node says what it likes: so much of it is kept.
void limit(FileReport& report) {
  if (report.problems.size() > kMostProblems) report.problems.resize(kMostProblems);
  if (report.events.size() > model::kFileEvents)
    report.events.erase(report.events.begin(), report.events.end() - static_cast<std::ptrdiff_t>(model::kFileEvents));
  shorten(report.refused);
  shorten(report.manifest);
  for (auto& problem : report.problems) {
    shorten(problem.path);
    shorten(problem.reason);
  }
  for (auto& event : report.events) {
    shorten(event.path);
    shorten(event.what);
    shorten(event.detail);
  }
}

server::Extension extension_of(FileService& service,
                               awaitable<boost::json::value> (FileService::*answer)(std::string, std::string,
                                                                                    boost::json::value)) {
  server::Extension out;
  out.call = [&service, answer](std::string node_id, std::string method, boost::json::value body) {
    return (service.*answer)(std::move(node_id), std::move(method), std::move(body));
  };
  return out;
}

}  // namespace

FileService::FileService(server::Server& server, async::Executor executor, async::Pool& pool, IdSource& ids,
                         Options options)
    : server_(server), pool_(pool), ids_(ids), options_(options), tasks_(std::move(executor), "files") {
  server_.add_extension("files.", extension_of(*this, &FileService::answer));
}

void FileService::start() {
  tasks_.spawn("manifests", run());
  tasks_.spawn("masters on nodes", follow_masters());
}

awaitable<void> FileService::stop() { co_await tasks_.stop(); }

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

awaitable<void> FileService::run() {
  constexpr Duration kRetry = std::chrono::seconds(5);
  while (!signing_) {
    std::optional<std::string> failure;
    try {
      co_await prepare();
    } catch (const Error& error) {
      failure = error.one_line();
    }
    if (!failure) break;
    log::error("files: nothing is synchronised, trying again in {}: {}", human_duration(kRetry), *failure);
    co_await async::sleep_for(kRetry);
  }
  model::Revision seen = -1;
  while (true) {
    std::vector<tables::Scope> scopes{
        tables::records_scope(), {tables::Topic::nodes, ""}, {tables::Topic::hosts, ""}, {tables::Topic::clusters, ""}};
    const auto* tables = co_await server_.changed_since(std::move(scopes), seen, async::kNever);
    seen = tables->revision();
    std::optional<std::string> failure;
    try {
      co_await refresh(*tables);
    } catch (const Error& error) {
      failure = error.one_line();
    }
    if (failure) {
      log::error("files: changes are not told, trying again in {}: {}", human_duration(kRetry), *failure);
      seen = -1;
    }
    co_await async::sleep_for(failure ? kRetry : options_.gather);
  }
}

/// What every node shall have now; those for whom it is news are told.
awaitable<void> FileService::refresh(const Tables& tables) {
  const auto stamp = inputs_stamp(tables);
  if (stamp == stamp_ && snapshot_) co_return;
  server::Context context{TimePoint{}, ids_};
  if (!decide_collect_files(tables, context).changes.empty()) {
    auto collect = [](const Tables& now, const Context& at) { return decide_collect_files(now, at); };
    co_await server_.writer().submit(std::move(collect));
    co_return;  // that is a change of its own
  }
  if (const auto settings = tables::find_record<FileSettings>(tables, "settings")) epoch_ = settings->epoch;
  const auto snapshot = std::make_shared<const Snapshot>(tables, server_.keyring(), server_.options().name, epoch_);
  auto build = [snapshot] {
    std::map<std::string, Wanted> wanted;
    for (const auto& id : snapshot->node_ids()) {
      const auto built = snapshot->build(*snapshot->target(id));
      if (built.manifest.entries.empty() && built.problems.empty()) continue;
      wanted[id] = {digest_of(built.manifest), static_cast<std::int64_t>(built.manifest.entries.size()),
                    built.problems};
    }
    return wanted;
  };
  auto wanted = co_await async::on_pool(pool_, build);
  std::set<std::string> concerned;
  for (const auto& [id, one] : wanted) {
    if (told_[id] != one.digest) concerned.insert(id);
  }
  // Who has nothing any more is told so, and so are those whose capsules may be concerned.
  for (const auto& [id, one] : wanted_) {
    if (!wanted.contains(id)) concerned.insert(id);
  }
  const auto* now = co_await server_.read();
  for (const auto& id : snapshot->node_ids()) {
    if (!capsules_on(*now, id).empty()) concerned.insert(id);
  }
  wanted_ = std::move(wanted);
  snapshot_ = snapshot;
  stamp_ = stamp;
  ready_.notify_all();
  for (const auto& id : concerned) {
    if (server_.linked(id)) tasks_.spawn("telling a node", tell(id));
  }
}

awaitable<void> FileService::tell(std::string node_id) {
  try {
    boost::json::value nothing = boost::json::object{};
    co_await server_.call_node(node_id, "files.changed", std::move(nothing));
  } catch (const Error& error) {
    // It asks by itself, when it links again or on its schedule.
    log::debug("files: node {} was not told: {}", node_id, error.one_line());
  }
}

const Wanted* FileService::wanted(const std::string& node_id) const {
  const auto it = wanted_.find(node_id);
  return it == wanted_.end() ? nullptr : &it->second;
}

std::optional<Wanted> FileService::wanted_by(const std::string& node_id, const std::string& capsule) const {
  const auto target = snapshot_ ? snapshot_->target(node_id, capsule) : std::nullopt;
  if (!target) return std::nullopt;
  const auto built = snapshot_->build(*target);
  return Wanted{digest_of(built.manifest), static_cast<std::int64_t>(built.manifest.entries.size()), built.problems};
}

// --- nodes ---

awaitable<boost::json::value> FileService::answer(std::string node_id, std::string method, boost::json::value body) {
  if (method == "files.manifest") co_return co_await manifest(node_id, json::decode<ManifestRequest>(body));
  if (method == "files.content") co_return co_await content(node_id, json::decode<ContentRequest>(body));
  if (method == "files.report") co_return co_await report(node_id, json::decode<FileReport>(body));
  if (method == "files.reload") co_return co_await reload(node_id, json::decode<ReloadRequest>(body));
  throw Error(Code::unsupported, fmt::format("the server does not know '{}'", method));
}

awaitable<Built> FileService::built_for(std::string node_id, std::string capsule) {
  // A node asks as soon as it is registered, and what it shall have follows a moment later.
  const auto deadline = async::deadline_in(std::chrono::seconds(5));
  while (!snapshot_ || !snapshot_->target(node_id)) {
    if (!co_await ready_.wait_until(deadline)) break;
  }
  if (!snapshot_) throw Error(Code::unavailable, "the server does not know its files yet");
  if (!capsule.empty()) {
    const auto* tables = co_await server_.read();
    if (!capsules_on(*tables, node_id).contains(capsule))
      throw Error(Code::denied, fmt::format("capsule '{}' does not run on this node", capsule))
          .because("no allocation of it is here");
  }
  const auto target = snapshot_->target(node_id, capsule);
  if (!target) throw Error(Code::not_found, "the server does not know this node's files yet");
  co_return snapshot_->build(*target);
}

awaitable<boost::json::value> FileService::manifest(std::string node_id, ManifestRequest request) {
  const auto built = co_await built_for(node_id, request.capsule);
  const std::string digest = digest_of(built.manifest);
  if (request.capsule.empty()) told_[node_id] = digest;
  ManifestReply reply;
  const bool nothing_yet = request.have.empty() && built.manifest.entries.empty();
  if (digest != request.have && !nothing_yet) reply.manifest = sign(built.manifest, *signing_);
  co_return json::to_value(reply, json::Encoding::compact);
}

awaitable<boost::json::value> FileService::content(std::string node_id, ContentRequest request) {
  const auto built = co_await built_for(node_id, request.capsule);
  const auto* tables = co_await server_.read();
  // Not by way of ContentReply: a megabyte of base64 need not become text and be read again.
  boost::json::array contents;
  std::size_t bytes = 0;
  for (const auto& digest : request.digests) {
    const auto source = built.sources.find(digest);
    if (source == built.sources.end()) {
      log::warn("files: node {} asked for bytes that its manifest does not name", node_id);
      throw Error(Code::denied, "these bytes are not for this node")
          .because("its present manifest does not name them; masters may have changed since it asked");
    }
    std::string data;
    if (source->second.text) {
      data = base64_encode(*source->second.text);
    } else {
      auto stored = tables::find_record<FileContent>(*tables, source->second.content_id);
      if (!stored) throw Error(Code::not_found, "these bytes have just been replaced");
      data = stored->key_id.empty() ? std::move(stored->data)
                                    : base64_encode(open_content(*stored, server_.keyring()).bytes());
    }
    bytes += data.size();
    if (!contents.empty() && bytes > 2 * static_cast<std::size_t>(kContentBytes))
      throw Error(Code::too_large, "more bytes were asked for than fit into one answer");
    contents.emplace_back(boost::json::object{{"Digest", digest}, {"Data", data}});
  }
  co_return boost::json::object{{"Contents", std::move(contents)}};
}

awaitable<boost::json::value> FileService::report(std::string node_id, FileReport report) {
  const auto* tables = co_await server_.read();
  const auto node = tables->find_node(node_id);
  if (!node) throw Error(Code::not_found, "the server does not know this node");
  report.node_id = node_id;
  report.node = node->name;
  limit(report);
  auto decide = [report](const Tables& now, const Context&) {
    Decision<Nothing> decision;
    auto standing = tables::find_record<FileReport>(now, model::report_key(report.node_id, report.capsule));
    if (standing) standing->create_index = standing->modify_index = 0;
    auto plain = report;
    plain.create_index = plain.modify_index = 0;
    if (!standing || !describe::equal(*standing, plain)) decision.changes.push_back(tables::put_record(plain));
    if (!standing && !report.capsule.empty()) forget_where_it_was(now, report, decision);
    return decision;
  };
  co_await server_.writer().submit(std::move(decide));
  co_return boost::json::object{};
}

awaitable<boost::json::value> FileService::reload(std::string node_id, ReloadRequest request) {
  const auto* tables = co_await server_.read();
  const std::string once = node_id + " " + request.round;
  std::int64_t signalled = 0;
  if (!reloads_.contains(once)) {
    std::vector<node::TaskRequest> asks;
    for (const auto& allocation : tables->allocations_on_node(node_id)) {
      if (allocation->job_id != request.reload.job || allocation->client_status != model::ClientStatus::running)
        continue;
      for (const auto& [task, state] : allocation->task_states) {
        if (!request.reload.task.empty() && task != request.reload.task) continue;
        if (state.state == model::TaskRunState::running) asks.push_back({allocation->id, task, request.reload.signal});
      }
    }
    for (const auto& ask : asks) {
      auto body = json::to_value(ask);
      co_await server_.call_node(node_id, "alloc.signal", std::move(body));
      ++signalled;
    }
    if (reloads_.size() >= kMostReloads) reloads_.clear();
    reloads_.insert(once);
  }
  co_return boost::json::object{{"Signalled", signalled}};
}

// --- masters ---

NewFile FileService::new_file(const Tables& tables, SyncFile file) const {
  const auto standing = tables::find_record<SyncFile>(tables, model::file_key(file.cluster, file.name));
  file.content_id.clear();
  file.size = 0;
  const bool has_bytes = file.type == model::SyncFileType::file || file.type == model::SyncFileType::part;
  if (!has_bytes) return {std::move(file), {}};
  std::optional<FileContent> before;
  if (standing) before = tables::find_record<FileContent>(tables, standing->content_id);
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

std::vector<NewFile> FileService::new_files(const Tables& tables, const std::string& cluster,
                                            std::vector<SyncFile> files) const {
  std::vector<NewFile> out;
  for (auto& file : files) {
    file.cluster = cluster;
    out.push_back(new_file(tables, std::move(file)));
  }
  return out;
}

awaitable<FilesPut> FileService::put(std::string cluster, std::vector<SyncFile> files, bool directory, bool dry,
                                     server::Beside beside) {
  const auto* tables = co_await server_.read();
  PutFiles request;
  request.cluster = cluster;
  request.directory = directory;
  request.files = new_files(*tables, cluster, std::move(files));
  request.plan = dry;
  if (dry) {
    const Context context{TimePoint{}, ids_};
    auto decision = decide_put_files(*tables, request, context);
    if (beside) beside(*tables, context, decision.changes);
    co_return decision.result;
  }
  auto decide = [request](const Tables& now, const Context& context) {
    return decide_put_files(now, request, context);
  };
  auto both = server::with_beside(std::move(decide), std::move(beside));
  co_return co_await server_.writer().submit(std::move(both));
}

awaitable<void> FileService::remove(std::string cluster, std::string name, server::Beside beside) {
  auto decide = [cluster, name](const Tables& now, const Context& context) {
    return decide_remove_file(now, cluster, name, context);
  };
  auto both = server::with_beside(std::move(decide), std::move(beside));
  co_await server_.writer().submit(std::move(both));
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

awaitable<void> FileService::accept_restored() {
  auto decide = [](const Tables& now, const Context&) {
    Decision<Nothing> decision;
    auto settings = tables::find_record<FileSettings>(now, "settings");
    if (!settings) throw Error(Code::unavailable, "files are not synchronised yet");
    for (const auto& report : tables::records<FileReport>(now))
      settings->epoch = std::max(settings->epoch, report.epoch);
    ++settings->epoch;
    decision.changes.push_back(tables::put_record(*settings));
    return decision;
  };
  co_await server_.writer().submit(std::move(decide));
}

std::string FileService::preview(const std::string& cluster, const std::string& name,
                                 const std::string& node_id) const {
  const auto target = snapshot_ ? snapshot_->target(node_id) : std::nullopt;
  if (!target) throw Error(Code::not_found, fmt::format("node '{}' not found", node_id));
  const auto built = snapshot_->build(*target);
  for (const auto& entry : built.manifest.entries) {
    if (entry.file != name || target->cluster != cluster) continue;
    if (entry.secret) throw Error(Code::denied, fmt::format("file '{}' is secret", name));
    if (!entry.problem.empty()) throw Error(Code::invalid, fmt::format("file '{}': {}", name, entry.problem));
    const auto source = built.sources.find(entry.digest);
    if (source != built.sources.end() && source->second.text) return *source->second.text;
    const auto content = tables::find_record<FileContent>(
        server_.writer().tables(), source == built.sources.end() ? "" : source->second.content_id);
    return content ? base64_decode(content->data) : std::string();
  }
  throw Error(Code::not_found, fmt::format("node '{}' does not get file '{}'", target->node, name));
}

std::string FileService::master(const Tables& tables, const SyncFile& file) const {
  if (file.secret) throw Error(Code::denied, fmt::format("file '{}' is secret", file.name));
  const auto content = tables::find_record<FileContent>(tables, file.content_id);
  return content ? base64_decode(content->data) : std::string();
}

awaitable<ReadReply> FileService::read(std::string node_id, ReadRequest request) {
  auto body = json::to_value(request);
  const auto reply = co_await server_.call_node(std::move(node_id), "files.read", std::move(body));
  co_return json::decode<ReadReply>(reply);
}

// --- root keys ---

void FileService::refuse_removal(const Tables& tables, const std::string& key_id) const {
  const auto refuse = [&](const std::string& what) {
    throw Error(Code::conflict, fmt::format("root key {} is in use", key_id))
        .because(what + " is sealed under it")
        .advise("run `underway operator root keyring rotate -full` first");
  };
  for (const auto& file : tables::records<SyncFile>(tables)) {
    if (!file.secret) continue;
    const auto content = tables::find_record<FileContent>(tables, file.content_id);
    if (content && content->key_id == key_id) refuse(fmt::format("file '{}'", file.name));
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
      const auto bytes = open_content(content, keyring);
      const auto sealed = keyring.seal(bytes.bytes(), seal_context(content.id));
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
}

}  // namespace underway::provision
