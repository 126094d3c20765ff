// The loop is nobody's: no request, however large or artful, keeps the others waiting. Every route is sent the worst
// that it may be sent, while the watchdog looks on.
#include "access.hpp"
#include "async/watchdog.hpp"

namespace underway::api::testing {
namespace {

using namespace std::chrono_literals;

/// What one callback may compute; who waits for it waits so long.
constexpr Duration kAtMost = 200ms;

std::string repeat(std::string_view text, std::size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

/// `begin`, so many of `part`, separated by commas, as fit into `size`, `end`.
std::string filled(std::size_t size, const std::string& begin, const std::string& part, const std::string& end) {
  const std::size_t room = size - begin.size() - end.size() - part.size();
  return begin + repeat(part + ",", room / (part.size() + 1)) + part + end;
}

struct Payload {
  const char* name;
  std::string body;
};

/// JSON strings within JSON.
std::string quoted(const std::string& text) { return json::encode(text); }

/// What can be made of so many bytes that is JSON.
std::vector<Payload> payloads(std::size_t size) {
  const std::string deep = repeat("[", 60) + repeat("]", 60);
  const std::string object = repeat("{\"a\":", 60) + "1" + repeat("}", 60);
  return {
      {"one long text", "{\"Name\":\"" + std::string(size - 20, 'x') + "\"}"},
      {"deeply nested lists", filled(size, "{\"Name\":[", deep, "]}")},
      {"deeply nested objects", filled(size, "{\"Job\":{\"Meta\":[", object, "]}}")},
      {"empty groups", filled(size, "{\"Job\":{\"ID\":\"x\",\"TaskGroups\":[", "{}", "]}}")},
      {"groups with tasks",
       filled(size, "{\"Job\":{\"ID\":\"x\",\"TaskGroups\":[", "{\"Name\":\"g\",\"Tasks\":[{}]}", "]}}")},
      {"one job with much text",
       "{\"Job\":{\"ID\":\"x\",\"TaskGroups\":[{\"Name\":\"g\",\"Tasks\":[{\"Name\":\"t\",\"Driver\":\"raw_exec\","
       "\"Config\":{"
       "\"command\":\"/bin/true\"},\"Templates\":[{\"DestPath\":\"local/a\",\"EmbeddedTmpl\":\"" +
           std::string(size > (4u << 20) ? (4u << 20) : size / 2, 'x') + "\"}]}]}]}}"},
      {"lists of everything", filled(size, "{\"Files\":[{}],\"Nodes\":[],\"Jobs\":[", "{}", "]}")},
  };
}

/// What a job file may ask for in a few bytes.
std::vector<Payload> artful_jobs() {
  const auto parse = [](const std::string& text) { return "{\"JobHCL\":" + quoted(text) + "}"; };
  const auto meta = [&](const std::string& expression) {
    return parse("job \"j\" {\n meta { x = \"${jsonencode(" + expression + ")}\" }\n}");
  };
  return {
      {"a million groups", parse("job \"j\" {\n dynamic \"group\" {\n for_each = setproduct(range(1000), "
                                 "range(1000))\n labels = [group.key]\n content {}\n }\n}")},
      {"bcrypt", meta("[for i in range(18): bcrypt(\"x\",14)]")},
      {"great numbers", meta("[for i in flatten(setproduct(range(1000), range(100))): 1e1200/3]")},
      {"a counted pattern", meta("[for i in flatten(setproduct(range(1000), range(1))): regex_replace(\"x\", "
                                 "\"((a{1,30}b?){1,30})\", \"\")]")},
      {"forty thousand groups", parse("job \"j\" {\n" + repeat("group \"g\" { count=1 }\n", 40'000) + "}")},
  };
}

const std::vector<std::string>& artful_filters() {
  static const std::vector<std::string> kFilters = {
      repeat("Name == x or ", 900) + "Name == y",
      repeat("Name matches `((a|b|ab){1,20}x?){1,20}$` or ", 15) + "Name == y",
      repeat("not ", 60) + "Name == y",
  };
  return kFilters;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += fmt::format("%{:02x}", static_cast<unsigned char>(c));
  return out;
}

class LoopTest : public ::testing::Test {
 protected:
  LoopTest() {
    for (int i = 1; i <= 20; ++i) world.join(make_node(i, 40'000, 80'000));
    for (int i = 0; i < 200; ++i) world.run(make_job(fmt::format("job-{:03}", i)));
    world.run(model::Job(large_job()));
    async::Watchdog::of(world.loop.context()).on_hold([this](const async::Hold& hold) {
      if (hold.computed >= kAtMost) held.push_back(hold);
    });
  }

  /// As a site may have it: a hundred groups, each with a template of 20 KB.
  static model::Job large_job() {
    model::Job job = make_job("x");
    const model::TaskGroup group = job.groups[0];
    job.groups.clear();
    for (int i = 0; i < 100; ++i) {
      job.groups.push_back(group);
      job.groups.back().name = fmt::format("g{}", i);
      job.groups.back().tasks[0].templates.push_back({.destination = "local/x", .data = std::string(20'000, 'x')});
    }
    return job;
  }

  http::Response send(const std::string& method, const std::string& target, std::string body = {}) {
    auto request = World::request(method, target, std::move(body));
    request.remote = world.peer;
    held.clear();
    const auto response = async::run_watched(world.loop, world.router.handle(std::move(request)));
    for (const auto& hold : held)
      ADD_FAILURE() << method << " " << target.substr(0, 100) << " held the loop for " << human_duration(hold.computed)
                    << " (" << hold.doing << "), answered " << response.status << " " << response.body.substr(0, 200);
    return response;
  }
  /// The path of a route, with names that exist where there are any.
  std::string path_of(const GuardedRoute& route) {
    std::string out;
    for (const auto& part : split(route.pattern, '/')) {
      if (part.empty()) continue;
      const bool named = part.front() == ':' || part.front() == '*';
      const std::string node = route.pattern.starts_with("/v1/node/") ? uuid(1) : "x";
      out += "/" + (named ? node : part);
    }
    return out.empty() ? "/" : out;
  }
  /// Those that run for as long as their client likes, or end the world.
  static bool is_left_out(const GuardedRoute& route) {
    static const std::set<std::string> kStreams = {"/v1/operator/snapshot", "/v1/underway/snapshot/losses"};
    return kStreams.contains(route.pattern);
  }

  /// Registers the job, and waits until its evaluation is done.
  void run(const model::Job& job) {
    const auto registered = send("PUT", "/v1/jobs", World::job_body(job));
    ASSERT_EQ(registered.status, 200) << registered.body;
    const auto id = std::string(std::string_view(json::parse(registered.body).at("EvalID").as_string()));
    while (world.tables().find_evaluation(id)->status == model::EvalStatus::pending)
      send("GET", fmt::format("/v1/evaluation/{}?index={}", id, world.tables().revision()));
  }

  /// As many allocations as a job may have, all of which fit.
  static model::Job many() {
    model::Job job = make_job("many", 50'000);
    model::Task& task = job.groups[0].tasks[0];
    task.resources.cpu = 1;
    task.resources.memory_mb = 10;
    task.logs.max_files = 1;
    task.logs.max_file_size_mb = 1;
    job.groups[0].ephemeral_disk.size_mb = 10;
    return job;
  }

  World world;
  std::vector<async::Hold> held;
};

TEST_F(LoopTest, NoBodyHoldsIt) {
  std::map<std::size_t, std::vector<Payload>> made;
  for (const auto& route : world.routes) {
    if (is_left_out(route)) continue;
    for (const auto& method : split(route.methods, '|')) {
      if (method == "GET") continue;
      const std::size_t size = std::min(route.traits.body_limit, kJobBodyLimit);
      auto& bodies = made[size];
      if (bodies.empty()) bodies = payloads(size);
      for (const auto& payload : bodies) {
        SCOPED_TRACE(payload.name);
        send(method, path_of(route), payload.body);
      }
      break;  // PUT and POST are one
    }
  }
}

TEST_F(LoopTest, NoFilterHoldsIt) {
  for (const auto& route : world.routes) {
    if (!route.methods.starts_with("GET") || is_left_out(route)) continue;
    for (const auto& filter : artful_filters()) {
      SCOPED_TRACE(filter.substr(0, 40));
      send("GET", path_of(route) + "?namespace=*&pretty=true&diffs=true&filter=" + escaped(filter));
    }
  }
}

TEST_F(LoopTest, NoJobFileHoldsIt) {
  for (const auto& job : artful_jobs()) {
    SCOPED_TRACE(job.name);
    const auto response = send("POST", "/v1/jobs/parse", job.body);
    EXPECT_EQ(response.status, 400) << response.body.substr(0, 200);
    EXPECT_NE(response.body.find("job.hcl:"), std::string::npos) << response.body.substr(0, 200);
  }
}

TEST_F(LoopTest, ARefusalIsShort) {
  const auto response =
      send("PUT", "/v1/validate/job", filled(15u << 20, "{\"Job\":{\"ID\":\"x\",\"TaskGroups\":[", "{}", "]}}"));
  EXPECT_EQ(response.status, 413);
  const auto many =
      send("PUT", "/v1/validate/job", "{\"Job\":{\"ID\":\"x\",\"TaskGroups\":[" + repeat("{},", 9'999) + "{}]}}");
  EXPECT_EQ(many.status, 200);
  EXPECT_LT(many.body.size(), 256u << 10);
  EXPECT_NE(many.body.find("more problems than these 100"), std::string::npos);
}

TEST_F(LoopTest, NoPlanHoldsIt) {
  const auto response = send("PUT", "/v1/job/many/plan", World::job_body(many(), ",\"Diff\":true"));
  if (response.status == 200) return;
  EXPECT_EQ(response.status, 413);
  EXPECT_NE(response.body.find("planning the job takes too long"), std::string::npos) << response.body;
}

TEST_F(LoopTest, NoEvaluationHoldsIt) {
  run(many());
  EXPECT_EQ(world.tables().allocations_of_job("default", "many").size(), 50'000u);
  model::Job fewer = many();
  fewer.groups[0].count = 10;
  run(fewer);
  const auto& rows = world.tables().allocations_of_job("default", "many");
  EXPECT_EQ(std::count_if(rows.begin(), rows.end(), [](const auto& row) { return !row->terminal(); }), 10);
}

TEST_F(LoopTest, NoListHoldsIt) {
  run(many());
  for (const std::string target :
       {"/v1/allocations", "/v1/allocations?filter=Name+matches+%60x.*y%60", "/v1/job/many/allocations",
        "/v1/job/many/summary", "/v1/metrics", "/v1/underway/status", "/v1/underway/job/many/explain"})
    EXPECT_EQ(send("GET", target).status, 200) << target;
  for (const std::string context : {"all", "allocs", "jobs"}) {
    const std::string body = "{\"Text\":\"many\",\"Prefix\":\"\",\"Context\":\"" + context + "\"}";
    EXPECT_EQ(send("POST", "/v1/search", body).status, 200) << context;
    EXPECT_EQ(send("POST", "/v1/search/fuzzy", body).status, 200) << context;
  }
  EXPECT_EQ(send("GET", "/v1/node/" + uuid(1) + "/allocations").status, 200);
}

/// Answers of requests that were sent together, in the order in which they came.
awaitable<void> noted(World& world, http::Request request, std::string name, std::vector<std::string>& order) {
  co_await world.router.handle(std::move(request));
  order.push_back(std::move(name));
}

awaitable<void> all_ended(async::TaskGroup& tasks) { co_await tasks.wait(); }

TEST_F(LoopTest, WhoAsksForLittleDoesNotWaitForWhoAsksForMuch) {
  async::TaskGroup tasks(world.loop.executor(), "test");
  std::vector<std::string> order;
  for (int i = 0; i < 6; ++i) {
    auto request = World::request("POST", "/v1/jobs/parse", artful_jobs()[2].body);
    request.remote.address = "192.0.2.1:1";
    tasks.spawn("much", noted(world, std::move(request), "much", order));
  }
  tasks.spawn("little", noted(world, World::request("GET", "/v1/agent/health"), "health", order));
  auto other = World::request("POST", "/v1/jobs/parse", "{\"JobHCL\":\"job \\\"j\\\" {}\"}");
  other.remote.address = "192.0.2.2:1";
  tasks.spawn("another", noted(world, std::move(other), "another's", order));
  async::run_watched(world.loop, all_ended(tasks));
  ASSERT_EQ(order.size(), 8u);
  EXPECT_EQ(order[0], "health");
  const auto place = std::find(order.begin(), order.end(), "another's") - order.begin();
  EXPECT_LE(place, 3) << "one client's work takes one worker, so another's does not wait behind all of it";
}

TEST_F(LoopTest, WhoExplainsLittleDoesNotWaitForWhoExplainsMuch) {
  async::TaskGroup tasks(world.loop.executor(), "test");
  std::vector<std::string> order;
  const auto explain = [&](const std::string& address, const std::string& name) {
    auto request = World::request("GET", "/v1/underway/job/x/explain?nodes");
    request.remote.address = address;
    tasks.spawn(name, noted(world, std::move(request), name, order));
  };
  for (int i = 0; i < 6; ++i) explain("192.0.2.1:1", "much");
  explain("192.0.2.2:1", "another's");
  async::run_watched(world.loop, all_ended(tasks));
  ASSERT_EQ(order.size(), 7u);
  const auto place = std::find(order.begin(), order.end(), "another's") - order.begin();
  EXPECT_LE(place, 2) << "each caller has one that is worked out, and the turns go round";
}

TEST_F(LoopTest, NoJobOfManyGroupsHoldsIt) {
  model::Job job = many();
  job.id = "wide";
  job.groups[0].count = 1;
  const model::TaskGroup group = job.groups[0];
  job.groups.clear();
  for (int i = 0; i < 5'000; ++i) job.groups.emplace_back(group).name = fmt::format("g{}", i);
  run(job);
  ASSERT_EQ(world.tables().allocations_of_job("default", "wide").size(), 5'000u);
  EXPECT_EQ(send("GET", "/v1/underway/slurm/versions").status, 200);
  for (auto& member : job.groups) member.tasks[0].env["VERSION"] = "2";
  EXPECT_EQ(send("PUT", "/v1/job/wide/plan", World::job_body(job)).status, 200);
  run(job);
}

}  // namespace
}  // namespace underway::api::testing
