// Every route, without a token, with too little right and with the right one; and who callers are.
#include "tests/access.hpp"

#include "server/access/identities.hpp"

namespace underway::api::testing {
namespace {

using Kind = Right::Kind;

/// Routes that need no token. A route that is opened is added here, after thinking about it.
const std::set<std::string> kOpen = {"/.well-known/jwks.json",
                                     "/.well-known/openid-configuration",
                                     "/v1/acl/auth-methods",
                                     "/v1/acl/login",
                                     "/v1/acl/oidc/auth-url",
                                     "/v1/acl/oidc/complete-auth",
                                     "/v1/acl/token/onetime/exchange",
                                     "/v1/agent/health",
                                     "/v1/metrics",
                                     "/v1/regions",
                                     "/v1/status/leader",
                                     "/v1/status/peers",
                                     "/v1/underway/link",
                                     "/v1/underway/node/join",
                                     "/v1/underway/openapi.json"};

/// Rules that grant exactly what the route asks for.
std::string enough(const Right& right) {
  const auto level = [&](const char* what) {
    return fmt::format("{} {{ policy = \"{}\" }}", what, acl::spell(right.level));
  };
  switch (right.kind) {
    case Kind::in_namespace:
      // A session in a task of raw_exec needs the second one too.
      return fmt::format("namespace \"default\" {{ capabilities = [\"{}\"{}] }}", acl::spell(right.capability),
                         right.capability == acl::Capability::alloc_exec ? ", \"alloc-node-exec\"" : "");
    case Kind::variable:
    case Kind::variables:
      return fmt::format("namespace \"default\" {{ variables {{ path \"*\" {{ capabilities = [\"{}\"] }} }} }}",
                         acl::spell(right.access));
    case Kind::node:
      return level("node");
    case Kind::agent:
      return level("agent");
    case Kind::operators:
      return level("operator");
    case Kind::plugin:
      return level("plugin");
    case Kind::quota:
      return level("quota");
    case Kind::node_pool:
      return level("node_pool \"*\"");
    case Kind::something:
      return "namespace \"default\" { capabilities = [\"list-jobs\"] }";
    case Kind::open:
    case Kind::token:
    case Kind::management:
      break;
  }
  return {};
}

bool implies(acl::Capability have, acl::Capability wanted) { return acl::Capabilities{have}.has(wanted); }

/// Rules that grant everything but what the route asks for: all other capabilities everywhere, all other levels.
std::string too_little(const Right& right) {
  if (right.kind == Kind::something) return "namespace \"default\" { policy = \"deny\" }";
  std::string capabilities;
  for (const auto& name : acl::capability_names()) {
    const auto capability = *acl::parse_capability(name);
    if (capability == acl::Capability::deny) continue;
    if (right.kind == Kind::in_namespace && implies(capability, right.capability)) continue;
    capabilities += (capabilities.empty() ? "\"" : ", \"") + name + "\"";
  }
  const bool variables = right.kind == Kind::variable || right.kind == Kind::variables;
  std::string rules =
      fmt::format("namespace \"*\" {{\n capabilities = [{}]\n", capabilities) +
      (variables ? "}\n" : " variables { path \"*\" { capabilities = [\"read\", \"write\", \"destroy\"] } }\n}\n");
  const std::pair<Kind, const char*> levels[] = {{Kind::node, "node"},          {Kind::agent, "agent"},
                                                 {Kind::operators, "operator"}, {Kind::plugin, "plugin"},
                                                 {Kind::quota, "quota"},        {Kind::node_pool, "node_pool \"*\""}};
  for (const auto& [kind, name] : levels) {
    if (kind != right.kind)
      rules += fmt::format("{} {{ policy = \"write\" }}\n", name);
    else if (right.level == acl::Level::write)
      rules += fmt::format("{} {{ policy = \"read\" }}\n", name);
  }
  return rules;
}

class AccessToEveryRoute : public AccessTest {
 protected:
  AccessToEveryRoute() {
    world.link(1);
    world.run(make_job("ignored"));  // refused: nobody may
    world.token = "boss";
    make_token("boss", "");
    EXPECT_EQ(world.run(make_job("web")).status, 200);
    server::testing::run_until(world.loop, [&] { return !world.tables().allocations().empty(); });
    allocation_ = world.tables().allocations().front()->id;
    evaluation_ = world.tables().allocations().front()->eval_id;
    world.token.clear();
    model::Deployment deployment;
    deployment.id = deployment_;
    deployment.ns = "default";
    deployment.job_id = "web";
    put(tables::PutDeployment{deployment});
  }

  std::string target(const GuardedRoute& route) const {
    const bool allocation =
        route.pattern.find("allocation/") != std::string::npos || route.pattern.find("/fs/") != std::string::npos;
    const std::string id = allocation                                                ? allocation_
                           : route.pattern.find("evaluation/") != std::string::npos  ? evaluation_
                           : route.pattern.find("/node/") != std::string::npos       ? uuid(1)
                           : route.pattern.find("/deployment/") != std::string::npos ? deployment_
                                                                                     : "web";
    std::string out;
    for (const auto& segment : split(route.pattern, '/')) {
      if (segment.empty()) continue;
      out += '/' + (segment[0] == ':' || segment[0] == '*' ? (segment.substr(1) == "id" ? id : "default") : segment);
    }
    return out;
  }
  static std::string body(const GuardedRoute& route) {
    if (route.pattern.starts_with("/v1/volume/host/"))
      return R"({"Volume": {"Name": "data", "Namespace": "default", "RequestedCapabilities": []}})";
    const bool job = route.right.where == in_body;
    return job ? World::job_body(make_job("web")) : "{}";
  }
  template <class Check>
  void each(Check check) {
    for (const auto& route : world.routes) {
      for (const auto& method : split(route.methods, '|')) {
        SCOPED_TRACE(fmt::format("{} {} needs {}", method, route.pattern, spell(route.right)));
        check(route, method, target(route));
      }
    }
  }

  std::string allocation_, evaluation_, deployment_ = uuid(7);
};

TEST_F(AccessToEveryRoute, DeclaresARightAndTheOpenOnesAreTheseAlone) {
  std::set<std::string> open;
  for (const auto& route : world.routes) {
    if (route.right.kind != Kind::open) continue;
    open.insert(route.pattern);
    EXPECT_FALSE(route.right.why.empty()) << route.pattern << " is open without saying why";
  }
  EXPECT_EQ(open, kOpen);
  std::size_t served = 0;
  for (const auto& route : world.routes) served += split(route.methods, '|').size();
  EXPECT_EQ(served, world.router.routes().size()) << "a route is on the router that did not come through Routes::add";
}

TEST_F(AccessToEveryRoute, IsRefusedWithoutAToken) {
  each([&](const GuardedRoute& route, const std::string& method, const std::string& target) {
    const auto response = world.send(method, target, body(route));
    if (route.right.kind == Kind::open) {
      // Links and joins are refused for what they show, and not for a token.
      EXPECT_FALSE(response.body.starts_with("Permission denied")) << response.body;
    } else {
      EXPECT_EQ(response.status, 403);
      EXPECT_TRUE(response.body.starts_with("Permission denied")) << response.body;
    }
  });
}

TEST_F(AccessToEveryRoute, IsRefusedToATokenThatIsNotKnown) {
  world.token = "stranger";
  each([&](const GuardedRoute& route, const std::string& method, const std::string& target) {
    if (route.right.kind == Kind::open) return;
    const auto response = world.send(method, target, body(route));
    EXPECT_EQ(response.status, 403);
    EXPECT_EQ(response.body, acl::kTokenNotFound);
  });
}

TEST_F(AccessToEveryRoute, IsRefusedToATokenWithEveryRightButItsOwn) {
  each([&](const GuardedRoute& route, const std::string& method, const std::string& target) {
    if (route.right.kind == Kind::open || route.right.kind == Kind::token) return;
    make_token("little", too_little(route.right));
    world.token = "little";
    EXPECT_EQ(status(method, target, body(route)), 403);
  });
}

TEST_F(AccessToEveryRoute, IsServedToATokenWithJustItsRight) {
  each([&](const GuardedRoute& route, const std::string& method, const std::string& target) {
    if (route.right.kind == Kind::open) return;
    if (route.right.kind == Kind::token) {
      make_token("enough", "namespace \"other\" { policy = \"read\" }");
      // What a token may read of policies and roles is its own.
      if (!target.ends_with("/self") && !target.ends_with("s")) return;
    } else {
      make_token("enough", enough(route.right));
    }
    world.token = "enough";
    const auto response = world.send(method, target, body(route));
    EXPECT_NE(response.status, 403) << response.body;
    EXPECT_NE(response.status, 500) << response.body;
  });
}

/// The target with an id that nobody has in the place of the one in it.
std::string with_another_id(const std::string& target) {
  std::string out;
  for (const auto& segment : split(target.substr(1), '/')) out += "/" + (is_uuid(segment) ? uuid(4711) : segment);
  return out;
}

TEST_F(AccessToEveryRoute, InANamespaceIsRefusedToTheRightInAnotherNamespace) {
  each([&](const GuardedRoute& route, const std::string& method, const std::string& target) {
    if (route.right.kind != Kind::in_namespace) return;
    std::string rules = enough(route.right);
    rules.replace(rules.find("default"), 7, "other");
    make_token("other", rules);
    world.token = "other";
    // The namespace of a policy, volume or claim is known once it is found; of one that is nowhere nothing is told.
    const bool by_what_is_found = target.starts_with("/v1/scaling/policy/") ||
                                  target.starts_with("/v1/volumes/claims/") ||
                                  (target.starts_with("/v1/volume/host/") && !method.starts_with('P'));
    if (route.right.where != in_query && route.right.where != in_body) {
      EXPECT_EQ(status(method, target, body(route)), status(method, with_another_id(target), body(route)))
          << "what is in another namespace is not there";
      return;
    }
    EXPECT_EQ(status(method, target, body(route)), by_what_is_found ? 404 : 403);
  });
}

class Callers : public AccessTest {};

TEST_F(Callers, ShowTheirTokenInEitherHeader) {
  make_token("boss", "");
  auto request = World::request("GET", "/v1/nodes");
  request.headers.set("Authorization", "Bearer boss");
  EXPECT_EQ(world.loop.run_until_done(world.router.handle(request)).status, 200);
  request.headers.set("Authorization", "Basic boss");
  EXPECT_EQ(world.loop.run_until_done(world.router.handle(request)).status, 403);
  request.headers.set("X-Nomad-Token", "boss");
  EXPECT_EQ(world.loop.run_until_done(world.router.handle(request)).status, 200);
}

TEST_F(Callers, AreRootAtTheSocketWithoutAToken) {
  world.peer = {.address = "unix", .uid = 0};
  EXPECT_EQ(status("GET", "/v1/acl/tokens"), 200);
  EXPECT_EQ(world.read("/v1/acl/token/self").at("AccessorID").as_string(), "root@unix");
  world.peer.uid = 4'000'000;
  EXPECT_EQ(status("GET", "/v1/acl/tokens"), 403);
  world.peer.uid = 0;
  make_token("reader", "node { policy = \"read\" }");
  world.token = "reader";
  EXPECT_EQ(status("GET", "/v1/acl/tokens"), 403) << "a token that is shown counts";
  world.token.clear();
  world.api.access.trust_root_socket = false;
  EXPECT_EQ(status("GET", "/v1/acl/tokens"), 403);
}

TEST_F(Callers, AreNotMadeManagersByComingFirst) {
  EXPECT_EQ(status("PUT", "/v1/acl/bootstrap"), 403) << "over the network";
  world.peer = {.address = "unix", .uid = 0};
  const auto made = world.put("/v1/acl/bootstrap", "");
  ASSERT_EQ(made.status, 200) << made.body;
  world.peer = {.address = "192.0.2.7:4000"};
  world.token = json::parse(made.body).at("SecretID").as_string();
  EXPECT_EQ(status("GET", "/v1/acl/tokens"), 200);
  const auto again = world.put("/v1/acl/bootstrap", "");
  EXPECT_EQ(again.status, 400);
  EXPECT_TRUE(again.body.starts_with("ACL bootstrap already done (reset index: ")) << again.body;
}

TEST(Bootstrap, IsOpenOnceWhereRootAtTheSocketIsNotTrusted) {
  World world({.acl = true, .trust_root_socket = false});
  world.peer = {.address = "192.0.2.7:4000"};
  EXPECT_EQ(world.put("/v1/acl/bootstrap", "").status, 200);
  EXPECT_EQ(world.put("/v1/acl/bootstrap", "").status, 400);
}

TEST(Bootstrap, IsOpenOnceWhereTheSiteOpensIt) {
  World world({.acl = true, .network_bootstrap = true});
  world.peer = {.address = "127.0.0.1:4000"};
  EXPECT_EQ(world.put("/v1/acl/bootstrap", "").status, 200);
  EXPECT_EQ(world.put("/v1/acl/bootstrap", "").status, 400);
}

TEST_F(Callers, MayBeTasksWhichReadWhatIsTheirOwn) {
  make_token("boss", "");
  world.token = "boss";
  world.link(1);
  ASSERT_EQ(world.run(make_job("web")).status, 200);
  server::testing::run_until(world.loop, [&] { return !world.tables().allocations().empty(); });
  ASSERT_EQ(world.put("/v1/var/nomad/jobs/web", R"({"Items":{"a":"1"}})").status, 200);
  ASSERT_EQ(world.put("/v1/var/nomad/jobs/db", R"({"Items":{"a":"2"}})").status, 200);
  model::Allocation allocation = *world.tables().allocations().front();
  model::Job job = *allocation.job;
  job.groups[0].tasks[0].identities = {model::Identity{}};
  job.canonicalize();
  allocation.job = std::make_shared<const model::Job>(job);
  SystemIds ids;
  const auto identity =
      server::issue_identity(world.server.keyring(), allocation, "t", "default", "", {world.clock.now(), ids});
  world.token = identity.token;
  EXPECT_EQ(status("GET", "/v1/var/nomad/jobs/web"), 200);
  EXPECT_EQ(status("GET", "/v1/var/nomad/jobs/db"), 403);
  EXPECT_EQ(status("PUT", "/v1/var/nomad/jobs/web", R"({"Items":{"a":"3"}})"), 403);
  EXPECT_EQ(world.read("/v1/vars").as_array().size(), 1u);
  EXPECT_EQ(status("GET", "/v1/nodes"), 403);
  world.token.back() = world.token.back() == 'A' ? 'Q' : 'A';
  EXPECT_EQ(status("GET", "/v1/var/nomad/jobs/web"), 403) << "a signature that is not ours";
}

TEST_F(Callers, WhoMayWriteAVariableAndNotReadItSeeNothingOfIt) {
  make_token("boss", "");
  world.token = "boss";
  ASSERT_EQ(world.put("/v1/var/apps/web", R"({"Items":{"a":"hidden"}})").status, 200);
  make_token("writer", R"(namespace "default" { variables { path "apps/*" { capabilities = ["write"] } } })");
  world.token = "writer";
  const auto late = world.put("/v1/var/apps/web?cas=0", R"({"Items":{"a":"new"}})");
  EXPECT_EQ(late.status, 409);
  EXPECT_EQ(late.body.find("hidden"), std::string::npos) << late.body;
  EXPECT_EQ(status("GET", "/v1/var/apps/web"), 403);
  EXPECT_EQ(status("DELETE", "/v1/var/apps/web"), 403);
  EXPECT_EQ(status("PUT", "/v1/var/apps/web", R"({"Namespace":"team","Items":{"a":"new"}})"), 403)
      << "the body names another namespace";
}

TEST_F(Callers, WithoutATokenHaveTheAnonymousPolicy) {
  EXPECT_EQ(status("GET", "/v1/nodes"), 403);
  set_rules("anonymous", "node { policy = \"read\" }");
  EXPECT_EQ(status("GET", "/v1/nodes"), 200);
  EXPECT_EQ(status("GET", "/v1/acl/token/self"), 403) << "nobody's token";
}

TEST_F(Callers, WhoseTokenExpiredAreRefused) {
  make_token("brief", "node { policy = \"read\" }", world.clock.now() + std::chrono::minutes(5));
  world.token = "brief";
  EXPECT_EQ(status("GET", "/v1/nodes"), 200);
  world.clock.advance(std::chrono::minutes(5));
  const auto response = world.get("/v1/nodes");
  EXPECT_EQ(response.status, 403);
  EXPECT_EQ(response.body, acl::kTokenExpired);
}

TEST_F(Callers, SeeOfListsWhatTheyMay) {
  make_token("boss", "");
  world.token = "boss";
  EXPECT_EQ(world.put("/v1/namespace", R"({"Name":"team"})").status, 200);
  world.join(make_node(1));
  model::Job other = make_job("theirs");
  other.ns = "team";
  EXPECT_EQ(world.run(make_job("ours")).status, 200);
  EXPECT_EQ(world.run(other).status, 200);
  make_token("ours", "namespace \"default\" { policy = \"read\" }\nnode { policy = \"read\" }");
  world.token = "ours";
  struct Case {
    const char* target;
    std::size_t everything, mine;
  };
  const std::vector<Case> cases = {{"/v1/jobs?namespace=*", 2, 1},
                                   {"/v1/allocations?namespace=*", 2, 1},
                                   {"/v1/evaluations?namespace=*", 2, 1},
                                   {"/v1/node/00000001-0000-4000-8000-000000000000/allocations", 2, 1},
                                   {"/v1/namespaces", 2, 1}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.target);
    world.token = "boss";
    EXPECT_EQ(world.read(c.target).as_array().size(), c.everything);
    world.token = "ours";
    EXPECT_EQ(world.read(c.target).as_array().size(), c.mine);
  }
  EXPECT_EQ(status("GET", "/v1/jobs?namespace=team"), 403);
  EXPECT_EQ(status("GET", "/v1/job/theirs?namespace=team"), 403);
  EXPECT_EQ(status("GET", "/v1/namespace/team"), 403);
  EXPECT_EQ(world.read("/v1/underway/status").at("Services").as_array().size(), 1u);
  EXPECT_EQ(world.read("/v1/underway/status").at("Nodes").as_array().size(), 1u);
  make_token("blind", "namespace \"default\" { policy = \"read\" }");
  world.token = "blind";
  EXPECT_TRUE(world.read("/v1/underway/status").at("Nodes").as_array().empty());
  world.token = "ours";
  const auto found = json::parse(world.put("/v1/search?namespace=*", R"({"Prefix":""})").body);
  EXPECT_EQ(found.at("Matches").at("jobs").as_array().size(), 1u);
}

TEST_F(Callers, NeedMoreToPurgeThanToStop) {
  make_token("boss", "");
  world.token = "boss";
  world.run(make_job("web"));
  make_token("stopper", "namespace \"default\" { capabilities = [\"deregister-job\"] }");
  world.token = "stopper";
  EXPECT_EQ(status("DELETE", "/v1/job/web?purge=true"), 403);
  EXPECT_EQ(status("DELETE", "/v1/job/web"), 200);
}

TEST_F(Callers, MayDoEverythingWhereAclIsOff) {
  world.api.access.acl = false;
  EXPECT_EQ(status("GET", "/v1/nodes"), 200);
  EXPECT_EQ(world.run(make_job("web")).status, 200);
  EXPECT_EQ(world.put("/v1/acl/bootstrap", "").body, "ACL support disabled");
}

}  // namespace
}  // namespace underway::api::testing
