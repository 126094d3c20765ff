#include "node/server/server_data.hpp"

#include <gtest/gtest.h>

namespace underway::node {
namespace {

protocol::DataNeed need(const std::string& path, const std::string& task = "t") {
  return {"a1", task, protocol::DataKind::variable, path, ""};
}

protocol::DataValue value(const protocol::DataNeed& of, const std::string& text) {
  protocol::DataValue out;
  out.need = of;
  out.variable.emplace();
  out.variable->items["k"] = text;
  return out;
}

struct Fixture {
  int news = 0;
  int changed = 0;
  ServerData data{[this] { ++news; }};
  std::shared_ptr<void> watch(std::set<protocol::DataNeed> needs) {
    return data.watch(std::move(needs), [this] { ++changed; });
  }
  void learn(const protocol::DataNeed& of, const std::string& text) {
    protocol::DataMessage message;
    message.values.push_back(value(of, text));
    data.learn(std::move(message));
  }
};

TEST(ServerData, TellsTheServerWhenTheNeedsOfAllTasksTogetherChange) {
  Fixture f;
  auto first = f.watch({need("x")});
  EXPECT_EQ(f.news, 1);
  EXPECT_TRUE(f.data.has_untold());
  auto same = f.watch({need("x")});
  EXPECT_EQ(f.news, 1);
  auto more = f.watch({need("y")});
  EXPECT_EQ(f.news, 2);
  same.reset();
  EXPECT_EQ(f.news, 2) << "the other one still needs it";
  first.reset();
  EXPECT_EQ(f.news, 3);
}

TEST(ServerData, WakesOnlyWhoAskedForWhatChanged) {
  Fixture f;
  const auto token = f.watch({need("x")});
  f.learn(need("x"), "one");
  EXPECT_EQ(f.changed, 1);
  EXPECT_EQ(f.data.answers()->at(need("x")).variable->items.at("k"), "one");
  f.learn(need("x"), "one");
  EXPECT_EQ(f.changed, 1) << "told again after a new link";
  f.learn(need("x"), "two");
  EXPECT_EQ(f.changed, 2);
  f.learn(need("other"), "x");
  f.learn(need("x", "u"), "x");
  EXPECT_EQ(f.changed, 2) << "nobody asked";
  EXPECT_EQ(f.data.answers()->size(), 1U);
}

TEST(ServerData, IsOutlivedByItsTokens) {
  int news = 0;
  std::shared_ptr<void> token;
  {
    ServerData data([&news] { ++news; });
    token = data.watch({need("x")}, [] {});
    EXPECT_EQ(news, 1);
  }
  token.reset();
  EXPECT_EQ(news, 1) << "nothing is called on what is gone";
}

}  // namespace
}  // namespace underway::node
