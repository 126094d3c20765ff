#include "server/request.hpp"

#include "base/json/json.hpp"
#include "server/access/namespace_decisions.hpp"
#include "server/server.hpp"
#include "server/testing/desk.hpp"

namespace underway::server::testing {
namespace {

static_assert(Request<DrainNode>);
static_assert(Request<ChangeNothing>);
static_assert(std::same_as<ResultOf<RegisterJob>, Registered>);
static_assert(!Request<int>);
static_assert(!Request<model::Namespace>, "a row is no request");
constexpr auto kFunction = [](const Tables&, const Context&) { return Decision<Nothing>{}; };
static_assert(!Request<decltype(kFunction)>, "a request has a name");

class RequestTest : public ::testing::Test {
 protected:
  RequestTest() {
    RegisterNode node{make_node(1), "secret"};
    loop.run_until_done(server.apply(std::move(node)));
  }
  ~RequestTest() override {
    loop.run_until_done(server.stop());
    loop.context().restart();
    loop.context().poll();
  }
  static DrainNode drain() {
    DrainNode request{.node_id = uuid(1)};
    request.drain.emplace().deadline = std::chrono::hours(1);
    request.meta = {{"why", "bad DIMM"}};
    return request;
  }
  static PutNamespace making(const std::string& name) {
    PutNamespace request;
    request.ns.name = name;
    return request;
  }
  /// Without the indexes, which the commit gives.
  static std::string text_of(model::Node node) {
    node.create_index = node.modify_index = 0;
    return json::encode(node);
  }
  bool is_there(const std::string& ns) { return find_namespace(server.writer().tables(), ns).has_value(); }

  async::Loop loop;
  store::MemoryStore store;
  VirtualClock clock;
  SeededIds ids{5};
  Server server{loop.executor(), store, clock, ids, {}};
};

/// Keeps a mark beside whatever it is asked about.
void mark(const Tables&, const Context& context, std::vector<Change>& changes) {
  changes.push_back(tables::PutSetting{"mark", boost::json::value(context.revision)});
}

TEST_F(RequestTest, APreviewIsWhatApplyCommits) {
  const auto before = store.revision();
  const auto preview = server.preview(drain());
  EXPECT_EQ(store.revision(), before);
  EXPECT_FALSE(server.writer().tables().find_node(uuid(1))->drain) << "nothing is done yet";
  ASSERT_EQ(preview.changes.size(), 1U);
  loop.run_until_done(server.apply(drain()));
  EXPECT_EQ(text_of(std::get<tables::PutNode>(preview.changes[0]).node),
            text_of(*server.writer().tables().find_node(uuid(1))));
}

TEST_F(RequestTest, APreviewAnswersWhatApplyAnswers) {
  const auto preview = server.preview(EvaluateNode{uuid(1)});
  EXPECT_EQ(loop.run_until_done(server.apply(EvaluateNode{uuid(1)})).size(), preview.result.size());
  const auto refused = [](auto ask) {
    try {
      ask();
    } catch (const Error& error) {
      return error.text();
    }
    return std::string("done");
  };
  const auto shown = refused([&] { server.preview(PurgeNode{uuid(9)}); });
  EXPECT_EQ(refused([&] { loop.run_until_done(server.apply(PurgeNode{uuid(9)})); }), shown);
  EXPECT_NE(shown, "done");
}

TEST_F(RequestTest, ARequestThatIsRefusedChangesNothing) {
  const auto before = store.revision();
  EXPECT_THROW(loop.run_until_done(server.apply(DeleteNamespace{"no"}, mark)), Error);
  EXPECT_EQ(store.revision(), before);
  EXPECT_FALSE(server.writer().tables().setting("mark"));
}

TEST_F(RequestTest, WhatIsKeptBesideARequestIsInItsCommitAndInItsPreview) {
  EXPECT_EQ(server.preview(making("team"), mark).changes.size(), server.preview(making("team")).changes.size() + 1);
  const auto before = store.revision();
  loop.run_until_done(server.apply(making("team"), mark));
  EXPECT_EQ(store.revision(), before + 1) << "one commit";
  EXPECT_TRUE(is_there("team"));
  EXPECT_EQ(server.writer().tables().setting("mark"), boost::json::value(before + 1));
}

TEST_F(RequestTest, WhatIsKeptBesideMayRefuseAll) {
  const CommitHook refuses = [](const Tables&, const Context&, std::vector<Change>& changes) {
    EXPECT_FALSE(changes.empty()) << "it sees what the request would change";
    throw Error(Code::denied, "not now");
  };
  const auto before = store.revision();
  EXPECT_THROW(server.preview(making("team"), refuses), Error);
  EXPECT_THROW(loop.run_until_done(server.apply(making("team"), refuses)), Error);
  EXPECT_EQ(store.revision(), before);
  EXPECT_FALSE(is_there("team"));
  loop.run_until_done(server.apply(making("other")));
  EXPECT_TRUE(is_there("other")) << "the next is decided as ever";
}

}  // namespace
}  // namespace underway::server::testing
