// A server in memory, the link of a real node extension to it, and images between them.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>

#include "async/group.hpp"
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "image/pack.hpp"
#include "imageshare/node_images.hpp"
#include "imageshare/server_images.hpp"
#include "os/file.hpp"
#include "server/testing/desk.hpp"
#include "server/testing/fake_node.hpp"
#include "store/memory_store.hpp"

namespace underway::imageshare {
namespace {

using server::testing::FakeNode;
using server::testing::run_until;
using testing::HasSubstr;

class Sharing : public testing::Test {
 protected:
  Sharing() {
    char name[] = "/tmp/underway-test-XXXXXX";
    directory_ = ::mkdtemp(name);
    server::Options options;
    options.root_by_raw_exec = true;  // jobs with capsules
    server_.emplace(loop_.executor(), database_, clock_, ids_, options);
    images_.emplace(*server_, clock_, at("server"));
    server_->add_extension("image.", images_->extension());
    server_->start();
    node_.emplace(loop_.executor(), *server_, server::testing::make_node(1));
    run(node_->join());
    node_images_.emplace(at("node"), clock_, std::chrono::milliseconds(50));
    run(node_images_->start(
        {node_->node(), at("data"), loop_.executor(), pool_, [this] { return connection(); }, clock_, loops_}));
    key_ = image::generate_key(at("ops.key"), "ops", clock_.now() + std::chrono::hours(24 * 365 * 20));
    run(images_->trust(image::to_record(key_)));
  }
  ~Sharing() override {
    run(node_images_->stop());
    run(node_->stop());
    run(server_->stop());
    loop_.context().restart();
    loop_.context().poll();
    os::remove_tree(directory_);
  }

  std::shared_ptr<link::Connection> connection() { return online_ ? node_->connection : nullptr; }
  template <class T>
  T run(async::awaitable<T> task) {
    return loop_.run_until_done(std::move(task));
  }
  template <class Body>
  std::string failure_of(Body&& body) {
    try {
      body();
    } catch (const Error& error) {
      return error.text();
    }
    return "no failure";
  }
  std::string at(const std::string& name) const { return directory_ + "/" + name; }

  std::string image(const std::string& name, std::size_t size = 1500 << 10) const {
    const std::string tree = at("tree-" + name);
    os::make_directories(tree);
    std::string noise(size, '\0');
    std::uint32_t state = 7;
    for (char& c : noise) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    os::write_file(tree + "/noise", noise);
    image::Manifest manifest;
    manifest.name = name;
    manifest.version = "1";
    const auto key = image::read_private_key(at("ops.key"));
    image::pack(tree, manifest, at(name + ".capsule"), {.all_root = true, .key = &key});
    return at(name + ".capsule");
  }
  /// What `push` does.
  image::StoredImage push(const std::string& path) {
    const std::string bytes = os::read_file(path);
    const image::Incoming incoming{.digest = image::ImageFile::open(path).digest(),
                                   .size = static_cast<std::int64_t>(bytes.size())};
    run(images_->append(incoming, 0, bytes));
    return run(images_->finish(incoming));
  }

  /// As the way back of an upgrade does.
  void name_in_a_record(const std::string& digest) {
    model::Record record;
    record.kind = "capsule";
    record.name = "default/svc";
    record.body = boost::json::object{{"WayBack", boost::json::object{{"Image", digest}}}};
    run(server_->apply(server::testing::PutChanges{{tables::Put<model::Record>{std::move(record)}}}));
  }
  model::Job run_job_with(const std::string& image) {
    auto job = server::testing::make_job("capsules");
    job.groups[0].tasks[0].driver = "capsule";
    job.groups[0].tasks[0].config = boost::json::object{{"image", image}};
    server::RegisterJob request;
    request.job = job;
    run(server_->apply(std::move(request)));
    return job;
  }
  std::string directory_;
  VirtualClock clock_;
  SeededIds ids_{1};
  async::Loop loop_;
  async::Pool pool_{2};
  async::LoopRegistry loops_{clock_};
  store::MemoryStore database_;
  std::optional<server::Server> server_;
  std::optional<ServerImages> images_;
  std::optional<FakeNode> node_;
  std::optional<NodeImages> node_images_;
  image::TrustedKey key_;
  bool online_ = true;
};

TEST_F(Sharing, NodesFetchWhatWasPushedAndHaveTheKeysToVerifyIt) {
  const auto pushed = push(image("web"));
  const auto fetched = run(node_images_->fetch("web"));
  EXPECT_EQ(fetched.digest, pushed.digest);
  EXPECT_NO_THROW(
      image::open_verified(node_images_->store().path_of(fetched.digest), node_images_->keys(), clock_.now()));
  EXPECT_EQ(run(node_images_->fetch("web:1")).digest, pushed.digest);
  EXPECT_EQ(run(node_images_->fetch(pushed.digest)).digest, pushed.digest);
  EXPECT_EQ(node_images_->transfers(), 1U);
}

TEST_F(Sharing, ManyThatAskAtOnceShareOneTransfer) {
  push(image("web"));
  int done = 0;
  const auto ask = [&](async::awaitable<image::StoredImage> fetch) -> async::awaitable<void> {
    co_await std::move(fetch);
    ++done;
  };
  async::TaskGroup group(loop_.executor(), "askers");
  for (int i = 0; i < 5; ++i) group.spawn("one", ask(node_images_->fetch("web")));
  run_until(loop_, [&] { return done == 5; });
  EXPECT_EQ(node_images_->transfers(), 1U);
}

TEST_F(Sharing, ThreadsOfThePoolMayAskToo) {
  push(image("web"));
  std::string path;
  auto job = [&] { path = node_images_->fetch_blocking("web", std::chrono::seconds(20)); };
  run(async::on_pool(pool_, job));
  EXPECT_TRUE(os::exists(path));
}

TEST_F(Sharing, AllThreadsOfThePoolMayWaitForImagesAtOnce) {
  push(image("web"));
  push(image("mail"));
  int done = 0;
  const auto ask = [&](std::string name) -> async::awaitable<void> {
    auto job = [&] { node_images_->fetch_blocking(name, std::chrono::seconds(20)); };
    co_await async::on_pool(pool_, job);
    ++done;
  };
  async::TaskGroup group(loop_.executor(), "askers");
  // As many as it has threads.
  group.spawn("one", ask("web"));
  group.spawn("other", ask("mail"));
  run_until(loop_, [&] { return done == 2; });
}

TEST_F(Sharing, ATransferGoesOnAfterTheLinkBroke) {
  const auto pushed = push(image("web", 6 << 20));
  std::optional<image::StoredImage> fetched;
  const auto ask = [&]() -> async::awaitable<void> { fetched = co_await node_images_->fetch("web"); };
  async::TaskGroup group(loop_.executor(), "asker");
  group.spawn("one", ask());
  const image::Incoming incoming{.digest = pushed.digest, .size = pushed.size};
  run_until(loop_, [&] { return node_images_->store().received(incoming) > (1 << 20); });
  node_->cut();
  const auto had = node_images_->store().received(incoming);
  ASSERT_FALSE(fetched);
  run(node_->join());
  node_images_->linked();
  run_until(loop_, [&] { return fetched.has_value(); });
  EXPECT_GE(had, 1 << 20);
  EXPECT_EQ(node_images_->transfers(), 1U);
  EXPECT_EQ(os::read_file(node_images_->store().path_of(pushed.digest)), os::read_file(at("web.capsule")));
}

TEST_F(Sharing, WithoutTheServerANodeHasWhatItHas) {
  push(image("web"));
  run(node_images_->fetch("web"));
  online_ = false;
  EXPECT_EQ(run(node_images_->fetch("web")).name, "web");
  EXPECT_THAT(failure_of([&] { run(node_images_->fetch("mail")); }), HasSubstr("the server cannot be reached"));
}

TEST_F(Sharing, NothingIsShownThatIsNotTrusted) {
  const std::string path = image("web");
  push(path);
  run(images_->revoke(key_.id, "laptop stolen"));
  EXPECT_THAT(failure_of([&] { run(node_images_->fetch("web")); }), HasSubstr("laptop stolen"));
  EXPECT_TRUE(node_images_->store().list().empty());
  EXPECT_THAT(failure_of([&] { push(image("mail")); }), HasSubstr("laptop stolen"));
  EXPECT_THAT(failure_of([&] { run(images_->trust(image::to_record(key_))); }), HasSubstr("was revoked and stays so"));
}

TEST_F(Sharing, NodesLearnOfARevocationByThemselves) {
  run_until(loop_, [&] { return node_images_->keys().size() == 1; });
  EXPECT_FALSE(node_images_->keys()[0].revoked);
  run(images_->revoke(key_.id, "lost"));
  run_until(loop_, [&] { return node_images_->keys()[0].revoked.has_value(); });
}

TEST_F(Sharing, ImagesThatAreAskedForAndNotThereAreNamed) {
  EXPECT_THAT(failure_of([&] { run(node_images_->fetch("web")); }), HasSubstr("there is no image 'web'"));
  EXPECT_THAT(failure_of([&] { run(node_images_->fetch("../web")); }), HasSubstr("names no image"));
  EXPECT_THAT(failure_of([&] { run(images_->remove("web", false)); }), HasSubstr("there is no image 'web'"));
}

TEST_F(Sharing, WhatNobodyRefersToGoesWithTime) {
  for (const auto* name : {"web", "mail", "new"}) push(image(name));
  name_in_a_record(push(image("back")).digest);
  run_job_with("web:1");
  run_job_with("new:1");  // a job is reverted to what it was
  for (const auto* name : {"web", "mail"}) run(node_images_->fetch(name));
  EXPECT_TRUE(run(images_->prune(std::chrono::hours(1), false)).empty()) << "they have just come";
  // A store goes by the times of its files, which are of the real clock.
  clock_.advance(SystemClock().now() - clock_.now() + std::chrono::hours(24 * 60));
  const auto month = std::chrono::hours(24 * 30);
  ASSERT_EQ(run(images_->prune(month, true)).size(), 1);
  EXPECT_EQ(run(images_->list()).size(), 4) << "it was only asked";
  EXPECT_EQ(run(images_->prune(month, false)).front().name, "mail");
  EXPECT_EQ(run(images_->list()).size(), 3);

  node_images_->keep([this] { return std::set{node_images_->store().get("web").digest}; });
  run(node_images_->fetch("new"));
  std::set<std::string> names;
  for (const auto& image : node_images_->store().list()) names.insert(image.name);
  EXPECT_EQ(names, (std::set<std::string>{"web", "new"}));
}

TEST_F(Sharing, ImagesThatJobsReferToStay) {
  push(image("web"));
  const auto job = run_job_with("web:1");
  EXPECT_THAT(failure_of([&] { run(images_->remove("web", false)); }), HasSubstr("jobs refer to it: " + job.id));
  run(images_->remove("web", true));
  EXPECT_TRUE(run(images_->list()).empty());
}

}  // namespace
}  // namespace underway::imageshare
