// What dashboards ask of /v1/metrics, on real values; and who sees what of it.
#include "api/operator/metrics.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <regex>

#include "harness/places.hpp"
#include "protocol/client_messages.hpp"
#include "tests/access.hpp"
#include "tests/golden.hpp"

namespace underway::api::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Point {
  std::map<std::string, std::string> labels;
  double value = 0;
};
using Points = std::multimap<std::string, Point>;

/// Prometheus' text, read as its parser does: a name, labels in braces, a value.
Points parse_exposition(const std::string& text) {
  static const std::regex kLine(R"(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(.*)\})? (\S+))");
  static const std::regex kLabel(R"re(([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)",?)re");
  Points out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::smatch match;
    if (!std::regex_match(line, match, kLine)) throw Error(Code::invalid, "no line of metrics: " + line);
    Point point;
    const std::string labels = match[3];
    for (auto it = std::sregex_iterator(labels.begin(), labels.end(), kLabel); it != std::sregex_iterator(); ++it)
      point.labels[(*it)[1]] = (*it)[2];
    point.value = std::stod(match[4]);
    out.emplace(match[1], std::move(point));
  }
  return out;
}

/// A server that is also the node `test`, which measures what is said here.
class MetricsTest : public AccessTest {
 protected:
  MetricsTest() {
    auto own = make_node(1);
    own.name = "test";
    own.node_class = "gpu";
    own.datacenter = "dc1";
    world.nodes.push_back(std::make_unique<FakeNode>(world.loop.executor(), world.server, own));
    node = world.nodes.back().get();
    node->answers["node.metrics"] = [this](const boost::json::value&) { return json::to_value(measured); };
    world.loop.run_until_done(node->join());
    make_token("root", "");
    world.token = "root";
    EXPECT_EQ(world.run(make_job("web", 2)).status, 200);
    auto large = make_job("large", 3);
    large.groups[0].tasks[0].resources.memory_mb = 1 << 24;
    large.groups[0].tasks[0].resources.cpu = 100;
    EXPECT_EQ(world.run(large).status, 200);
    server::testing::run_until(world.loop, [&] { return world.server.measures().allocations_running() == 2; });
    fill();
  }

  void fill() {
    measured.host.memory = {64'000, 48'000, 16'000, 8'000};
    measured.host.cpu = {{"cpu0", 30, 10, 60, 40}, {"cpu1", 3, 1, 96, 4}};
    measured.host.disks = {{"/dev/sda1", "/", 1000, 400, 600, 40, 7}};
    measured.host.uptime = 4242;
    measured.allocated = {500, 256, 300};
    measured.unallocated = {3500, 7936, 9700};
    measured.allocations = {2, 1, 4, 5, 6};
    measured.loops = {{"leftovers of tasks", 12.5, 1.5, 3}};
    protocol::TaskMetrics task{.ns = "default", .job = "web", .group = "g", .alloc = "alloc-1", .task = "t"};
    task.running = true;
    task.cpu_percent = 12.5;
    task.cpu_ticks = 250;
    task.memory_rss = 1234;
    task.memory_allocated = 300 << 20;
    task.starts = 4;
    task.restarts = 3;
    task.oom_kills = 1;
    measured.tasks = {task};
    task = {.ns = "other", .job = "batch/dispatch-17-ab", .group = "g", .alloc = "alloc-2", .task = "t"};
    task.failed = true;
    measured.tasks.push_back(task);
  }
  Points scrape(const std::string& token, const std::string& more = {}) {
    world.token = token;
    text = world.get("/v1/metrics?format=prometheus" + more).body;
    return parse_exposition(text);
  }
  /// The value of the only point of that name that has these labels.
  static double value(const Points& points, const std::string& name,
                      const std::map<std::string, std::string>& labels = {}) {
    std::vector<double> found;
    const auto [first, last] = points.equal_range(name);
    for (auto it = first; it != last; ++it) {
      const auto& own = it->second.labels;
      if (std::all_of(labels.begin(), labels.end(), [&](const auto& label) {
            const auto at = own.find(label.first);
            return at != own.end() && at->second == label.second;
          }))
        found.push_back(it->second.value);
    }
    EXPECT_EQ(found.size(), 1U) << name;
    return found.empty() ? -1 : found.front();
  }

  FakeNode* node = nullptr;
  protocol::ClientMetrics measured;
  std::string text;
};

/// The names in an expression, and the labels that it selects or groups by.
struct Asked {
  std::set<std::string> names, labels;
};
Asked read_expression(const std::string& expression) {
  static const std::regex kName(R"(\b(nomad|process)_[a-zA-Z0-9_]+)"), kBy(R"(\bby\s*\(([^)]*)\))"),
      kSelected(R"(([a-z_]+)\s*(=~|=|!=|!~)\s*["'])");
  Asked out;
  for (auto it = std::sregex_iterator(expression.begin(), expression.end(), kName); it != std::sregex_iterator(); ++it)
    out.names.insert(it->str());
  for (auto it = std::sregex_iterator(expression.begin(), expression.end(), kSelected); it != std::sregex_iterator();
       ++it)
    out.labels.insert((*it)[1]);
  for (auto it = std::sregex_iterator(expression.begin(), expression.end(), kBy); it != std::sregex_iterator(); ++it)
    for (const auto& label : split((*it)[1].str(), ',')) out.labels.insert(std::string(trim(label)));
  // Those of the scrape itself; and where the metric's own is called otherwise, as `job` is taken.
  out.labels.erase("job");
  out.labels.erase("instance");
  if (out.labels.erase("exported_job") > 0) out.labels.insert("job");
  return out;
}

TEST_F(MetricsTest, HaveWhatPublicDashboardsAskForWithTheLabelsThatTheyUse) {
  const Points points = scrape("root");
  std::ifstream table(source_dir() + "/src/surface/api/tests/nomad/dashboards.txt");
  int asked = 0, missing = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    SCOPED_TRACE(line);
    const bool left_away = line.starts_with('-');
    const Asked wanted = read_expression(line.substr(line.find('|') + 1));
    EXPECT_FALSE(wanted.names.empty());
    ++(left_away ? missing : asked);
    for (const auto& name : wanted.names) {
      const auto [first, last] = points.equal_range(name);
      if (left_away) {
        EXPECT_EQ(first, last) << name << " is there, and the table says that it is not";
        continue;
      }
      EXPECT_NE(first, last) << name << " is not there";
      for (auto it = first; it != last; ++it)
        for (const auto& label : wanted.labels) EXPECT_TRUE(it->second.labels.contains(label)) << name << " " << label;
    }
  }
  EXPECT_GE(asked, 100);
  EXPECT_GE(missing, 20);
}

TEST_F(MetricsTest, TellHowManyAllocationsOfAGroupAreHowFar) {
  const Points points = scrape("root");
  const std::map<std::string, std::string> web{
      {"job", "web"}, {"task_group", "g"}, {"namespace", "default"}, {"host", "test"}};
  const std::map<std::string, std::string> large{{"job", "large"}, {"task_group", "g"}};
  EXPECT_EQ(value(points, "nomad_nomad_job_summary_running", web), 2);
  EXPECT_EQ(value(points, "nomad_nomad_job_summary_queued", web), 0);
  EXPECT_EQ(value(points, "nomad_nomad_job_summary_queued", large), 3);
  EXPECT_EQ(value(points, "nomad_nomad_job_summary_running", large), 0);
  EXPECT_EQ(value(points, "nomad_nomad_job_status_running"), 1);
  EXPECT_EQ(value(points, "nomad_nomad_job_status_pending"), 1);
  EXPECT_EQ(value(points, "nomad_nomad_heartbeat_active"), 1);
  EXPECT_EQ(value(points, "nomad_nomad_blocked_evals_total_blocked"), 1);
  EXPECT_EQ(value(points, "nomad_nomad_blocked_evals_job_cpu", {{"job", "large"}}), 300);
  EXPECT_EQ(value(points, "nomad_nomad_blocked_evals_job_memory", {{"job", "large"}}), 3.0 * (1 << 24));
  EXPECT_EQ(value(points, "nomad_nomad_blocked_evals_cpu", {{"datacenter", "dc1"}}), 300);
  EXPECT_EQ(value(points, "nomad_raft_lastIndex"), static_cast<double>(world.tables().revision()));
  EXPECT_GE(value(points, "nomad_raft_apply"), 4);
  EXPECT_GE(value(points, "nomad_nomad_worker_invoke_scheduler_service_count"), 2);
  EXPECT_GT(value(points, "nomad_nomad_worker_invoke_scheduler_service_sum"), 0);
  EXPECT_GE(value(points, "nomad_nomad_plan_apply_count"), 2);
  EXPECT_GT(value(points, "process_resident_memory_bytes"), 1 << 20);
  EXPECT_GT(value(points, "process_open_fds"), 2);
}

TEST_F(MetricsTest, TellWhatTheOwnNodeMeasures) {
  const Points points = scrape("root");
  const std::map<std::string, std::string> own{{"node_id", node->id()},
                                               {"host", "test"},
                                               {"datacenter", "dc1"},
                                               {"node_class", "gpu"},
                                               {"node_pool", "default"},
                                               {"node_status", "ready"},
                                               {"node_scheduling_eligibility", "eligible"}};
  const auto of_node = [&](const std::string& name) { return value(points, "nomad_client_" + name, own); };
  EXPECT_EQ(of_node("uptime"), 4242);
  EXPECT_EQ(of_node("allocated_cpu"), 500);
  EXPECT_EQ(of_node("unallocated_memory"), 7936);
  EXPECT_EQ(of_node("host_memory_available"), 48'000);
  EXPECT_EQ(of_node("allocations_running"), 2);
  EXPECT_EQ(of_node("allocations_blocked"), 5);
  EXPECT_EQ(of_node("allocations_migrating"), 6);
  EXPECT_EQ(of_node("allocations_terminal"), 4);
  EXPECT_EQ(value(points, "nomad_client_host_cpu_total", {{"cpu", "cpu0"}}), 40);
  EXPECT_EQ(value(points, "nomad_client_host_disk_used_percent", {{"disk", "/dev/sda1"}}), 40);
  const std::map<std::string, std::string> task{
      {"job", "web"}, {"task_group", "g"}, {"task", "t"}, {"alloc_id", "alloc-1"}, {"namespace", "default"}};
  EXPECT_EQ(value(points, "nomad_client_allocs_cpu_total_percent", task), 12.5);
  EXPECT_EQ(value(points, "nomad_client_allocs_memory_rss", task), 1234);
  EXPECT_EQ(value(points, "nomad_client_allocs_restart", task), 3);
  EXPECT_EQ(value(points, "nomad_client_allocs_oom_killed", task), 1);
  EXPECT_EQ(value(points, "nomad_client_allocs_failed", task), 0);
  // Of what another job started, by which; what it used went with it.
  const std::map<std::string, std::string> child{{"parent_id", "batch"}, {"dispatch_id", "17-ab"}};
  EXPECT_EQ(value(points, "nomad_client_allocs_failed", child), 1);
  EXPECT_EQ(points.count("nomad_client_allocs_memory_rss"), 1U);
}

TEST_F(MetricsTest, TellWhichControlLoopsSucceedFailOrAreStuck) {
  const Points points = scrape("root");
  const std::map<std::string, std::string> heartbeats{{"loop", "heartbeats"}};
  EXPECT_LT(value(points, "underway_control_loop_since_success_seconds", heartbeats), 60);
  EXPECT_EQ(value(points, "underway_control_loop_failures", heartbeats), 0);
  EXPECT_LT(value(points, "underway_control_loop_looking_seconds", heartbeats), 60);
  EXPECT_EQ(value(points, "underway_control_loops_troubled"), 0);
  const std::map<std::string, std::string> of_node{{"loop", "leftovers of tasks"}, {"node_id", node->id()}};
  EXPECT_EQ(value(points, "underway_control_loop_since_success_seconds", of_node), 12.5);
  EXPECT_EQ(value(points, "underway_control_loop_failures", of_node), 3);
  EXPECT_EQ(value(points, "underway_control_loop_looking_seconds", of_node), 1.5);
}

TEST_F(MetricsTest, AreCountsAloneWithoutAToken) {
  const Points points = scrape("");
  for (const auto& [name, point] : points)
    for (const auto& [label, value] : point.labels) EXPECT_EQ(label, "quantile") << name;
  EXPECT_EQ(value(points, "nomad_client_allocations_running"), 2);
  EXPECT_EQ(value(points, "nomad_nomad_job_status_running"), 1);
  EXPECT_EQ(value(points, "underway_allocations_running"), 2);
  EXPECT_EQ(value(points, "underway_control_loops_troubled"), 0);
  for (const char* hidden : {"nomad_client_uptime", "nomad_client_host", "nomad_client_allocs", "job_summary", "web",
                             "test", "blocked_evals_job"})
    EXPECT_THAT(text, Not(HasSubstr(hidden)));
}

TEST_F(MetricsTest, NameWhatTheTokenMayRead) {
  make_token("nodes", "node { policy = \"read\" }");
  make_token("jobs", "namespace \"default\" { capabilities = [\"read-job\"] }");
  const Points nodes = scrape("nodes");
  EXPECT_EQ(value(nodes, "nomad_client_uptime"), 4242);
  EXPECT_EQ(nodes.count("nomad_nomad_job_summary_running") + nodes.count("nomad_client_allocs_memory_rss"), 0U);
  EXPECT_THAT(text, Not(HasSubstr("web")));
  const Points jobs = scrape("jobs");
  EXPECT_EQ(value(jobs, "nomad_nomad_job_summary_running", {{"job", "web"}}), 2);
  EXPECT_EQ(value(jobs, "nomad_client_allocs_memory_rss", {{"job", "web"}}), 1234);
  EXPECT_EQ(jobs.count("nomad_client_uptime") + jobs.count("nomad_client_host_cpu_idle"), 0U);
  EXPECT_THAT(text, Not(HasSubstr("namespace=\"other\""))) << "it may not read that one";
  world.token = "unknown";
  EXPECT_EQ(world.get("/v1/metrics").status, 403);
}

TEST_F(MetricsTest, ArePublishedAsNomadDoesWhereTheConfigurationSaysSo) {
  world.api.metrics.publish_nodes = true;
  EXPECT_EQ(value(scrape(""), "nomad_client_uptime"), 4242);
  EXPECT_THAT(text, Not(HasSubstr("web")));
  world.api.metrics.publish_allocations = true;
  EXPECT_EQ(value(scrape(""), "nomad_nomad_job_summary_running", {{"job", "web"}}), 2);
}

TEST_F(MetricsTest, AreThoseOfAnyNodeByItsId) {
  auto& other = world.link(2);
  other.answers["node.metrics"] = [](const boost::json::value&) {
    protocol::ClientMetrics out;
    out.host.uptime = 99;
    return json::to_value(out);
  };
  const Points points = scrape("root", "&node_id=" + other.id());
  EXPECT_EQ(value(points, "nomad_client_uptime", {{"node_id", other.id()}}), 99);
  EXPECT_EQ(points.count("nomad_nomad_job_status_running"), 0U) << "that is the server's";
  world.token = "";
  EXPECT_EQ(world.get("/v1/metrics?node_id=" + other.id()).status, 403);
  world.token = "root";
  EXPECT_EQ(world.get("/v1/metrics?node_id=" + uuid(77)).status, 404);
}

TEST_F(MetricsTest, DoNotDependOnTheOwnNode) {
  node->answers["node.metrics"] = [](const boost::json::value&) -> boost::json::value {
    throw Error(Code::unsupported, "this node does not know 'node.metrics'");
  };
  const Points points = scrape("root");
  EXPECT_EQ(value(points, "nomad_nomad_job_summary_running", {{"job", "web"}}), 2);
  EXPECT_EQ(points.count("nomad_client_uptime"), 0U);
}

TEST_F(MetricsTest, HaveNoSummaryOfDispatchedJobsWhereTheyAreNotWanted) {
  auto child = make_job("batch/dispatch-1-2");
  child.dispatched = true;
  put(tables::PutJob{child, std::nullopt});
  EXPECT_EQ(value(scrape("root"), "nomad_nomad_job_summary_running", {{"parent_id", "batch"}, {"dispatch_id", "1-2"}}),
            0);
  world.api.metrics.dispatched_summaries = false;
  scrape("root");
  EXPECT_THAT(text, Not(HasSubstr("dispatch_id=\"1-2\"")));
}

TEST_F(MetricsTest, SummariseAGroupThatTheJobNoLongerHas) {
  auto changed = make_job("web", 1);
  changed.groups[0].name = "renamed";
  EXPECT_EQ(world.run(changed).status, 200);
  server::testing::run_until(world.loop, [&] { return world.server.measures().allocations_running() == 1; });
  const Points points = scrape("root");
  EXPECT_EQ(value(points, "nomad_nomad_job_summary_running", {{"job", "web"}, {"task_group", "renamed"}}), 1);
  EXPECT_EQ(value(points, "nomad_nomad_job_summary_complete", {{"job", "web"}, {"task_group", "g"}}), 2);
}

TEST_F(MetricsTest, AreJsonAsGoMetricsDisplaysThem) {
  world.token = "root";
  const auto all = world.read("/v1/metrics").as_object();
  EXPECT_TRUE(std::regex_match(std::string(std::string_view(all.at("Timestamp").as_string())),
                               std::regex(R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC)")));
  EXPECT_TRUE(all.at("Points").as_array().empty());
  std::set<std::string> gauges;
  for (const auto& gauge : all.at("Gauges").as_array()) {
    gauges.emplace(std::string_view(gauge.at("Name").as_string()));
    EXPECT_TRUE(gauge.at("Value").is_number());
    EXPECT_TRUE(gauge.at("Labels").is_object());
  }
  EXPECT_TRUE(gauges.contains("nomad.client.allocs.cpu.total_percent"));
  EXPECT_TRUE(gauges.contains("nomad.nomad.job_summary.running"));
  for (const char* list : {"Counters", "Samples"}) {
    ASSERT_FALSE(all.at(list).as_array().empty());
    for (const auto& metric : all.at(list).as_array())
      for (const char* field : {"Count", "Rate", "Sum", "Min", "Max", "Mean", "Stddev"})
        EXPECT_TRUE(metric.at(field).is_number()) << list << " " << field;
  }
}

TEST(Exposition, EscapesWhatLabelsHold) {
  Exposition all;
  all.gauge("nomad.client.uptime", 1.5, labels({{"host", "a\"b\\c\nd"}}));
  EXPECT_THAT(all.prometheus(), HasSubstr("nomad_client_uptime{host=\"a\\\"b\\\\c\\nd\"} 1.5\n"));
  const auto parsed = json::parse(all.json(TimePoint{}, Duration{0}));
  EXPECT_EQ(parsed.at("Gauges").as_array()[0].at("Labels").at("host").as_string(), "a\"b\\c\nd");
  EXPECT_THROW(all.gauge("nomad.client.up", 1), Error) << "it is in no table";
  EXPECT_THROW(all.counter("nomad.client.uptime", 1), Error) << "it is no counter";
}

TEST(Exposition, CountsInWholeOnesAndSumsWhatWasCounted) {
  Exposition all;
  all.counter("process_cpu_seconds_total", 0.35);
  const auto parsed = json::parse(all.json(TimePoint{}, std::chrono::seconds(10)));
  const auto& counter = parsed.at("Counters").as_array()[0];
  EXPECT_EQ(counter.at("Count"), 1) << "Go's client reads an integer, or nothing of the whole answer";
  EXPECT_EQ(counter.at("Sum"), 0.35);
}

TEST(MetricsReference, IsAsTheTableIs) {
  expect_golden(source_dir() + "/docs/reference/metrics.md", metrics_reference());
}

}  // namespace
}  // namespace underway::api::testing
