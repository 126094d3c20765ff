#include "base/allowance.hpp"
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "tests/world.hpp"

namespace underway::files {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ServiceTest : public FilesWorld {};

std::string digest(const std::string& bytes) { return hex(crypto::sha256(bytes)); }

TEST_F(ServiceTest, ANodeIsToldWhatItShallHaveAndNothingWhenItKnows) {
  auto& c1 = join(1);
  put({file("/etc/motd", "hello\n")});
  const auto first = manifest(c1);
  ASSERT_TRUE(first);
  ASSERT_EQ(first->entries.size(), 1);
  EXPECT_EQ(first->entries[0].path, "/etc/motd");
  EXPECT_EQ(first->entries[0].digest, digest("hello\n"));
  EXPECT_EQ(content(c1, digest("hello\n")), "hello\n");
  EXPECT_FALSE(manifest(c1, digest_of(*first))) << "nothing is sent when nothing changed";
  put({file("/etc/motd", "changed\n")});
  const auto second = manifest(c1, digest_of(*first));
  ASSERT_TRUE(second);
  EXPECT_GT(second->revision, first->revision);
}

TEST_F(ServiceTest, ANodeWithoutFilesIsSentNothing) {
  auto& c1 = join(1);
  settle();
  EXPECT_FALSE(manifest(c1));
}

TEST_F(ServiceTest, ASecretIsForItsTargetsOnly) {
  auto& compute = join(1);
  auto& login = join(2, "login");
  auto key = file("/etc/munge/munge.key", "top secret");
  key.secret = true;
  key.targets.pools = {"compute"};
  put({key, file("/etc/motd", "hello\n")});
  EXPECT_EQ(manifest(compute)->entries.size(), 2);
  ASSERT_EQ(manifest(login)->entries.size(), 1);
  EXPECT_EQ(content(compute, digest("top secret")), "top secret");
  EXPECT_THAT(refusal([&] { content(login, digest("top secret")); }), HasSubstr("these bytes are not for this node"));
  EXPECT_THAT(refusal([&] { manifest(login, "", "slurm"); }), HasSubstr("capsule 'slurm' does not run on this node"));
  key.targets.pools = {"login"};
  put({key});
  EXPECT_THAT(refusal([&] { content(compute, digest("top secret")); }), HasSubstr("not for this node"))
      << "a target no more";
}

TEST_F(ServiceTest, ASecretIsSealedInTheStoreAndNotShown) {
  auto key = file("/etc/munge/munge.key", "top secret bytes");
  key.secret = true;
  put({key});
  std::string all;
  for (const auto& row : tables().rows<model::Record>()) all += row->name + boost::json::serialize(row->body);
  EXPECT_THAT(all, Not(HasSubstr("top secret")));
  EXPECT_THAT(all, Not(HasSubstr(base64_encode("top secret bytes"))));
  EXPECT_THAT(all, Not(HasSubstr(digest("top secret bytes")))) << "who guesses it cannot see that he is right";
  const auto stored = tables::records<model::FileDeclaration>(tables());
  EXPECT_THAT(refusal([&] { service.master(tables(), stored.at(0)); }), HasSubstr("is secret"));
  EXPECT_EQ(put({key}).unchanged, 1) << "the same bytes again change nothing";
  EXPECT_EQ(tables::records<model::FileDeclaration>(tables()).at(0).content_id, stored.at(0).content_id);
  key.content = "other";
  EXPECT_THAT(put({key}).changed, ElementsAre("/etc/munge/munge.key"));
  EXPECT_EQ(tables::records<model::FileContent>(tables()).size(), 1) << "the old bytes are gone";
}

model::FileDeclaration file_from(const std::string& path, const std::string& node) {
  model::FileDeclaration out;
  out.name = out.source = path;
  out.from = node;
  return out;
}

TEST_F(ServiceTest, AMasterOnANodeIsFollowedThereAndWaitsWhileTheNodeIsOff) {
  auto& c1 = join(1);
  auto& mgmt = join(2, "management");
  std::string master = "ann:x:1000\n";
  bool is_there = false;
  std::vector<std::string> asked;
  mgmt.answers["files.master"] = [&](const boost::json::value& body) {
    const auto request = json::decode<MasterRequest>(body);
    asked.push_back(request.path);
    if (!is_there) throw Error(Code::not_found, "'/etc/passwd' does not exist");
    MasterReply reply;
    if (request.have != digest(master)) reply.data = base64_encode(master);
    return json::to_value(reply);
  };
  auto passwd = file_from("/etc/passwd", mgmt.node().name);
  passwd.targets.pools = {"compute"};
  put({passwd}, true);
  const auto known = [&] {
    return tables::find_record<model::FileContent>(tables(), "sha256-" + digest(master)).has_value();
  };
  const auto arrives = [&] {
    server::testing::run_until(loop, known);
    settle();
    return manifest(c1)->entries.at(0).digest == digest(master);
  };
  EXPECT_THAT(manifest(c1)->entries.at(0).problem, HasSubstr("was not read yet")) << "so what is there stays";
  is_there = true;
  EXPECT_TRUE(arrives());
  EXPECT_EQ(content(c1, digest(master)), master);
  EXPECT_THAT(asked, ::testing::Contains("/etc/passwd"));
  master += "bob:x:1001\n";
  EXPECT_TRUE(arrives());
  EXPECT_EQ(tables::records<model::FileContent>(tables()).size(), 1) << "the old bytes are gone";
  EXPECT_EQ(put({passwd}, true).unchanged, 1) << "the directory says where it lies, not what it holds";

  const auto linked = [&](const std::string& id) { return server.linked(id); };
  EXPECT_TRUE(waiting_masters(tables(), "hpc", linked).empty());
  loop.run_until_done(mgmt.stop());
  server::testing::run_until(loop, [&] { return !server.linked(mgmt.id()); });
  const auto waiting = waiting_masters(tables(), "hpc", linked);
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_THAT(waiting[0].what, HasSubstr("file changes wait for"));
  EXPECT_THAT(waiting[0].why, HasSubstr("/etc/passwd"));
  EXPECT_EQ(content(c1, digest(master)), master) << "what is known of it stays";
}

TEST_F(ServiceTest, AMasterOnANodeHasNoBytesOfItsOwn) {
  auto both = file_from("/etc/motd", "mgmt");
  both.content = "hello\n";
  EXPECT_THAT(refusal([&] { put({both}); }), HasSubstr("its bytes are those of node 'mgmt': change it there"));
  auto relative = file_from("/etc/motd", "mgmt");
  relative.source = "motd";
  EXPECT_THAT(refusal([&] { put({relative}); }), HasSubstr("is not absolute"));
}

TEST_F(ServiceTest, OnlyThoseConcernedAreTold) {
  join(1);
  join(2, "login");
  auto motd = file("/etc/motd", "hello\n");
  motd.targets.pools = {"login"};
  put({motd});
  server::testing::run_until(loop, [&] { return told[2] > 0; });
  EXPECT_EQ(told[1], 0);
}

TEST_F(ServiceTest, APreviewIsRenderedWhereItIsAskedForAndStopsWhenItHasTakenTooLong) {
  auto& c1 = join(1);
  auto costly = file("/etc/costly", "{{ range until 300 }}{{ range until 300 }}{{ end }}{{ end }}");
  costly.templating = model::FileTemplate::go;
  put({costly});
  ASSERT_TRUE(manifest(c1));
  const Allowance nothing("rendering the files of the node", Duration{0});
  const auto render = service.preview("hpc", "/etc/costly", c1.id());
  EXPECT_THAT(refusal([&] { render(); }), HasSubstr("rendering the files of the node takes too long"));
}

TEST_F(ServiceTest, ATemplateIsRenderedForEachNode) {
  auto& c1 = join(1);
  auto& c2 = join(2);
  auto hosts = file("/etc/greeting", "I am {{ .Id }} of {{ len .AllNodes }}\n");
  hosts.templating = model::FileTemplate::go;
  put({hosts});
  EXPECT_EQ(content(c1, manifest(c1)->entries.at(0).digest), "I am c1 of 2\n");
  EXPECT_EQ(content(c2, manifest(c2)->entries.at(0).digest), "I am c2 of 2\n");
  EXPECT_EQ(service.preview("hpc", "/etc/greeting", c2.id())(), "I am c2 of 2\n");
  EXPECT_EQ(refusal([&] { content(c1, digest("I am c2 of 2\n")); }).substr(0, 6), "error:");
  hosts.content = "{{ .NoSuch.Field }}{{ fail \"broken\" }}";
  put({hosts});
  const auto held = manifest(c1);
  EXPECT_THAT(held->entries.at(0).problem, HasSubstr("it cannot be rendered"));
  ASSERT_EQ(service.wanted(c1.id())->problems.size(), 1);
}

TEST_F(ServiceTest, ADirectoryOwnsWhatItDeclaresAndNothingElse) {
  put({file("/etc/by-hand", "x")});
  put({file("/etc/a", "a"), file("/etc/b", "b")}, true);
  EXPECT_THAT(refusal([&] { put({file("/etc/a", "c")}); }), HasSubstr("is declared in the cluster's directory"));
  EXPECT_THAT(refusal([&] { remove("/etc/a"); }), HasSubstr("remove its block there"));
  const auto plan = put({file("/etc/a", "changed"), file("/etc/c", "c")}, true, true);
  EXPECT_THAT(plan.added, ElementsAre("/etc/c"));
  EXPECT_THAT(plan.changed, ElementsAre("/etc/a"));
  EXPECT_THAT(plan.removed, ElementsAre("/etc/b"));
  EXPECT_EQ(tables::records<model::FileDeclaration>(tables()).size(), 3) << "a plan changes nothing";
  put({file("/etc/a", "a")}, true);
  remove("/etc/by-hand");
  ASSERT_EQ(tables::records<model::FileDeclaration>(tables()).size(), 1);
  EXPECT_EQ(tables::records<model::FileContent>(tables()).size(), 1);
}

TEST_F(ServiceTest, WrongDeclarationsAreRefusedTogether) {
  EXPECT_THAT(refusal([&] { put({file("etc/a", "x"), file("/proc/x", "x")}); }),
              ::testing::AllOf(HasSubstr("not absolute"), HasSubstr("below /proc/")));
  EXPECT_THAT(refusal([&] { put_into("nowhere", {file("/etc/a", "x")}); }), HasSubstr("cluster 'nowhere' not found"));
  model::FileDeclaration bare;
  bare.name = "/etc/x";
  EXPECT_THAT(refusal([&] { put({bare}); }), HasSubstr("neither `source` nor `content`"));
}

TEST_F(ServiceTest, WithoutBytesADeclarationKeepsThoseThatItHas) {
  put({file("/etc/a", "bytes")});
  auto edited = tables::records<model::FileDeclaration>(tables()).at(0);
  edited.mode = "0600";
  EXPECT_THAT(put({edited}).changed, ElementsAre("/etc/a"));
  edited.secret = true;
  put({edited});
  const auto now = tables::records<model::FileDeclaration>(tables()).at(0);
  EXPECT_THAT(now.content_id, HasSubstr("sealed-"));
  auto& c1 = join(1);
  settle();
  EXPECT_EQ(content(c1, digest("bytes")), "bytes");
}

TEST_F(ServiceTest, AReportIsKeptOnceAndBounded) {
  auto& c1 = join(1);
  put({file("/etc/a", "x")});
  model::FileReport report;
  report.node_id = "somebody else";
  report.files = 1;
  report.problems.push_back({"/etc/a", model::FileState::drifted, std::string(5000, 'x'), 1});
  for (int i = 0; i < 100; ++i) report.events.push_back({i, "/etc/a", "replaced", ""});
  ask<boost::json::value>(c1, "files.report", report);
  const auto kept = tables::find_record<model::FileReport>(tables(), model::report_key(c1.id(), ""));
  ASSERT_TRUE(kept) << "as the node that the link proved to be";
  EXPECT_EQ(kept->node, "c1");
  EXPECT_LT(kept->problems.at(0).reason.size(), 1000);
  EXPECT_EQ(kept->events.size(), model::kFileEvents);
  const auto revision = tables().revision();
  ask<boost::json::value>(c1, "files.report", report);
  EXPECT_EQ(tables().revision(), revision);
  const auto states = target_states(tables(), service, "hpc", [](const std::string&) { return true; });
  ASSERT_EQ(states.size(), 1);
  EXPECT_EQ(states[0].state, TargetState::drifted);
  ASSERT_EQ(attention(states).size(), 1);
  EXPECT_EQ(attention(states)[0].what, "files were changed by hand on c1");
}

TEST_F(ServiceTest, ANodeThatLagsIsPendingAndNoMatterOfConcern) {
  auto& c1 = join(1);
  put({file("/etc/a", "x")});
  const auto state = [&] {
    return target_states(tables(), service, "", [&](const auto& id) { return server.linked(id); }).at(0);
  };
  EXPECT_EQ(state().state, TargetState::pending);
  EXPECT_EQ(state().reason, "it has not reported yet");
  model::FileReport report;
  report.manifest = digest_of(*manifest(c1));
  ask<boost::json::value>(c1, "files.report", report);
  EXPECT_EQ(state().state, TargetState::synced);
  put_into("hpc", {file("/etc/a", "y")});
  EXPECT_EQ(state().state, TargetState::pending) << "from the moment on at which the change was acknowledged";
  settle();
  EXPECT_EQ(state().state, TargetState::pending);
  EXPECT_TRUE(attention({state()}).empty());
}

TEST_F(ServiceTest, WhatBelongsToAClusterGoesWithIt) {
  join(1);
  put({file("/etc/a", "x")});
  change(tables::DeleteCluster{"hpc"});
  server::testing::run_until(loop, [&] { return tables::records<model::FileDeclaration>(tables()).empty(); });
  EXPECT_TRUE(tables::records<model::FileContent>(tables()).empty());
}

TEST_F(ServiceTest, ARootKeyUnderWhichAFileIsSealedStays) {
  auto key = file("/etc/key", "secret");
  key.secret = true;
  put({key});
  const std::string old = server.keyring().active_id();
  loop.run_until_done(server.variables().rotate(true));
  EXPECT_THAT(refusal([&] { service.refuse_removal(tables(), old); }), HasSubstr("file '/etc/key' is sealed under it"));
  loop.run_until_done(service.seal_anew());
  EXPECT_EQ(refusal([&] { service.refuse_removal(tables(), old); }), "no error");
  auto& c1 = join(1);
  settle();
  EXPECT_EQ(content(c1, digest("secret")), "secret");
}

TEST_F(ServiceTest, AcceptingARestoredStoreRaisesTheEpoch) {
  auto& c1 = join(1);
  put({file("/etc/a", "x")});
  EXPECT_EQ(manifest(c1)->epoch, 1);
  model::FileReport report;
  report.epoch = 4;
  report.refused = "it is older";
  ask<boost::json::value>(c1, "files.report", report);
  EXPECT_EQ(target_states(tables(), service, "", [](const auto&) { return true; }).at(0).state, TargetState::refused);
  loop.run_until_done(service.accept_restored());
  settle();
  EXPECT_EQ(manifest(c1)->epoch, 5);
}

TEST_F(ServiceTest, ACapsuleGetsItsOwnManifestWhereItRuns) {
  auto& c1 = join(1);
  auto conf = file("/etc/slurm/slurm.conf", "x");
  conf.targets.capsules = {"slurm-*"};
  put({conf, file("/etc/motd", "y")});
  EXPECT_THAT(refusal([&] { manifest(c1, "", "slurm-services"); }), HasSubstr("does not run on this node"));
  server::RegisterJob request{server::testing::make_job("slurm-services"), {}, {}};
  request.job.node_pool = "compute";
  request.job.groups[0].tasks[0].driver = "capsule";
  request.job.groups[0].tasks[0].config = boost::json::object{{"image", "x.capsule"}};
  loop.run_until_done(server.apply(std::move(request)));
  server::testing::run_until(loop, [&] { return !tables().allocations_on_node(c1.id()).empty(); });
  const auto of_capsule = manifest(c1, "", "slurm-services");
  ASSERT_EQ(of_capsule->entries.size(), 1);
  EXPECT_EQ(of_capsule->entries[0].path, "/etc/slurm/slurm.conf");
  EXPECT_EQ(manifest(c1)->entries.size(), 1) << "the node itself is no target of it";
  const auto reply = ask<ContentReply>(c1, "files.content", ContentRequest{"slurm-services", {digest("x")}});
  EXPECT_EQ(base64_decode(reply.contents.at(0).data), "x");
  EXPECT_THAT(refusal([&] { content(c1, digest("x")); }), HasSubstr("not for this node"));
}

TEST_F(ServiceTest, AReloadSignalsTheJobsTasksOnThatNodeOnce) {
  auto& c1 = join(1);
  std::vector<std::string> signalled;
  c1.answers["alloc.signal"] = [&](const boost::json::value& body) {
    signalled.push_back(std::string(body.at("task").as_string()) + " " + std::string(body.at("signal").as_string()));
    return boost::json::object{};
  };
  server::RegisterJob request{server::testing::make_job("slurmd"), {}, {}};
  request.job.datacenters = {"*"};
  request.job.groups[0].tasks[0].user = "nobody";
  for (auto& group : request.job.groups) group.constraints.clear();
  request.job.node_pool = "compute";
  loop.run_until_done(server.apply(std::move(request)));
  server::testing::run_until(loop, [&] {
    const auto rows = tables().allocations_on_node(c1.id());
    return !rows.empty() && rows[0]->client_status == model::ClientStatus::running;
  });
  const ReloadRequest reload{"", {"slurmd", "", "SIGHUP"}, "round-1-0"};
  ask<boost::json::value>(c1, "files.reload", reload);
  ask<boost::json::value>(c1, "files.reload", reload);
  EXPECT_THAT(signalled, ElementsAre("t SIGHUP"));
}

}  // namespace
}  // namespace underway::files
