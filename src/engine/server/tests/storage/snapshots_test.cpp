#include "server/storage/snapshots.hpp"

#include <filesystem>

#include "os/file.hpp"
#include "server/storage/snapshot_losses.hpp"
#include "server/testing/desk.hpp"
#include "server/testing/fake_node.hpp"
#include "server/variable/variables.hpp"

namespace underway::server::testing {
namespace {

/// A server with its directories, and what it has saved.
class Site {
 public:
  explicit Site(std::string keyring = {}) {
    std::string pattern = (std::filesystem::temp_directory_path() / "underway-site-XXXXXX").string();
    directory = ::mkdtemp(pattern.data());
    options.root_by_raw_exec = true;
    options.link_patience = std::chrono::milliseconds(50);
    options.snapshot_directory = directory + "/snapshots";
    options.keyring_directory = keyring.empty() ? directory + "/keyring" : keyring;
    server = std::make_unique<Server>(loop.executor(), store, clock, ids, options);
    server->start();
  }
  ~Site() {
    for (auto& node : nodes) loop.run_until_done(node->stop());
    loop.run_until_done(server->stop());
    loop.context().restart();
    loop.context().poll();
    server.reset();
    std::filesystem::remove_all(directory);
  }
  void run(const std::string& job) {
    RegisterJob request{make_job(job), {}, {}};
    loop.run_until_done(server->apply(std::move(request)));
  }
  FakeNode& join(int number) {
    nodes.push_back(std::make_unique<FakeNode>(loop.executor(), *server, make_node(number)));
    loop.run_until_done(nodes.back()->join());
    return *nodes.back();
  }
  void put_variable(const std::string& path, const std::string& value) {
    VariableClaim claim;
    claim.ns = "default";
    claim.path = path;
    loop.run_until_done(server->variables().put(std::move(claim), {{"value", value}}));
  }
  std::string variable(const std::string& path) {
    const auto row = tables().find<model::Variable>(model::variable_key("default", path));
    return row ? server->variables().open(*row).items.at("value") : "absent";
  }
  /// A copy of what was saved, outside of the server's directory.
  std::string save() {
    const auto saved = loop.run_until_done(server->save_snapshot());
    const std::string path = fmt::format("{}/saved-{}", directory, ++saves);
    std::filesystem::copy_file(saved->file->path(), path);
    metadata = saved->metadata;
    return path;
  }
  RestoredSnapshot restore(const std::string& path, bool force = false) {
    return loop.run_until_done(server->restore_snapshot(path, force));
  }
  SnapshotLosses losses(const std::string& path) {
    return loop.run_until_done(losses_of_snapshot(*server, path, false));
  }
  std::string refusal(const std::string& path, bool force = false) {
    const auto before = tables().revision();
    try {
      restore(path, force);
      return {};
    } catch (const Error& error) {
      EXPECT_EQ(tables().revision(), before) << "something was touched";
      return fmt::format("{}: {}", to_string(error.code()), error.message());
    }
  }
  std::vector<std::string> jobs() {
    std::vector<std::string> out;
    for (const auto& job : tables().jobs()) out.push_back(job->id);
    return out;
  }
  const Tables& tables() { return server->writer().tables(); }

  async::Loop loop;
  store::MemoryStore store;
  SystemClock clock;
  SeededIds ids{11};
  Options options;
  std::string directory;
  snapshot::Metadata metadata;
  int saves = 0;
  std::unique_ptr<Server> server;
  std::vector<std::unique_ptr<FakeNode>> nodes;
};

using Names = std::vector<std::string>;

TEST(Snapshots, BringTheStateBackWithANewerRevision) {
  Site site;
  site.run("kept");
  site.put_variable("a/b", "secret");
  const auto saved = site.save();
  EXPECT_FALSE(site.metadata.cluster_id.empty());
  EXPECT_EQ(site.metadata.index, site.tables().revision());
  site.run("later");
  site.put_variable("a/b", "changed");
  const auto before = site.tables().revision();
  const auto restored = site.restore(saved);
  EXPECT_GT(restored.revision, before);
  EXPECT_EQ(site.tables().revision(), restored.revision);
  EXPECT_EQ(site.jobs(), (Names{"kept"}));
  EXPECT_EQ(site.variable("a/b"), "secret");
  EXPECT_EQ(site.tables().revision_of({tables::Topic::jobs, "default/later"}), restored.revision);
  site.run("again");
  EXPECT_EQ(site.jobs(), (Names{"again", "kept"}));
  EXPECT_TRUE(std::filesystem::is_empty(site.options.snapshot_directory)) << "something was left behind";
}

TEST(Snapshots, WakeABlockingQueryOfWhatIsGone) {
  Site site;
  site.run("kept");
  const auto saved = site.save();
  site.run("later");
  const auto seen = site.tables().revision();
  model::Revision answered = 0;
  async::TaskGroup tasks(site.loop.executor(), "test");
  auto wait = [](Site& at, model::Revision index, model::Revision& answer) -> async::awaitable<void> {
    std::vector<tables::Scope> scopes{{tables::Topic::jobs, "default/later"}};
    const auto deadline = async::deadline_in(std::chrono::seconds(30));
    const auto* now = co_await at.server->changed_since(std::move(scopes), index, deadline);
    answer = now->revision_of({tables::Topic::jobs, "default/later"});
  };
  tasks.spawn("query", wait(site, seen, answered));
  site.restore(saved);
  run_until(site.loop, [&] { return answered != 0; });
  EXPECT_GT(answered, seen);
  site.loop.run_until_done(tasks.stop());
}

TEST(Snapshots, TellWhatRunsThatTheyDoNotHave) {
  Site site;
  FakeNode& node = site.join(1);
  site.run("kept");
  run_until(site.loop, [&] { return node.orders.size() == 1; });
  const auto saved = site.save();
  EXPECT_EQ(site.losses(saved).allocations, 0);
  site.run("later");
  run_until(site.loop, [&] { return node.orders.size() == 2; });
  const auto losses = site.losses(saved);
  EXPECT_EQ(losses.jobs, (Names{"default/later"}));
  EXPECT_EQ(losses.allocations, 1);
  EXPECT_EQ(site.jobs(), (Names{"kept", "later"})) << "something was touched";
}

TEST(Snapshots, HaveNodesLinkAnewAndToldWhatTheyShallRun) {
  Site site;
  FakeNode& node = site.join(1);
  site.run("kept");
  run_until(site.loop, [&] { return node.orders.size() == 1; });
  const auto saved = site.save();
  site.run("later");
  run_until(site.loop, [&] { return node.orders.size() == 2; });
  site.restore(saved);
  run_until(site.loop, [&] { return !site.server->linked(node.id()); });
  site.loop.run_until_done(node.join());
  run_until(site.loop, [&] { return node.orders.size() == 1; });
  EXPECT_EQ(node.orders.begin()->second.allocation.job_id, "kept");
}

TEST(Snapshots, RestoreOnAFreshServerThatHasTheWrappingKey) {
  Site old;
  old.run("kept");
  old.put_variable("a/b", "secret");
  const auto saved = old.save();

  Site stranger;
  EXPECT_EQ(stranger.refusal(saved).substr(0, 25), "denied: the root key '" + old.metadata.keys[0].id.substr(0, 3));
  EXPECT_TRUE(stranger.jobs().empty());

  const std::string keyring = stranger.directory + "/prepared";
  std::filesystem::create_directories(keyring);
  std::filesystem::copy_file(old.directory + "/keyring/wrapping.key", keyring + "/wrapping.key");
  Site fresh(keyring);
  EXPECT_EQ(fresh.refusal(saved), "");
  EXPECT_EQ(fresh.jobs(), (Names{"kept"}));
  EXPECT_EQ(fresh.variable("a/b"), "secret");
  EXPECT_GE(fresh.tables().revision(), old.metadata.index);
  EXPECT_EQ(fresh.tables().find_job("default", "kept")->create_index,
            old.tables().find_job("default", "kept")->create_index);
  // Its keys are kept: it opens the variable after a restart as well.
  const Keyring again(keyring, {}, fresh.clock.now());
  EXPECT_EQ(again.keys().size(), 2u);
}

TEST(Snapshots, OfAnotherClusterAreRefusedUnlessForced) {
  Site one;
  one.run("theirs");
  const auto saved = one.save();
  const std::string keyring = one.directory + "/shared";
  std::filesystem::create_directories(keyring);
  std::filesystem::copy_file(one.directory + "/keyring/wrapping.key", keyring + "/wrapping.key");
  Site other(keyring);
  other.run("ours");
  EXPECT_EQ(other.refusal(saved), "conflict: this snapshot is of another cluster");
  EXPECT_EQ(other.jobs(), (Names{"ours"}));
  EXPECT_EQ(other.refusal(saved, true), "");
  EXPECT_EQ(other.jobs(), (Names{"theirs"}));
  other.save();
  EXPECT_EQ(other.metadata.cluster_id, one.metadata.cluster_id) << "it is that cluster now";
}

TEST(Snapshots, ThatAreDamagedChangeNothing) {
  Site site;
  site.run("kept");
  const auto saved = site.save();
  site.run("later");
  const std::string bytes = os::read_file(saved);
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, bytes.size() / 2, bytes.size() - 60}) {
    os::write_file(site.directory + "/cut", bytes.substr(0, size), 0600, {}, os::Durability::cached);
    EXPECT_NE(site.refusal(site.directory + "/cut"), "") << size;
  }
  EXPECT_EQ(site.jobs(), (Names{"kept", "later"}));
  EXPECT_TRUE(std::filesystem::is_empty(site.options.snapshot_directory));
}

TEST(Snapshots, WhoseCommitFailsChangeNothing) {
  Site site;
  site.run("kept");
  const auto saved = site.save();
  site.run("later");
  site.store.fail_next_commit(Error(Code::exhausted, "no space"));
  EXPECT_EQ(site.refusal(saved), "exhausted: no space");
  EXPECT_EQ(site.jobs(), (Names{"kept", "later"}));
  site.run("more");
  EXPECT_EQ(site.jobs(), (Names{"kept", "later", "more"}));
}

}  // namespace
}  // namespace underway::server::testing
