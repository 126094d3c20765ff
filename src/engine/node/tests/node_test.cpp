// The node on the real kernel: drivers, keepers, the link over a unix socket, and SIGKILL.
#include <algorithm>
#include <filesystem>

#include "node_fixture.hpp"

namespace underway::node {
namespace {

using ::testing::HasSubstr;

TEST_F(NodeTest, RegistersWhatItIs) {
  const auto& node = server.registered->node;
  EXPECT_EQ(node.name, "test-node");
  EXPECT_TRUE(is_uuid(node.id));
  EXPECT_TRUE(is_uuid(server.registered->secret));
  EXPECT_EQ(node.attributes.at("driver.raw_exec"), "1");
  EXPECT_TRUE(node.drivers.at("exec").healthy) << node.drivers.at("exec").health_description;
  EXPECT_FALSE(node.computed_class.empty());
}

TEST_F(NodeTest, SurvivesSigkillWithTheSameProcessAndNoGapInItsLog) {
  const auto id =
      run(shell("echo $$ > $NOMAD_ALLOC_DIR/data/pid; i=0; while :; do echo $i; i=$((i+1)); sleep 0.005; done"),
          model::JobType::service);
  const pid_t pid = pid_of(id);
  ASSERT_TRUE(server.until([&] { return server.is(id, ClientStatus::running); })) << server.events(id, "main");
  const std::string node_id = server.registered->node.id;
  for (int round = 0; round < 3; ++round) {
    agent->kill();
    EXPECT_TRUE(alive(pid));
    const auto before = os::read_file(path(id, "alloc/logs/main.stdout.0")).size();
    EXPECT_TRUE(
        server.until([&] { return os::read_file(path(id, "alloc/logs/main.stdout.0")).size() > before + 100; }));
    start_agent();
    EXPECT_EQ(server.registered->node.id, node_id);
  }
  EXPECT_TRUE(alive(pid));
  const auto* update = server.find(id);
  ASSERT_NE(update, nullptr);
  EXPECT_EQ(update->task_states.at("main").restarts, 0);
  const std::string log =
      server.read_stream("logs", boost::json::object{{"alloc", id}, {"task", "main"}, {"follow", true}},
                         [](const std::string& all) { return std::ranges::count(all, '\n') > 200; });
  int expected = 0;
  auto lines = split(log, '\n');
  lines.pop_back();
  for (const auto& line : lines) ASSERT_EQ(line, std::to_string(expected++));
}

TEST_F(NodeTest, StopsWhatIsNotToOutliveTheLinkAndNothingElse) {
  const std::string script = "echo $$ > $NOMAD_ALLOC_DIR/data/pid; exec sleep 1000";
  model::DisconnectStrategy stops;
  stops.stop_on_client_after = 1s;
  const auto ends = run(shell(script), model::JobType::service, stops);
  const auto stays = run(shell(script), model::JobType::service);
  const pid_t ending = pid_of(ends), staying = pid_of(stays);
  ASSERT_TRUE(server.until([&] { return server.is(ends, ClientStatus::running); }));
  EXPECT_FALSE(server.until([&] { return !alive(ending); }, 2s)) << "the server is there";
  server.refusing = true;
  const int before = server.registrations;
  server.connection->abort();
  EXPECT_TRUE(server.until([&] { return !alive(ending); }));
  EXPECT_TRUE(alive(staying));
  server.refusing = false;
  EXPECT_TRUE(server.until([&] { return server.registrations > before && server.is(ends, ClientStatus::complete); }));
  EXPECT_TRUE(alive(staying));
}

TEST_F(NodeTest, ATaskThatEndsWhileTheAgentIsDeadIsReportedWithItsExit) {
  const auto id = run(shell(
      "echo $$ > $NOMAD_ALLOC_DIR/data/pid; while [ ! -e $NOMAD_ALLOC_DIR/data/go ]; do sleep 0.01; done; exit 7"));
  const pid_t pid = pid_of(id);
  agent->kill();
  std::ofstream(path(id, "alloc/data/go")) << "x";
  ASSERT_TRUE(server.until([&] { return !alive(pid); }));
  start_agent();
  ASSERT_TRUE(server.until([&] { return server.is(id, ClientStatus::failed); }));
  EXPECT_THAT(server.events(id, "main"), HasSubstr("Terminated: Exit Code: 7"));
}

TEST_F(NodeTest, AKilledKeeperTakesItsTaskWithItAndThatIsTold) {
  const auto id = run(shell("echo $$ > $NOMAD_ALLOC_DIR/data/pid; exec sleep 1000"));
  const pid_t pid = pid_of(id);
  ASSERT_TRUE(server.until([&] { return server.is(id, ClientStatus::running); }));
  const std::string status = os::read_file(fmt::format("/proc/{}/status", pid));
  const std::size_t at = status.find("PPid:");
  ASSERT_EQ(::kill(std::stoi(status.substr(at + 5)), SIGKILL), 0);
  ASSERT_TRUE(server.until([&] { return server.is(id, ClientStatus::failed); }));
  EXPECT_THAT(server.events(id, "main"), HasSubstr("keeper was killed"));
  EXPECT_FALSE(alive(pid));
}

TEST_F(NodeTest, ExecTasksSeeTheirOwnDirectories) {
  auto main = shell(
      "cat /local/conf/x $NOMAD_SECRETS_DIR/key; echo $NOMAD_TASK_DIR; id -un; touch /etc/x 2>/dev/null && echo bad; "
      "findmnt -n -o FSTYPE /secrets || stat -f -c %T /secrets; exit 0",
      "exec");
  main.templates.push_back({.destination = "local/conf/x", .data = "${NOMAD_JOB_ID} on ${node.unique.name}\n"});
  main.templates.push_back({.destination = "${NOMAD_SECRETS_DIR}/key", .data = "secret\n", .perms = "0400"});
  const auto id = run(main);
  ASSERT_TRUE(server.until([&] { return server.is(id, ClientStatus::complete); })) << server.events(id, "main");
  EXPECT_EQ(os::read_file(path(id, "alloc/logs/main.stdout.0")), "job-1 on test-node\nsecret\n/local\nnobody\ntmpfs\n");
}

TEST_F(NodeTest, WhatCannotStartSaysWhyAndWhere) {
  const auto command = run(task("raw_exec", {"/opt/no/such/program"}));
  auto stranger = shell("true");
  stranger.user = "no-such-user-here";
  const auto user = run(stranger);
  ASSERT_TRUE(
      server.until([&] { return server.is(command, ClientStatus::failed) && server.is(user, ClientStatus::failed); }));
  EXPECT_THAT(server.events(command, "main"), HasSubstr("/opt/no/such/program"));
  EXPECT_THAT(server.events(command, "main"), HasSubstr("test-node"));
  EXPECT_THAT(server.events(user, "main"), HasSubstr("no-such-user-here"));
  EXPECT_THAT(server.events(user, "main"), HasSubstr("test-node"));
}

TEST_F(NodeTest, WhatItsNamespaceDoesNotGiveIsNotStartedWhateverTheServerSays) {
  rights.clear();
  model::Task computed = shell("id -u", "exec");
  computed.meta["who"] = "0";
  computed.user = "${NOMAD_META_who}";
  model::Task numbers = shell("true", "exec");
  numbers.config.as_object()["pid_mode"] = "host";
  model::Task reads = computed;
  reads.artifacts.push_back({.source = "/etc/shadow"});
  const std::pair<std::string, std::string> refused[] = {{run(shell("true")), "'node'"},
                                                         {run(computed), "'root'"},
                                                         {run(reads), "root reads no '/etc/shadow'"},
                                                         {run(numbers), "'host_namespaces'"}};
  for (const auto& [id, right] : refused) {
    ASSERT_TRUE(server.until([&] { return server.is(id, ClientStatus::failed); })) << right;
    EXPECT_THAT(server.events(id, "main"), HasSubstr(right));
    EXPECT_THAT(server.events(id, "main"), HasSubstr("does not give the right"));
  }
  EXPECT_FALSE(os::exists(path(refused[2].first, "main/local/shadow")));
  rights = {"root", "host_namespaces"};
  for (const auto& id : {run(computed), run(reads), run(numbers)})
    ASSERT_TRUE(server.until([&] { return server.is(id, ClientStatus::complete); })) << server.events(id, "main");
}

TEST_F(NodeTest, ArtifactsComeFromFilesAndServersAndAreChecked) {
  const std::string file = directory.path() + "/input.txt";
  std::ofstream(file) << "from a file\n";
  const auto port = server.serve_file("/served.txt", "from a server\n");
  auto main = shell("cat $NOMAD_TASK_DIR/input.txt $NOMAD_TASK_DIR/deep/renamed");
  main.artifacts.push_back({.source = "file://" + file});
  main.artifacts.push_back({.source = fmt::format("http://127.0.0.1:{}/served.txt", port),
                            .destination = "local/deep/renamed",
                            .mode = "file",
                            // sha256 of "from a server\n"
                            .options = {{"checksum", "md5:" + std::string("00000000000000000000000000000000")}}});
  const auto refused = run(main);
  ASSERT_TRUE(server.until([&] { return server.is(refused, ClientStatus::failed); }));
  EXPECT_THAT(server.events(refused, "main"), HasSubstr("the checksum does not match"));
  main.artifacts[1].options.clear();
  const auto id = run(main);
  ASSERT_TRUE(server.until([&] { return server.is(id, ClientStatus::complete); })) << server.events(id, "main");
  EXPECT_EQ(os::read_file(path(id, "alloc/logs/main.stdout.0")), "from a file\nfrom a server\n");
}

TEST_F(NodeTest, ACommandWhoseClientIsGoneDiesAlsoAfterTheEndOfItsInput) {
  const auto id = run(shell("exec sleep 1000"), model::JobType::service);
  ASSERT_TRUE(server.until([&] { return server.is(id, ClientStatus::running); }));
  const auto begin = [&]() -> awaitable<pid_t> {
    const boost::json::value request = boost::json::object{
        {"alloc", id}, {"task", "main"}, {"command", boost::json::array{"/bin/sh", "-c", "echo $$; exec sleep 999"}}};
    const auto stream = co_await server.connection->open("exec", request);
    stream->end();
    const auto chunk = co_await stream->read();
    co_return chunk ? static_cast<pid_t>(std::stoi(chunk->bytes)) : 0;
  };
  const pid_t pid = server.loop.run_until_done(begin());  // the stream is abandoned with its last reference
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(server.until([&] { return ::kill(pid, 0) != 0; }));
}

TEST_F(NodeTest, ACommandThatReadsNothingDiesWithItsClientThoughInputWaitsForIt) {
  const auto id = run(shell("exec sleep 1000"), model::JobType::service);
  ASSERT_TRUE(server.until([&] { return server.is(id, ClientStatus::running); }));
  const auto begin = [&]() -> awaitable<pid_t> {
    const boost::json::value request = boost::json::object{
        {"alloc", id}, {"task", "main"}, {"command", boost::json::array{"/bin/sh", "-c", "echo $$; exec sleep 999"}}};
    const auto stream = co_await server.connection->open("exec", request);
    const auto chunk = co_await stream->read();
    // More than a pipe takes (64 KiB, pipe(7)), and less than a stream's window.
    co_await stream->write(std::string(200'000, 'x'));
    co_return chunk ? static_cast<pid_t>(std::stoi(chunk->bytes)) : 0;
  };
  const pid_t pid = server.loop.run_until_done(begin());
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(server.until([&] { return ::kill(pid, 0) != 0; }));
}

TEST_F(NodeTest, CommandsRunBesideATaskAndOnTheHost) {
  const auto id = run(shell("echo $$ > $NOMAD_ALLOC_DIR/data/pid; exec sleep 1000"), model::JobType::service);
  pid_of(id);
  ASSERT_TRUE(server.until([&] { return server.is(id, ClientStatus::running); }));
  boost::json::object request{{"alloc", id},
                              {"task", "main"},
                              {"command", boost::json::array{"/bin/sh", "-c", "cat; echo $NOMAD_TASK_NAME; exit 3"}}};
  std::optional<std::int64_t> code;
  EXPECT_EQ(server.read_stream("exec", request, {}, "hello\n", &code), "hello\nmain\n");
  EXPECT_EQ(code, 3);
  boost::json::object host{{"command", boost::json::array{"/bin/sh", "-c", "test -t 1 && stty size"}},
                           {"tty", true},
                           {"width", 99},
                           {"height", 33}};
  EXPECT_EQ(server.read_stream("host.exec", host, {}, "", &code), "33 99\r\n");
  EXPECT_EQ(code, 0);
  EXPECT_THROW(server.read_stream("host.exec", boost::json::object{{"command", boost::json::array{"/no/such"}}}),
               Error);
}

TEST_F(NodeTest, FilesAreShownAndSecretsAreNot) {
  const auto id = run(shell("echo $$ > $NOMAD_ALLOC_DIR/data/pid; echo x > $NOMAD_TASK_DIR/f; echo y > "
                            "$NOMAD_SECRETS_DIR/s; ln -s / $NOMAD_TASK_DIR/root; exec sleep 1000"),
                      model::JobType::service);
  pid_of(id);
  ASSERT_TRUE(server.until([&] { return os::exists(path(id, "main/local/root")); }));
  const auto at = [&](const std::string& file) { return boost::json::object{{"alloc", id}, {"path", file}}; };
  EXPECT_EQ(server.call("fs.ls", at("main/local")).as_array().size(), 2u);
  EXPECT_EQ(server.call("fs.stat", at("main/local/f")).at("Size"), 2);
  EXPECT_EQ(server.read_stream("fs.cat", at("main/local/f")), "x\n");
  for (const char* file : {"main/secrets/s", "main/local/root/etc/passwd", "../../ledger", "main/private"}) {
    SCOPED_TRACE(file);
    EXPECT_THROW(server.read_stream("fs.cat", at(file)), Error);
  }
  const auto refused = [&](const char* method, boost::json::object header) {
    try {
      return "read: " + server.read_stream(method, std::move(header));
    } catch (const Error& error) {
      return fmt::format("{}: {}", to_string(error.code()), error.message());
    }
  };
  EXPECT_EQ(refused("fs.stream", at("main/local/none")), "invalid: stat main/local/none: no such file or directory");
  EXPECT_EQ(refused("fs.cat", at("main/local")), "invalid: file \"main/local\" is a directory");
  const boost::json::object log{{"alloc", id}, {"task", "other"}, {"type", "stdout"}, {"origin", "start"}};
  EXPECT_EQ(refused("logs", log), "invalid: unknown task name \"other\"");
  EXPECT_GT(server.call("alloc.stats", of(id)).at("ResourceUsage").at("MemoryStats").at("Usage").to_number<double>(),
            0);
  const auto metrics = server.call("node.metrics", boost::json::object{});
  EXPECT_GT(metrics.at("Host").at("Memory").at("Total").as_int64(), 0);
  EXPECT_FALSE(metrics.at("Host").at("CPU").as_array().empty());
  EXPECT_EQ(metrics.at("Allocations").at("Running").as_int64(), 1);
  const auto& tasks = metrics.at("Tasks").as_array();
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].at("AllocID").as_string(), id);
  EXPECT_TRUE(tasks[0].at("Running").as_bool());
  EXPECT_EQ(tasks[0].at("Starts").as_int64(), 1);
  EXPECT_GT(tasks[0].at("MemoryUsage").as_int64(), 0);
}

TEST_F(NodeTest, SignalsRestartsAndStopsReachTheTask) {
  auto main = shell(
      "echo $$ > $NOMAD_ALLOC_DIR/data/pid; trap 'echo hup' HUP; trap 'echo term; exit 0' TERM; while :; do sleep "
      "0.01; done");
  main.kill_signal = "SIGTERM";
  const auto id = run(main, model::JobType::service);
  const pid_t first = pid_of(id);
  ASSERT_TRUE(server.until([&] { return server.is(id, ClientStatus::running); }));
  server.call("alloc.signal", boost::json::object{{"id", id}, {"task", "main"}, {"signal", "SIGHUP"}});
  const auto log = [&] { return os::find_file(path(id, "alloc/logs/main.stdout.0")).value_or(""); };
  EXPECT_TRUE(server.until([&] { return log() == "hup\n"; }));
  server.call("alloc.restart", of(id));
  EXPECT_TRUE(server.until([&] { return pid_of(id) != first; }));
  EXPECT_EQ(log(), "hup\nterm\n");
  EXPECT_TRUE(server.until([&] { return server.find(id)->task_states.at("main").restarts == 1; }));
  EXPECT_TRUE(server.until([&] { return server.is(id, ClientStatus::running); }));
}

TEST_F(NodeTest, WithKillModeProcessOnlyTheTasksProcessEndsWithIt) {
  // As slurmd does with slurmstepd: in a session of its own, here with the task's output, directory and a secret open.
  auto main = shell(
      "cd $NOMAD_TASK_DIR; echo x > $NOMAD_SECRETS_DIR/s; [ -e $NOMAD_ALLOC_DIR/data/pid ] || setsid sh -c 'exec 9< "
      "$NOMAD_SECRETS_DIR/s; echo $$ > $NOMAD_ALLOC_DIR/data/pid; while :; do echo on; sleep 0.01; done' & "
      "echo $$ > $NOMAD_ALLOC_DIR/data/own; while :; do sleep 0.01; done");
  main.config.as_object()["kill_mode"] = "process";
  main.kill_signal = "SIGTERM";
  const auto id = run(main, model::JobType::service);
  const pid_t left = pid_of(id);
  // The shell empties the file before it writes.
  const auto own = [&] { return os::find_file(path(id, "alloc/data/own")).value_or(""); };
  const auto is_other_than = [&](const std::string& before) { return own().ends_with("\n") && own() != before; };
  ASSERT_TRUE(server.until([&] { return server.is(id, ClientStatus::running) && is_other_than(""); }));
  const std::string first = own();

  server.call("alloc.restart", of(id));
  ASSERT_TRUE(
      server.until([&] { return is_other_than(first) && server.find(id)->task_states.at("main").restarts == 1; }));
  EXPECT_TRUE(alive(left));
  EXPECT_THAT(server.events(id, "main"), HasSubstr("Left Running: Left "));

  // A keeper that is killed costs its task's process, which is started again; and then the agent as well.
  const std::string second = own(), status = os::read_file(fmt::format("/proc/{}/status", std::stoi(second)));
  ASSERT_EQ(::kill(std::stoi(status.substr(status.find("PPid:") + 5)), SIGKILL), 0);
  agent->kill();
  start_agent();
  EXPECT_TRUE(server.until([&] { return server.is(id, ClientStatus::failed); })) << server.events(id, "main");
  EXPECT_TRUE(alive(left));

  protocol::AllocationsMessage nothing;
  nothing.full = true;
  server.send(nothing);
  EXPECT_TRUE(server.until([&] { return !os::exists(path(id, "main")); })) << "its directories are in use";
  EXPECT_TRUE(alive(left));
  ASSERT_EQ(::kill(left, SIGKILL), 0);
  EXPECT_TRUE(server.until([&] { return !alive(left); }));
  agent->kill();
  start_agent();  // an agent looks when it starts, and then now and then
  const auto system = os::CgroupSystem::probe();
  const std::string group = fmt::format("underway-node-test/{}.runs", id);
  EXPECT_TRUE(server.until([&] {
    auto found = os::Cgroup::find(system, group);
    if (found) found->release();
    return !found;
  }));
}

model::Check check_of(const std::string& name, const std::string& type) {
  model::Check check;
  check.name = name;
  check.type = type;
  check.interval = check.timeout = 1s;
  return check;
}

TEST_F(NodeTest, ChecksOfEveryKindAreDoneAndASickTaskIsRestarted) {
  auto main = shell("exec sleep 1000");
  main.restart = model::RestartPolicy{.attempts = 3, .delay = Duration{0}};
  model::Service service;
  service.name = "web";
  service.port = "http";
  auto page = check_of("page", "http");
  page.path = "/status";
  auto well = check_of("well", "script");
  well.command = "/bin/sh";
  well.args = {"-c", "echo seen by $NOMAD_TASK_NAME; test ! -e ${NOMAD_ALLOC_DIR}/data/sick || exit 2"};
  well.check_restart = model::CheckRestart{.limit = 2, .grace = Duration{0}};
  service.checks = {page, check_of("port", "tcp"), well};
  main.services = {service};
  const auto port = server.serve_file("/status", "fine");
  const auto id = run(main, model::JobType::service, {}, {{"http", port, 0, "127.0.0.1"}});
  ASSERT_TRUE(server.until([&] { return server.find(id) != nullptr && server.find(id)->health.ready; }))
      << boost::json::serialize(server.call("alloc.checks", of(id)));
  std::map<std::string, std::string> outputs;
  const auto results = server.call("alloc.checks", of(id));
  for (const auto& [check_id, result] : results.as_object()) {
    const auto decoded = json::decode<model::CheckResult>(result);
    EXPECT_EQ(decoded.id, std::string(check_id));
    EXPECT_EQ(decoded.status, model::CheckStatus::success) << decoded.output;
    outputs[decoded.check] = decoded.output;
  }
  EXPECT_EQ(outputs, (std::map<std::string, std::string>{
                         {"page", "fine"}, {"port", "nomad: tcp ok"}, {"well", "seen by main\n"}}));

  std::ofstream(path(id, "alloc/data/sick")) << "x";
  ASSERT_TRUE(server.until([&] { return server.find(id)->task_states.at("main").restarts > 0; }));
  EXPECT_THAT(server.events(id, "main"), HasSubstr("healthcheck: check \"well\" unhealthy"));
  EXPECT_EQ(server.find(id)->health.healthy, false);
  std::filesystem::remove(path(id, "alloc/data/sick"));
  EXPECT_TRUE(server.until([&] { return server.find(id)->health.ready; }));
}

TEST_F(NodeTest, AScriptCheckThatHangsIsKilledWithItsChildrenAndNeverPilesUp) {
  auto main = shell("exec sleep 1000");
  model::Service service;
  service.name = "web";
  auto stuck = check_of("stuck", "script");
  stuck.command = "/bin/sh";
  stuck.args = {"-c", "sleep 1000 & echo $$ $! >> $NOMAD_ALLOC_DIR/data/attempts; wait"};
  service.checks = {stuck};
  main.services = {service};
  const auto id = run(main, model::JobType::service);
  const auto attempts = [&] { return split(os::find_file(path(id, "alloc/data/attempts")).value_or(""), '\n'); };
  ASSERT_TRUE(server.until([&] { return attempts().size() > 3; })) << "the third attempt does not come";
  const auto lines = attempts();
  for (std::size_t i = 0; i < 2; ++i)
    for (const std::string& pid : split(lines[i], ' '))
      EXPECT_TRUE(server.until([&] { return !alive(std::stoi(pid)); }, 2s)) << "attempt " << i << ", process " << pid;
  const auto results = server.call("alloc.checks", of(id));
  EXPECT_THAT(boost::json::serialize(results), HasSubstr("did not end within 1s and was killed"));
  EXPECT_FALSE(server.find(id)->health.ready);
}

#if !defined(__SANITIZE_ADDRESS__) && !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
/// Of all threads; and the resident size in KiB.
struct Footprint {
  std::int64_t switches = 0;
  std::int64_t resident = 0;
};
Footprint footprint(pid_t pid) {
  Footprint found;
  for (const auto& thread : os::list_directory(fmt::format("/proc/{}/task", pid))) {
    const std::string status = os::read_file(fmt::format("/proc/{}/task/{}/status", pid, thread.name));
    for (const std::string& line : split(status, '\n')) {
      if (line.starts_with("voluntary_ctxt_switches:")) found.switches += std::stoll(line.substr(24));
      if (line.starts_with("VmRSS:")) found.resident = std::stoll(line.substr(6));
    }
  }
  return found;
}

TEST_F(NodeTest, AnIdleAgentIsSmallAndSleeps) {
  std::vector<std::string> all;
  for (int i = 0; i < 3; ++i) all.push_back(run(shell("exec sleep 1000"), model::JobType::service));
  ASSERT_TRUE(server.until(
      [&] { return std::ranges::all_of(all, [&](const auto& id) { return server.is(id, ClientStatus::running); }); }));
  (void)server.until([] { return false; }, 500ms);
  const Footprint before = footprint(agent->pid());
  constexpr int kSeconds = 6;
  (void)server.until([] { return false; }, std::chrono::seconds{kSeconds});
  const Footprint after = footprint(agent->pid());
  const auto wakeups = after.switches - before.switches;
  std::cout << "idle agent with 3 tasks: " << after.resident << " KiB resident, " << wakeups << " wake-ups in "
            << kSeconds << " s\n";
  EXPECT_LE(wakeups, 5 * kSeconds);
  EXPECT_LE(after.resident, 16 * 1024);
}
#endif

}  // namespace
}  // namespace underway::node
