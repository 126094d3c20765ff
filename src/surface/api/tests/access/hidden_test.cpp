// Who has no right in a namespace learns nothing of what is in it: an id there is answered as one that nobody has.
#include "tests/access.hpp"

namespace underway::api::testing {
namespace {

class HiddenTest : public AccessTest {
 protected:
  HiddenTest() {
    world.peer = {.address = "unix", .uid = 0};
    world.link(1);
    EXPECT_EQ(world.put("/v1/namespace", R"({"Name":"secret"})").status, 200);
    auto job = make_job("web");
    job.ns = "secret";
    EXPECT_EQ(world.put("/v1/jobs?namespace=secret", World::job_body(job)).status, 200);
    world.peer = {.address = "192.0.2.7:4000"};
  }
  /// The answer, without what tells one id from another.
  std::string ask(const std::string& method, const std::string& target, bool upgrade) {
    auto request = World::request(method, target, method == "GET" ? "" : "{}");
    request.headers.set("X-Nomad-Token", world.token);
    if (upgrade) request.headers.set("Upgrade", "websocket");
    request.remote = world.peer;
    const auto response = world.loop.run_until_done(world.router.handle(std::move(request)));
    std::string out = fmt::format("{} {} {}", response.status, response.upgrade ? "upgrade" : "", response.body);
    for (const auto& [name, value] : response.headers.fields()) {
      if (name != "X-Request-Id") out += fmt::format("\n{}: {}", name, value);
    }
    return out;
  }
  static std::string with_id(const std::string& pattern, const std::string& id) {
    std::string target;
    for (const auto& segment : split(pattern, '/')) {
      if (!segment.empty())
        target += "/" + (segment == ":id" ? id : segment[0] == ':' || segment[0] == '*' ? "x" : segment);
    }
    return target;
  }
};

TEST_F(HiddenTest, AnIdOfAnotherNamespaceIsAnsweredAsOneThatNobodyHas) {
  make_token("user", "namespace \"default\" { policy = \"write\" }");
  make_token("nobody", "node { policy = \"read\" }");
  const auto allocations = world.tables().allocations();
  ASSERT_FALSE(allocations.empty());
  const auto allocation = allocations.front();
  const std::string missing = uuid(99);
  int asked = 0;
  for (const auto& route : world.routes) {
    if (route.right.kind != Right::Kind::in_namespace) continue;
    const auto where = route.right.where;
    std::string id = where == of_allocation   ? allocation->id
                     : where == of_evaluation ? allocation->eval_id
                     : where == of_deployment ? allocation->deployment_id
                                              : "";
    if (id.empty()) continue;
    for (const auto& method : split(route.methods, '|')) {
      for (const char* token : {"user", "nobody"}) {
        SCOPED_TRACE(fmt::format("{} {} as {}", method, route.pattern, token));
        world.token = token;
        const std::string query = "?task=t&path=/&command=%5B%22sh%22%5D";
        const std::string there = ask(method, with_id(route.pattern, id) + query, false);
        std::string not_there = ask(method, with_id(route.pattern, missing) + query, false);
        // What was asked for may be named.
        if (const auto at = not_there.find(missing); at != std::string::npos) not_there.replace(at, missing.size(), id);
        EXPECT_EQ(there, not_there);
        EXPECT_EQ(there.find("secret"), std::string::npos) << there;
        ++asked;
      }
    }
  }
  EXPECT_GT(asked, 30);
}

TEST_F(HiddenTest, ASessionIsRefusedAlikeToo) {
  make_token("user", "namespace \"default\" { policy = \"write\" }");
  world.token = "user";
  const std::string id = world.tables().allocations().front()->id;
  const auto exec = [&](const std::string& which) {
    return ask("GET", "/v1/client/allocation/" + which + "/exec?task=t&command=%5B%22sh%22%5D", true);
  };
  EXPECT_EQ(exec(id), exec(uuid(99)));
}

}  // namespace
}  // namespace underway::api::testing
