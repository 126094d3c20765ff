// What docs/how-to/give-a-colleague-access.md promises, on a real agent: what the colleague may, what not, and what
// becomes of it when it is taken back.
#include "harness/machine.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

/// The value of a member of text in JSON that is printed one member a line.
std::string member(const std::string& json, const std::string& name) {
  const std::string mark = "\"" + name + "\": \"";
  const auto at = json.find(mark);
  if (at == std::string::npos) return {};
  const auto begin = at + mark.size();
  return json.substr(begin, json.find('"', begin) - begin);
}

std::string job(const std::string& driver, const std::string& user) {
  return "job \"render\" {\n  update {\n    min_healthy_time = \"200ms\"\n  }\n  group \"g\" {\n    task \"t\" {\n     "
         " driver = \"" +
         driver + "\"\n      user = \"" + user +
         "\"\n      config {\n        command = \"/bin/sh\"\n        args = [\"-c\", \"echo frame; exec sleep 1000\"]\n"
         "      }\n      resources {\n        cpu = 10\n        memory = 20\n      }\n    }\n  }\n}\n";
}

class AccessTest : public testing::Test {
 protected:
  AccessTest() {
    root({"namespace", "apply", "-only-drivers", "exec", "-only-users", "nobody", "viz"});
    write_text(file("viz.hcl"),
               "namespace \"viz\" {\n  policy = \"write\"\n  variables {\n    path \"*\" { capabilities = [\"read\", "
               "\"write\"] }\n  }\n}\n");
    root({"acl", "policy", "apply", "viz", file("viz.hcl")});
    const auto made = root({"acl", "token", "create", "-json", "-name", "anna", "-policy", "viz", "-ttl", "1h"});
    accessor_ = member(made, "AccessorID");
    secret_ = member(made, "SecretID");
    write_text(file("render.hcl"), job("exec", "nobody"));
  }
  ~AccessTest() override { machine_.underway({"job", "stop", "-purge", "-namespace", "viz", "render"}); }

  std::string file(const std::string& name) const { return machine_.directory() + "/" + name; }
  std::string root(std::vector<std::string> arguments) {
    const auto done = machine_.underway(std::move(arguments));
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return done.out;
  }
  Command as_anna(std::vector<std::string> arguments) const {
    auto command = machine_.command(std::move(arguments));
    command.env["NOMAD_TOKEN"] = secret_;
    command.env["NOMAD_NAMESPACE"] = "viz";
    return command;
  }
  Finished anna(std::vector<std::string> arguments) const { return run(as_anna(std::move(arguments))); }
  std::string allocation() {
    return member(root({"operator", "api", "/v1/job/render/allocations?namespace=viz&pretty"}), "ID");
  }

  Machine machine_;
  std::string accessor_, secret_;
};

TEST_F(AccessTest, AColleagueMayWhatItsPolicySaysAndNothingElse) {
  const auto ran = anna({"job", "run", file("render.hcl")});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(anna({"job", "status", "render"}).exit_code, 0);
  EXPECT_EQ(anna({"var", "put", "apps/a", "b=c"}).exit_code, 0);
  EXPECT_TRUE(eventually(seconds(20), [&] { return anna({"alloc", "logs", allocation()}).out == "frame\n"; }));

  write_text(file("root.hcl"), job("exec", "root"));
  write_text(file("raw.hcl"), job("raw_exec", "nobody"));
  write_text(file("computed.hcl"), job("exec", "${NOMAD_META_who}"));
  const std::vector<std::pair<std::vector<std::string>, std::string>> refused = {
      {{"job", "run", file("root.hcl")}, "runs as user 'root'"},
      {{"job", "run", file("raw.hcl")}, "uses driver 'raw_exec'"},
      {{"job", "run", file("computed.hcl")}, "write the user's name into the job"},
      {{"job", "run", "-namespace", "default", file("render.hcl")}, "in namespace 'default'"},
      {{"var", "put", "-namespace", "default", "a", "b=c"}, "variables:write"},
      {{"node", "status"}, "node:read"},
      {{"node", "drain", "-enable", "-yes", "-self"}, "node:"},
      {{"namespace", "apply", "-raw-exec-as-root", "viz"}, "management"},
      {{"acl", "token", "create", "-type", "management"}, "management"},
      {{"acl", "bootstrap"}, "management"},
      {{"operator", "audit"}, "management"}};
  for (const auto& [arguments, text] : refused) {
    const auto done = anna(arguments);
    EXPECT_NE(done.exit_code, 0) << text;
    EXPECT_NE(done.err.find(text), std::string::npos) << done.err;
  }

  const auto told = root({"operator", "audit", "-who", "anna"});
  EXPECT_NE(told.find("job viz/render: made"), std::string::npos) << told;
  EXPECT_NE(told.find("  403  "), std::string::npos) << told;
}

TEST_F(AccessTest, WhatRunsForARevokedTokenEnds) {
  ASSERT_EQ(anna({"job", "run", file("render.hcl")}).exit_code, 0);
  const auto id = allocation();
  Background session(as_anna({"alloc", "exec", "-i=false", id, "sleep", "86390"}));
  Background log(as_anna({"alloc", "logs", "-f", id}));
  const auto runs = [] { return shell("pgrep -x -f 'sleep 86390'").exit_code == 0; };
  ASSERT_TRUE(eventually(seconds(10), runs));
  root({"acl", "token", "delete", "-yes", accessor_});
  EXPECT_GT(session.wait(seconds(5)), 0);
  EXPECT_GT(log.wait(seconds(5)), 0);
  EXPECT_TRUE(eventually(seconds(5), [&] { return !runs(); })) << "the command ends on its node";
  EXPECT_NE(anna({"job", "status", "render"}).err.find("ACL token not found"), std::string::npos);
  EXPECT_NE(root({"job", "status", "-namespace", "viz", "render"}).find("running"), std::string::npos) << "jobs run on";
}

TEST_F(AccessTest, WhatTakesRightsAwayIsAskedAboutFirst) {
  root({"acl", "role", "create", "-name", "artists", "-policy", "viz"});
  const auto key = member(root({"operator", "root", "keyring", "list", "-json"}), "KeyID");
  root({"operator", "root", "keyring", "rotate"});
  const std::vector<std::pair<std::vector<std::string>, std::string>> refused = {
      {{"acl", "policy", "delete", "viz"}, "1 token has it: anna"},
      {{"acl", "policy", "delete", "viz"}, "1 role has it: artists"},
      {{"acl", "role", "delete", "artists"}, "role 'artists' with its list of policies"},
      {{"acl", "token", "delete", accessor_}, "who uses token 'anna' has no rights any more"},
      {{"operator", "root", "keyring", "remove", "-force", key}, "tokens of tasks that " + key + " signed"}};
  for (const auto& [command, lost] : refused) {
    const auto done = machine_.underway(command);
    EXPECT_EQ(done.exit_code, 2) << lost;
    EXPECT_NE(done.err.find(lost), std::string::npos) << done.err;
    EXPECT_NE(done.err.find("add -yes"), std::string::npos) << done.err;
  }
  EXPECT_EQ(anna({"job", "status"}).exit_code, 0) << "nothing was changed";
  EXPECT_NE(root({"acl", "role", "list"}).find("artists"), std::string::npos);
  EXPECT_NE(root({"operator", "root", "keyring", "list"}).find(key), std::string::npos);
  for (auto command : {refused[4].first, refused[2].first, refused[0].first, refused[3].first}) {
    command.emplace_back("-yes");
    root(command);
  }
  EXPECT_EQ(root({"acl", "role", "list"}).find("artists"), std::string::npos);
  EXPECT_NE(anna({"job", "status"}).exit_code, 0);
}

TEST_F(AccessTest, RootByRawExecAsksForTheWordOfTheNamespace) {
  root({"namespace", "apply", "plain"});
  write_text(file("root.hcl"), job("raw_exec", "root"));
  const std::vector<std::string> run_it = {"job", "run", "-detach", "-namespace", "plain", file("root.hcl")};
  const auto refused = machine_.underway(run_it);
  EXPECT_NE(refused.err.find("`underway namespace apply -raw-exec-as-root plain` allows it"), std::string::npos)
      << refused.err;
  root({"namespace", "apply", "-raw-exec-as-root", "plain"});
  root(run_it);
  root({"job", "stop", "-purge", "-namespace", "plain", "render"});
}

}  // namespace
}  // namespace underway::harness
