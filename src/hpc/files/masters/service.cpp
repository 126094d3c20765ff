#include "files/masters/service.hpp"

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "files/manifest.hpp"

namespace underway::files {

using async::awaitable;
using model::FileContent;
using model::FileDeclaration;
using model::FileReport;
using model::FileSettings;
using server::Context;
using server::Decision;
using server::Nothing;

namespace {

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

/// What a node says of its files, or of those of a capsule on it, if that is news.
struct KeepFileReport {
  FileReport report;
};
Decision<Nothing> decide(const tables::Tables& tables, const KeepFileReport& request, const Context&) {
  Decision<Nothing> decision;
  const auto& report = request.report;
  auto standing = tables::find_record<FileReport>(tables, model::report_key(report.node_id, report.capsule));
  if (standing) standing->create_index = standing->modify_index = 0;
  auto plain = report;
  plain.create_index = plain.modify_index = 0;
  if (!standing || !describe::equal(*standing, plain)) decision.changes.push_back(tables::put_record(plain));
  if (!standing && !report.capsule.empty()) forget_where_it_was(tables, report, decision);
  return decision;
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

using Answer = awaitable<boost::json::value> (FileService::*)(std::string, std::string, boost::json::value);
using Serve = awaitable<void> (FileService::*)(std::string, std::string, boost::json::value,
                                               std::shared_ptr<link::Stream>);

server::Extension extension_of(FileService& service, Answer answer, Serve serve) {
  server::Extension out;
  out.call = [&service, answer](std::string node_id, std::string method, boost::json::value body) {
    return (service.*answer)(std::move(node_id), std::move(method), std::move(body));
  };
  out.stream = [&service, serve](std::string node_id, std::string method, boost::json::value header,
                                 std::shared_ptr<link::Stream> stream) {
    return (service.*serve)(std::move(node_id), std::move(method), std::move(header), std::move(stream));
  };
  return out;
}

}  // namespace

FileService::FileService(server::Server& server, async::Executor executor, async::Pool& pool, IdSource& ids,
                         Options options)
    : server_(server), pool_(pool), ids_(ids), options_(options), tasks_(std::move(executor), "files") {
  server_.add_extension("files.", extension_of(*this, &FileService::answer, &FileService::serve));
}

void FileService::start() {
  for (auto&& plan : {manifests_loop(), masters_loop(), pieces_loop()}) server_.loops().start(tasks_, plan);
}

awaitable<void> FileService::stop() { co_await tasks_.stop(); }

async::LoopPlan FileService::manifests_loop() {
  server::FollowerOptions options;
  options.scopes = [](const Tables&) {
    return std::vector<tables::Scope>{
        tables::records_scope(), {tables::Topic::nodes, ""}, {tables::Topic::hosts, ""}, {tables::Topic::clusters, ""}};
  };
  options.gather = options_.gather;
  const auto follower = std::make_shared<server::Follower>(server_.follow(std::move(options)));
  return {.area = "files",
          .name = "manifests of files",
          .trouble = "changes of files are not told to the nodes",
          .wait = [follower] { return follower->wait_for_news(); },
          .reconcile = [this] { return follow_tables(); },
          .retry = async::RetryPolicy::up_to(std::chrono::seconds(5))};
}

awaitable<void> FileService::follow_tables() {
  if (!signing_) co_await prepare();
  co_await refresh(*co_await server_.read());
  if (settings_.next) co_await withdraw_key_if_due(false);
}

/// What every node shall have now; those for whom it is news are told.
awaitable<void> FileService::refresh(const Tables& tables) {
  const auto stamp = inputs_stamp(tables);
  if (stamp == stamp_ && snapshot_) co_return;
  if (!server_.preview(CollectFiles{}).changes.empty()) {
    co_await server_.apply(CollectFiles{});
    co_return;  // that is a change of its own
  }
  if (auto settings = tables::find_record<FileSettings>(tables, "settings"))
    take_settings_and_tell(*std::move(settings));
  const auto snapshot =
      std::make_shared<const Snapshot>(tables, server_.keyring(), server_.options().name, settings_.epoch);
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
  for (const auto& [id, target] : wanted) {
    if (told_[id] != target.digest) concerned.insert(id);
  }
  // Who has nothing any more is told so, and so are those whose capsules may be concerned.
  for (const auto& [id, target] : wanted_) {
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
  auto build = [snapshot = snapshot_, target] { return snapshot->build(*target); };
  co_return co_await async::on_pool(pool_, build);
}

awaitable<boost::json::value> FileService::manifest(std::string node_id, ManifestRequest request) {
  const auto built = co_await built_for(node_id, request.capsule);
  const std::string digest = digest_of(built.manifest);
  if (request.capsule.empty()) told_[node_id] = digest;
  ManifestReply reply;
  const bool nothing_yet = request.have.empty() && built.manifest.entries.empty();
  if (digest != request.have && !nothing_yet) reply.manifest = sign(built.manifest, *signing_);
  add_steps(request, reply);
  co_return json::to_value(reply, json::Encoding::compact);
}

awaitable<boost::json::value> FileService::report(std::string node_id, FileReport report) {
  const auto* tables = co_await server_.read();
  const auto node = tables->find_node(node_id);
  if (!node) throw Error(Code::not_found, "the server does not know this node");
  report.node_id = node_id;
  report.node = node->name;
  limit(report);
  KeepFileReport keep{std::move(report)};
  co_await server_.apply(std::move(keep));
  co_return boost::json::object{};
}

awaitable<boost::json::value> FileService::reload(std::string node_id, ReloadRequest request) {
  const auto* tables = co_await server_.read();
  const std::string once = node_id + " " + request.round;
  std::int64_t signalled = 0;
  if (!reloads_.contains(once)) {
    std::vector<protocol::TaskRequest> asks;
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

}  // namespace underway::files
