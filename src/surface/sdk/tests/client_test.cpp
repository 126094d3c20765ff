#include "sdk/client.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "api/testing/world.hpp"
#include "http/server.hpp"

namespace underway::sdk {
namespace {

using api::testing::FakeNode;
using api::testing::make_job;
using api::testing::uuid;
using api::testing::World;
using async::awaitable;
using link::Channel;
using link::Stream;

/// The API of a server in memory behind a unix socket, served by a thread of its own. What a test arranges in the world
/// it arranges before `serve`.
class ClientTest : public ::testing::Test {
 protected:
  ClientTest() {
    char name[] = "/tmp/underway-sdk-XXXXXX";
    directory = ::mkdtemp(name);
    node = &world.link(1);
    node->streams["logs"] = write_logs;
    node->streams["exec"] = run_command;
  }
  ~ClientTest() override {
    if (thread.joinable()) {
      world.loop.stop();
      thread.join();
      world.loop.run_until_done(http.stop(Duration{0}));
    }
    ::unlink(socket().c_str());
    ::unlink((directory + "/audit.log").c_str());
    ::rmdir(directory.c_str());
  }
  std::string socket() const { return directory + "/agent.sock"; }
  Client serve() {
    http::Endpoint endpoint;
    endpoint.socket_path = socket();
    http.listen(endpoint);
    world.loop.context().restart();
    thread = std::thread([this] { world.loop.run(); });
    return client();
  }
  Client client() const { return Client(Address{"unix://" + socket(), "", "", ""}); }
  template <class Call>
  static Error refusal(Call call) {
    try {
      call();
    } catch (const Error& error) {
      return error;
    }
    return Error(Code::internal, "nothing was refused");
  }
  /// Until the node has reported, as `job run` waits.
  static std::string running(Client& client, const std::string& eval) {
    auto found = client.evaluation_allocations(eval);
    for (int i = 0; i < 100; ++i) {
      if (!found.value.empty() && found.value[0].client_status == model::ClientStatus::running)
        return found.value[0].id;
      found = client.evaluation_allocations(eval, Wait{found.index, std::chrono::seconds(5)});
    }
    throw Error(Code::timeout, "it never ran");
  }

  static awaitable<void> write_logs(boost::json::value header, std::shared_ptr<Stream> stream) {
    if (header.at("task").as_string() != "t") throw Error(Code::not_found, "task 'x' not found");
    for (int i = 0; i < 3; ++i) co_await stream->write(fmt::format("line {}\n", i));
    stream->end();
  }
  /// "echo" repeats its input; "fail" ends with 3 at once; anything else does not exist.
  static awaitable<void> run_command(boost::json::value header, std::shared_ptr<Stream> stream) {
    const std::string command(header.at("command").at(0).as_string());
    if (command != "echo" && command != "fail") throw Error(Code::not_found, "no such command: " + command);
    if (command == "echo") {
      while (auto chunk = co_await stream->read()) {
        if (chunk->channel == Channel::data) co_await stream->write(chunk->bytes);
      }
      co_await stream->write(Channel::error, "done\n");
    }
    const boost::json::value exit = boost::json::object{{"ExitCode", command == "fail" ? 3 : 0}};
    co_await stream->write_control(exit);
    stream->end();
  }

  World world;
  async::Pool pool{1};
  std::optional<server::AuditLog> log;
  http::Server http{world.loop.executor(), world.router};
  FakeNode* node = nullptr;
  std::string directory;
  std::thread thread;
};

/// What a descriptor's other end received.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) throw errno_error(errno, "pipe2");
  }
  ~Pipe() {
    close_writer();
    ::close(ends_[0]);
  }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void close_writer() {
    if (ends_[1] >= 0) ::close(std::exchange(ends_[1], -1));
  }
  std::string text() {
    close_writer();
    std::string all;
    char buffer[512];
    for (ssize_t got; (got = ::read(ends_[0], buffer, sizeof buffer)) > 0;)
      all.append(buffer, static_cast<std::size_t>(got));
    return all;
  }

 private:
  int ends_[2] = {-1, -1};
};

TEST_F(ClientTest, FollowsEventsUntilItHasSeenEnough) {
  Client client = serve();
  client.register_job(make_job("web"), {});
  EventStart started;
  std::vector<std::string> types;
  const auto begin = [&](const EventStart& start) { started = start; };
  const auto keep = [&](const boost::json::value& event) {
    types.emplace_back(std::string_view(event.at("Type").as_string()));
    return true;
  };
  client.events({{"Job:web", "Evaluation:none"}, 0}, begin, keep, [] { return false; });
  ASSERT_FALSE(types.empty());
  EXPECT_EQ(types.front(), "JobRegistered");
  EXPECT_GT(started.newest, 1);
  EXPECT_EQ(started.complete_from, 1);
  types.clear();
  const auto take_one = [&](const boost::json::value& event) {
    keep(event);
    return false;
  };
  client.events({}, begin, take_one, [] { return true; });
  EXPECT_EQ(types.size(), 1u) << "it stops when it is told so";
  const auto refused = refusal([&] { client.events({{"Jobs"}, 0}, begin, keep, [] { return false; }); });
  EXPECT_EQ(refused.code(), Code::invalid);
  EXPECT_NE(refused.message().find("did you mean Job?"), std::string::npos) << refused.message();
  EXPECT_EQ(client.explain_job("web", true).groups.at(0).nodes.size(), 1u) << "the client is good for more";
}

TEST_F(ClientTest, RunsAJobAndFollowsItUntilItRuns) {
  Client client = serve();
  const auto registered = client.register_job(make_job("web"), model::JobSubmission{"job \"web\" {}", "hcl2", "", {}});
  EXPECT_GT(registered.job_modify_index, 0);
  const auto id = running(client, registered.eval_id);
  EXPECT_EQ(client.evaluation(registered.eval_id).value.status, model::EvalStatus::complete);
  const auto allocation = client.allocation(id);
  EXPECT_EQ(allocation.node_id, uuid(1));
  ASSERT_TRUE(allocation.job);
  EXPECT_EQ(allocation.job->id, "web");
  EXPECT_EQ(allocation.resources.tasks.at("t").cpu, 500);
  EXPECT_EQ(client.job_submission("web").source, "job \"web\" {}");
  EXPECT_EQ(client.job_allocations("web").size(), 1u);
  EXPECT_EQ(client.job_summary("web").groups.at("g").running, 1);
  EXPECT_EQ(client.jobs("we").size(), 1u);
  EXPECT_TRUE(client.jobs("x").empty());
  EXPECT_EQ(client.node_allocations(uuid(1)).size(), 1u);
  EXPECT_TRUE(client.status().value.settled);
}

TEST_F(ClientTest, PlansStopsAndForgetsAJobWhoseIdHasASlash) {
  Client client = serve();
  client.register_job(make_job("night/1"), {});
  EXPECT_EQ(client.job("night/1").id, "night/1");
  const auto plan = client.plan_job(make_job("night/1", 3));
  EXPECT_EQ(plan.id, "night/1");
  EXPECT_EQ(plan.updates.at("g").place, 2);
  EXPECT_EQ(plan.touched.size(), 3u);
  EXPECT_EQ(plan.diff.type, model::DiffType::edited);
  EXPECT_FALSE(client.stop_job("night/1").eval_id.empty());
  EXPECT_TRUE(client.job("night/1").stop);
  client.stop_job("night/1", {.purge = true});
  EXPECT_EQ(refusal([&] { client.job("night/1"); }).code(), Code::not_found);
}

TEST_F(ClientTest, ThrowsTheServersRefusalInItsOwnWords) {
  Client client = serve();
  const auto missing = refusal([&] { client.job("nope"); });
  EXPECT_EQ(missing.code(), Code::not_found);
  EXPECT_EQ(missing.message(), "job not found");
  model::Job bad = make_job("bad");
  bad.groups[0].tasks[0].driver.clear();
  const auto invalid = refusal([&] { client.register_job(bad, {}); });
  EXPECT_EQ(invalid.code(), Code::invalid);
  EXPECT_NE(invalid.message().find("driver"), std::string::npos) << invalid.message();
  client.register_job(make_job("web"), {});
  EXPECT_EQ(refusal([&] { client.register_job(make_job("web", 2), {}, 0); }).code(), Code::conflict);
}

TEST_F(ClientTest, SaysWhatToDoWhenNobodyAnswers) {
  Client client = this->client();
  const auto error = refusal([&] { client.jobs(); });
  EXPECT_EQ(error.code(), Code::unavailable);
  EXPECT_NE(error.text().find(socket()), std::string::npos) << error.text();
  EXPECT_NE(error.advice().find("is the agent running?"), std::string::npos);
}

TEST_F(ClientTest, WaitsForNewsAndComesBackWithoutAny) {
  Client client = serve();
  const auto eval = client.register_job(make_job("web"), {}).eval_id;
  const auto first = client.evaluation(eval);
  EXPECT_GT(first.index, 0);
  const auto same = client.evaluation(eval, Wait{first.index, std::chrono::milliseconds(20)});
  EXPECT_EQ(same.index, first.index);
}

TEST_F(ClientTest, AppliesPlansAndStopsAClusterAsAWhole) {
  Client client = serve();
  wire::ClusterBody body;
  body.cluster.name = "hpc";
  body.cluster.networks.push_back({"management", "10.77.0.0/24", false});
  body.cluster.pools.resize(1);
  body.cluster.pools[0].name = "compute";
  body.jobs.push_back({make_job("munge"), {}});
  EXPECT_TRUE(client.plan_cluster(body).changes);
  const auto applied = client.apply_cluster(body);
  EXPECT_EQ(applied.registered, std::vector<std::string>{"munge"});
  EXPECT_GT(applied.index, 0);
  EXPECT_FALSE(client.plan_cluster(body).changes);
  EXPECT_EQ(client.clusters().size(), 1u);
  EXPECT_TRUE(client.hosts("hpc").empty());
  EXPECT_EQ(client.status("hpc").value.services.size(), 1u);
  client.stop_cluster("hpc");
  EXPECT_TRUE(client.clusters()[0].stop);
}

TEST_F(ClientTest, SteersNodesAndAllocations) {
  std::vector<std::string> asked;
  for (const char* method : {"alloc.restart", "alloc.signal", "alloc.pause", "alloc.resume", "alloc.checkpoint"}) {
    node->answers[method] = [&asked, method](const boost::json::value& body) {
      asked.push_back(method + (" " + std::string(body.at("task").as_string())) + " " +
                      std::string(body.at("signal").as_string()));
      if (std::string_view(method) != "alloc.checkpoint") return boost::json::value(boost::json::object{});
      return boost::json::parse(R"([{"Task": "t", "ID": "c1", "Bytes": 300, "At": 7}])");
    };
  }
  Client client = serve();
  const auto id = running(client, client.register_job(make_job("web"), {}).eval_id);
  client.restart_allocation(id, "t");
  client.signal_allocation(id, "t", "SIGHUP");
  client.pause_allocation(id, "t");
  client.resume_allocation(id, "");
  const auto made = client.checkpoint_allocation(id, "t");
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(fmt::format("{} {} {} {}", made[0].task, made[0].id, made[0].bytes, made[0].at), "t c1 300 7");
  EXPECT_EQ(asked, (std::vector<std::string>{"alloc.restart t ", "alloc.signal t SIGHUP", "alloc.pause t ",
                                             "alloc.resume  ", "alloc.checkpoint t "}));
  EXPECT_EQ(client.nodes().size(), 1u);
  EXPECT_EQ(client.nodes()[0].resources->cpu, 4000);
  client.set_eligibility(uuid(1), model::Eligibility::ineligible);
  EXPECT_EQ(client.node(uuid(1)).eligibility, model::Eligibility::ineligible);
  EXPECT_EQ(refusal([&] { client.purge_node(uuid(1)); }).code(), Code::conflict);
  const auto eval = client.stop_allocation(id);
  EXPECT_EQ(client.evaluation(eval).value.triggered_by, model::EvalTrigger::alloc_stop);
  client.collect_garbage();
  EXPECT_EQ(client.members().at("Members").as_array().size(), 1u);
}

TEST_F(ClientTest, StreamsLogsUntilItHasEnough) {
  Client client = serve();
  const auto id = running(client, client.register_job(make_job("web"), {}).eval_id);
  std::string all;
  client.logs(id, "t", "stdout", false, "start", 0, [&](std::string_view piece) {
    all += piece;
    return true;
  });
  EXPECT_EQ(all, "line 0\nline 1\nline 2\n");
  int pieces = 0;
  client.logs(id, "t", "stdout", false, "start", 0, [&](std::string_view) { return ++pieces < 1; });
  EXPECT_EQ(pieces, 1);
  const auto error = refusal([&] { client.logs(id, "x", "stdout", false, "start", 0, [](auto) { return true; }); });
  EXPECT_EQ(error.code(), Code::not_found);
  EXPECT_EQ(error.message(), "task 'x' not found");
}

TEST_F(ClientTest, RunsACommandWithItsInputAndOutput) {
  Client client = serve();
  const auto id = running(client, client.register_job(make_job("web"), {}).eval_id);
  Pipe in, out, err;
  ASSERT_EQ(::write(in.writer(), "hello\n", 6), 6);
  in.close_writer();
  ExecSession session;
  session.command = {"echo"};
  session.task = "t";
  session.in = in.reader();
  session.out = out.writer();
  session.err = err.writer();
  EXPECT_EQ(client.exec_in_allocation(id, session), 0);
  EXPECT_EQ(out.text(), "hello\n");
  EXPECT_EQ(err.text(), "done\n");
  // The next one on the same client: without input, and with another end.
  session.in = -1;
  session.command = {"fail"};
  Pipe none;
  session.out = session.err = none.writer();
  EXPECT_EQ(client.exec_in_allocation(id, session), 3);
}

TEST_F(ClientTest, TakesAFileAsTheInputOfACommand) {
  Client client = serve();
  const auto id = running(client, client.register_job(make_job("web"), {}).eval_id);
  const std::string path = directory + "/input";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const std::string large(100'000, 'x');
  ASSERT_EQ(::write(file, large.data(), large.size()), static_cast<ssize_t>(large.size()));
  ::lseek(file, 0, SEEK_SET);
  const std::string copy = directory + "/output";
  const int out = ::open(copy.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ExecSession session;
  session.command = {"echo"};
  session.task = "t";
  session.in = file;
  session.out = session.err = out;
  EXPECT_EQ(client.exec_in_allocation(id, session), 0);
  struct stat status{};
  ::fstat(out, &status);
  EXPECT_EQ(static_cast<std::size_t>(status.st_size), large.size() + 5);  // and "done\n"
  ::close(file);
  ::close(out);
  ::unlink(path.c_str());
  ::unlink(copy.c_str());
}

TEST_F(ClientTest, CanWaitForTheFirstOfAList) {
  Client client = serve();
  EXPECT_EQ(client.evaluation_allocations(uuid(9)).index, 1u);
}

TEST_F(ClientTest, SaysWhyACommandCannotBeRun) {
  Client client = serve();
  const auto id = running(client, client.register_job(make_job("web"), {}).eval_id);
  Pipe out, err;
  ExecSession session;
  session.command = {"nope"};
  session.task = "t";
  session.in = -1;
  session.out = out.writer();
  session.err = err.writer();
  const auto error = refusal([&] { client.exec_in_allocation(id, session); });
  EXPECT_EQ(error.one_line(), "the session ended before the command did: no such command: nope");
  EXPECT_EQ(err.text(), "no such command: nope\n");
  EXPECT_NE(refusal([&] { client.exec_in_allocation(uuid(9), session); })
                .one_line()
                .find("Unknown allocation \"" + uuid(9) + "\""),
            std::string::npos);
  EXPECT_EQ(refusal([&] { client.exec_on_host("hpc", "c1", session); }).message(), "host not found");
}

TEST_F(ClientTest, GivesRightsAndTakesThemBack) {
  world.api.access.acl = true;
  Client client = serve();
  model::Namespace ns;
  ns.name = "viz";
  ns.allowed_users = {"viz-*"};
  client.put_namespace(ns);
  EXPECT_EQ(client.namespaces().size(), 2u);
  EXPECT_EQ(client.ns("viz").allowed_users, ns.allowed_users);
  model::AclPolicy policy;
  policy.name = "viz";
  policy.rules = "namespace \"viz\" { policy = \"write\" }";
  client.put_acl_policy(policy);
  EXPECT_EQ(client.acl_policies().size(), 1u);
  EXPECT_EQ(client.acl_policy("viz").rules, policy.rules);
  model::AclRole role;
  role.name = "team";
  role.policies = {{"viz"}};
  role = client.put_acl_role(role);
  EXPECT_EQ(client.acl_role_by_name("team").id, role.id);
  model::AclToken token;
  token.name = "anna";
  token.roles = {{"", "team"}};
  const auto made = client.put_acl_token(token);
  EXPECT_EQ(client.acl_token(made.token.accessor_id).roles.at(0).id, role.id);

  Client anna(Address{"unix://" + socket(), made.secret, "", ""});
  EXPECT_EQ(anna.acl_token_self().name, "anna");
  EXPECT_EQ(refusal([&] { anna.nodes(); }).code(), Code::denied);
  client.delete_acl_token(made.token.accessor_id);
  EXPECT_EQ(refusal([&] { anna.acl_token_self(); }).code(), Code::denied);
  EXPECT_TRUE(client.acl_tokens().empty());
  client.delete_acl_role(role.id);
  EXPECT_TRUE(client.acl_roles().empty());
  client.delete_acl_policy("viz");
  client.delete_namespace("viz");
  EXPECT_TRUE(is_uuid(client.bootstrap_acl().secret));
}

TEST_F(ClientTest, ReadsTheAuditLogAndFollowsIt) {
  log.emplace(world.loop.executor(), pool, world.clock, server::AuditOptions{.path = directory + "/audit.log"});
  world.api.audit = &*log;
  Client client = serve();
  model::Namespace ns;
  for (const char* name : {"a", "b"}) {
    ns.name = name;
    client.put_namespace(ns);
  }
  std::vector<std::string> read, followed;
  client.audit("", "", false, [&](std::string_view line) {
    read.emplace_back(line);
    return true;
  });
  client.audit("", "", true, [&](std::string_view line) {
    followed.emplace_back(line);
    return followed.size() < 2;
  });
  ASSERT_EQ(read.size(), 2u);
  EXPECT_NE(read[1].find("namespace b"), std::string::npos);
  EXPECT_EQ(followed.size(), 2u);
}

TEST_F(ClientTest, SendsAnyRequest) {
  Client client = serve();
  const auto response = client.raw("GET", "/v1/job/nope");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.body, "job not found");
}

TEST(AddressFromEnvironment, PrefersOursThenNomadsThenTheSocketOfThisMachine) {
  const char* const names[] = {"UNDERWAY_ADDR",      "NOMAD_ADDR",      "UNDERWAY_TOKEN",  "NOMAD_TOKEN",
                               "UNDERWAY_NAMESPACE", "NOMAD_NAMESPACE", "UNDERWAY_REGION", "NOMAD_REGION"};
  std::map<std::string, std::string> before;
  for (const char* name : names) {
    if (const char* value = std::getenv(name)) before[name] = value;
    ::unsetenv(name);
  }
  EXPECT_EQ(address_from_environment("/no/such/socket").url, "http://127.0.0.1:4646");
  EXPECT_EQ(address_from_environment("/dev/null").url, "unix:///dev/null");
  ::setenv("NOMAD_ADDR", "http://nomad:4646", 1);
  ::setenv("NOMAD_TOKEN", "token", 1);
  EXPECT_EQ(address_from_environment("/dev/null").url, "http://nomad:4646");
  ::setenv("UNDERWAY_ADDR", "http://ours:4646", 1);
  EXPECT_EQ(address_from_environment("/dev/null").url, "http://ours:4646");
  EXPECT_EQ(address_from_environment("/dev/null").token, "token");
  for (const char* name : names) ::unsetenv(name);
  for (const auto& [name, value] : before) ::setenv(name.c_str(), value.c_str(), 1);
}

TEST_F(ClientTest, SavesTheStateAndRestoresIt) {
  Client api = serve();
  const std::string file = directory + "/state.tgz";
  api.register_job(make_job("kept"), {}, {}, {});
  const auto size = api.save_snapshot(file);
  struct stat st{};
  ASSERT_EQ(::stat(file.c_str(), &st), 0);
  EXPECT_EQ(st.st_size, size);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
  api.register_job(make_job("later"), {}, {}, {});
  api.restore_snapshot(file);
  EXPECT_EQ(refusal([&] { api.job("later"); }).code(), Code::not_found);
  EXPECT_EQ(api.job("kept").id, "kept");
  ASSERT_EQ(::truncate(file.c_str(), size / 2), 0);
  EXPECT_EQ(refusal([&] { api.restore_snapshot(file); }).code(), Code::invalid);
  EXPECT_EQ(api.job("kept").id, "kept");
  ::unlink(file.c_str());
}

TEST_F(ClientTest, MakesListsAndDeletesVolumes) {
  node->answers["volume.create"] = [](const boost::json::value&) {
    return boost::json::value(boost::json::object{{"Path", "/srv/made"}, {"Bytes", 7}});
  };
  Client api = serve();
  const boost::json::object capability{{"AccessMode", "single-node-writer"}, {"AttachmentMode", "file-system"}};
  const auto made = api.create_volume(boost::json::object{
      {"Name", "data"}, {"PluginID", "mkdir"}, {"RequestedCapabilities", boost::json::array{capability}}});
  const std::string id(made.at("Volume").at("ID").as_string());
  EXPECT_EQ(api.volume(id).at("HostPath"), "/srv/made");
  EXPECT_EQ(api.volumes().as_array().size(), 1u);
  EXPECT_EQ(api.volume_claims().as_array().size(), 0u);
  EXPECT_EQ(refusal([&] { api.delete_volume_claim("none"); }).code(), Code::not_found);
  api.delete_volume(id);
  EXPECT_EQ(api.volumes().as_array().size(), 0u);
}

}  // namespace
}  // namespace underway::sdk
