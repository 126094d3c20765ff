#include "files/targets/extension.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "os/file.hpp"

namespace underway::files {

using node::awaitable;

namespace {

/// A capsule that has come here has its files so soon.
constexpr Duration kCapsulesEvery = std::chrono::seconds(5);

/// A capsule's name as that of a directory.
std::string directory_name(const std::string& capsule) {
  std::string out;
  for (const char c : capsule)
    out += c == '/' || c == '.' ? fmt::format("%{:02x}", static_cast<unsigned char>(c)) : std::string(1, c);
  return out;
}

/// Whose bytes the disk does not have.
struct Needed {
  std::vector<ManifestEntry> small, large;
};

Needed needed(const Plan& plan) {
  Needed out;
  for (const auto& change : plan.changes) {
    if (!needs_bytes(change)) continue;
    const bool large = change.entry.size > static_cast<std::int64_t>(model::kPieceBytes);
    (large ? out.large : out.small).push_back(change.entry);
  }
  return out;
}

}  // namespace

awaitable<void> FileExtension::start(node::ExtensionContext context) {
  context_.emplace(std::move(context));
  directory_ = context_->data_dir + "/files";
  auto open = [this] {
    os::make_directories(directory_, 0700);
    return os::find_file(directory_ + "/server.key");
  };
  if (const auto keys = co_await async::on_pool(context_->pool, open)) trust_ = parse_trust(*keys);
  tasks_.emplace(context_->executor, "files");
  context_->loops.start(*tasks_, {.area = "files",
                                  .name = "synchronisation of files",
                                  .trouble = "files of this node are not synchronised",
                                  .wait = [this] { return wait_for_something(); },
                                  .reconcile = [this] { return pass(); },
                                  .retry = async::RetryPolicy::up_to(std::chrono::seconds(30)),
                                  .patience = std::chrono::hours(1),
                                  .hurry = &woken_});
}

awaitable<void> FileExtension::stop() {
  stopping_ = true;
  if (tasks_) co_await tasks_->stop();
}

void FileExtension::linked() { wake(); }

void FileExtension::wake() {
  wake_ = true;
  woken_.notify_all();
}

awaitable<boost::json::value> FileExtension::answer(std::string method, boost::json::value body) {
  if (method == "files.changed") {
    wake();
    co_return boost::json::object{};
  }
  if (method == "files.read") co_return json::to_value(co_await read(json::decode<ReadRequest>(body)));
  if (method == "files.master") co_return json::to_value(co_await master(json::decode<MasterRequest>(body)));
  throw Error(Code::unsupported, fmt::format("this agent does not know '{}'", method));
}

/// A quarter more or less: nodes that were started together do not come together for ever.
Duration FileExtension::until_next() const {
  std::uint32_t number = 0;
  std::memcpy(&number, random_bytes(sizeof number).data(), sizeof number);
  const double share = 0.75 + 0.5 * (static_cast<double>(number) / 4294967296.0);
  return std::chrono::duration_cast<Duration>(options_.every * share);
}

/// Told, or time, or a capsule that was not here at the last look.
awaitable<void> FileExtension::wait_for_something() {
  const auto deadline = async::deadline_in(until_next());
  while (!wake_ && std::chrono::steady_clock::now() < deadline) {
    const auto soon = options_.capsules ? std::min(deadline, async::deadline_in(kCapsulesEvery)) : deadline;
    if (co_await woken_.wait_until(soon)) continue;
    const auto running = co_await capsules();
    if (std::ranges::any_of(running, [&](const auto& target) { return !followed_.contains(target->name()); }))
      co_return;
  }
}

awaitable<std::vector<std::shared_ptr<FileTarget>>> FileExtension::capsules() {
  if (!options_.capsules) co_return std::vector<std::shared_ptr<FileTarget>>{};
  auto list = [this] { return options_.capsules(); };
  co_return co_await async::on_pool(context_->pool, list);
}

awaitable<void> FileExtension::find_targets() {
  auto targets = co_await capsules();
  if (!followed_.contains("")) followed_[""].target = std::make_shared<NodeTarget>(options_.root);
  for (auto it = followed_.begin(); it != followed_.end();) {
    const bool runs = it->first.empty() ||
                      std::ranges::any_of(targets, [&](const auto& target) { return target->name() == it->first; });
    it = runs ? std::next(it) : followed_.erase(it);
  }
  for (auto& target : targets) {
    const std::string name = target->name();
    followed_[name].target = std::move(target);
  }
}

awaitable<void> FileExtension::pass() {
  wake_ = false;
  const auto server = context_->server();
  if (!server) co_return;
  co_await find_targets();
  for (auto& [name, followed] : followed_) {
    std::string failure;
    try {
      co_await follow(followed, server);
    } catch (const Error& error) {
      failure = error.one_line();
    }
    if (!failure.empty() && failure != followed.failure)
      log::warn("files: {} cannot be synchronised, trying again: {}",
                name.empty() ? std::string("the node") : fmt::format("capsule '{}'", name), failure);
    followed.failure = failure;
    if (server->is_open()) co_await report(followed, server);
  }
}

awaitable<void> FileExtension::follow(Followed& followed, std::shared_ptr<link::Connection> server) {
  auto& pool = context_->pool;
  const auto& target = *followed.target;
  if (!followed.rounds) {
    const std::string path =
        target.name().empty() ? directory_ + "/node" : directory_ + "/capsules/" + directory_name(target.name());
    auto open = [this, path] { return std::make_unique<Rounds>(path, &stopping_); };
    followed.rounds = co_await async::on_pool(pool, open);
  }
  auto& rounds = *followed.rounds;
  auto look_back = [&] { return rounds.unfinished(); };
  if (auto left = co_await async::on_pool(pool, look_back)) {
    log::info("files: going on with what an earlier agent began");
    co_await carry_out(followed, std::move(*left), {}, true, server);
  }
  const Manifest manifest = co_await wanted(followed, server);
  auto look = [&] { return rounds.plan(target, manifest); };
  auto plan = co_await async::on_pool(pool, look);
  auto wants = needed(plan);
  auto contents = co_await fetch(target.name(), std::move(wants.small), server);
  co_await fetch_large(followed, std::move(wants.large), server);
  auto round = make_round(SystemIds().uuid(), manifest, std::move(plan), rounds.state());
  if (!round.empty()) {
    co_await carry_out(followed, std::move(round), std::move(contents), false, server);
    co_return;
  }
  auto settle = [&] { rounds.settle(TargetTree(target), manifest, round.problems, context_->clock.now()); };
  co_await async::on_pool(pool, settle);
}

/// The manifest that counts now: a newer one if there is one that can be believed, else the one that was.
awaitable<Manifest> FileExtension::wanted(Followed& followed, std::shared_ptr<link::Connection> server) {
  const auto& state = followed.rounds->state();
  const auto& standing = state.manifest;
  const bool has_one = !standing.node_id.empty();
  const bool is_fresh = trust_.trusted.empty();
  const ManifestRequest request{followed.target->name(), has_one ? digest_of(standing) : std::string(),
                                is_fresh ? -1 : trust_.serial};
  auto body = json::to_value(request, json::Encoding::compact);
  const auto answer = co_await server->call("files.manifest", std::move(body));
  const auto reply = json::decode<ManifestReply>(answer);
  followed.refused.clear();
  std::optional<Manifest> news;
  try {
    auto trust = trust_;
    if (is_fresh && reply.manifest) trust = {reply.key_serial, {reply.manifest->key}, {}};
    if (!trust.trusted.empty()) trust = take_steps(std::move(trust), reply.steps);
    // Believed before what it signs: a withdrawn key is none for what comes with the news of it either.
    if (!is_fresh && trust.serial != trust_.serial) co_await believe(trust);
    if (reply.manifest) {
      // A key that was withdrawn may have said of its last manifest that it is the newest for ever.
      const bool outlived = trust.has_withdrawn(state.key);
      Expectation expected{context_->self.id, followed.target->name(), trust, standing.epoch, standing.revision};
      if (!has_one || outlived) expected.epoch = 0;
      if (outlived) expected.revision = 0;
      news = open_manifest(*reply.manifest, expected);
    }
    if (is_fresh && news) co_await believe(std::move(trust));
  } catch (const Error& error) {
    followed.refused = error.one_line() + (error.advice().empty() ? std::string() : "; " + error.advice());
  }
  if (news) {
    followed.rounds->note_key(reply.manifest->key);
    co_return std::move(*news);
  }
  if (has_one) co_return standing;
  if (!followed.refused.empty()) throw Error(Code::denied, followed.refused);
  Manifest nothing;
  nothing.capsule = followed.target->name();
  co_return nothing;
}

awaitable<void> FileExtension::believe(Trust trust) {
  auto keep = [this, &trust] {
    os::write_file(directory_ + "/server.key", json::encode(trust, json::Encoding::compact) + "\n", 0600);
  };
  co_await async::on_pool(context_->pool, keep);
  trust_ = std::move(trust);
}

awaitable<void> FileExtension::carry_out(Followed& followed, Round round, std::map<std::string, std::string> contents,
                                         bool begun, std::shared_ptr<link::Connection> server) {
  auto& pool = context_->pool;
  auto& rounds = *followed.rounds;
  auto work = [&] {
    if (!begun) rounds.begin(round, contents);
    return rounds.carry_out(round, *followed.target, context_->clock.now());
  };
  auto outcome = co_await async::on_pool(pool, work);
  for (std::size_t i = 0; i < round.reloads.size(); ++i) {
    const auto& [reload, paths] = round.reloads[i];
    const auto made = [&](const std::string& path) {
      return std::ranges::find(outcome.made, path) != outcome.made.end();
    };
    const bool owed = std::ranges::any_of(rounds.state().owed_reloads,
                                          [&](const auto& o) { return describe::equal(o.reload, reload); });
    if ((!owed && std::ranges::none_of(paths, made)) || rounds.reloaded(i)) continue;
    std::string failure;
    std::int64_t signalled = 0;
    try {
      const ReloadRequest request{followed.target->name(), reload, fmt::format("{}-{}", round.id, i)};
      auto body = json::to_value(request);
      const auto answer = co_await server->call("files.reload", std::move(body));
      const auto* told = answer.is_object() ? answer.get_object().if_contains("Signalled") : nullptr;
      if (told != nullptr && told->is_int64()) signalled = told->get_int64();
      auto note = [&] { rounds.note_reload(i); };
      co_await async::on_pool(pool, note);
    } catch (const Error& error) {
      failure = error.one_line();
    }
    outcome.events.push_back(
        {unix_nanos(context_->clock.now()), paths.front(), "reload",
         failure.empty() ? fmt::format("{} to job '{}': {} tasks", reload.signal, reload.job, signalled) : failure});
    if (failure.empty()) continue;
    outcome.owed_reloads.push_back(round.reloads[i]);
    for (const auto& path : paths)
      outcome.failed[path] = fmt::format("it was written, but job '{}' was not told: {}", reload.job, failure);
  }
  auto finish = [&] { rounds.finish(round, *followed.target, outcome, context_->clock.now()); };
  co_await async::on_pool(pool, finish);
  for (const auto& event : outcome.events) log::info("files: {} {}: {}", event.path, event.what, event.detail);
}

awaitable<void> FileExtension::report(Followed& followed, std::shared_ptr<link::Connection> server) {
  if (!followed.rounds) co_return;
  const auto& state = followed.rounds->state();
  if (state.manifest.node_id.empty() && followed.refused.empty()) co_return;
  model::FileReport report;
  report.capsule = followed.target->name();
  report.epoch = state.manifest.epoch;
  report.revision = state.manifest.revision;
  report.manifest = digest_of(state.manifest);
  report.refused = followed.refused;
  report.key_serial = trust_.serial;
  report.files = static_cast<std::int64_t>(state.manifest.entries.size());
  report.applied_at = state.applied_at;
  report.problems = state.problems;
  report.events = state.events;
  if (!followed.failure.empty()) report.problems.push_back({"", model::FileState::pending, followed.failure, 0});
  auto text = json::encode(report, json::Encoding::compact);
  if (text == followed.reported) co_return;
  try {
    auto body = json::parse(text);
    co_await server->call("files.report", std::move(body));
    followed.reported = std::move(text);
  } catch (const Error& error) {
    log::debug("files: the report was not heard: {}", error.one_line());
  }
}

/// Only what its manifest names, and no secret: whoever may ask for it has the master already.
awaitable<FoundFile> FileExtension::read(ReadRequest request) {
  const auto it = followed_.find(request.capsule);
  if (it == followed_.end() || !it->second.rounds) throw Error(Code::not_found, "nothing was synchronised here yet");
  const auto& entries = it->second.rounds->state().manifest.entries;
  const auto entry =
      std::ranges::find_if(entries, [&](const auto& candidate) { return candidate.path == request.path; });
  if (entry == entries.end()) throw Error(Code::not_found, fmt::format("'{}' is not synchronised here", request.path));
  if (entry->secret) throw Error(Code::denied, fmt::format("'{}' is secret", request.path));
  const auto target = it->second.target;
  const ManifestEntry wanted = *entry;
  auto look = [target, wanted] {
    FoundFile reply;
    const TargetTree tree(*target);
    const auto bytes = tree.read(wanted.path, model::kPieceBytes);
    if (!bytes) return reply;
    reply.exists = true;
    reply.data = base64_encode(*bytes);
    const auto seen = tree.look(wanted).observed;
    reply.owner = tree.user_name(seen.uid);
    reply.group = tree.group_name(seen.gid);
    reply.mode = fmt::format("{:04o}", seen.mode);
    return reply;
  };
  co_return co_await async::on_pool(context_->pool, look);
}

}  // namespace underway::files
