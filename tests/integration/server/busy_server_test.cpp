// A server at which somebody throws job files that cost a lot: others are answered, its loop is held by nobody, and
// SIGTERM ends it while it computes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <optional>
#include <regex>

#include "harness/command.hpp"
#include "harness/places.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

const std::string kProgram = binary_dir() + "/bin/underway";

/// Each of them used to take the server for seconds up to minutes.
const std::vector<std::string>& costly_jobs() {
  static const std::vector<std::string> kJobs = {
      "job \"j\" {\n meta { x = \"${jsonencode([for i in range(18): bcrypt(\\\"x\\\",14)])}\" }\n}\n",
      "job \"j\" {\n meta { x = \"${jsonencode([for i in setproduct(range(500), range(500)): 1e1200/3])}\" }\n}\n",
      "job \"j\" {\n dynamic \"group\" {\n for_each = flatten(setproduct(range(1000), range(500)))\n labels = "
      "[group.key]\n content {\n task \"t\" "
      "{}\n }\n }\n}\n",
  };
  return kJobs;
}

class BusyServer : public testing::Test {
 protected:
  void SetUp() override {
    ::mkdir(file("server").c_str(), 0755);
    ASSERT_TRUE(
        eventually(seconds(10), [&] { return read_text(fmt::format("/proc/{}/comm", network_.pid())) == "sleep\n"; }));
    write_text(file("server.hcl"),
               fmt::format("data_dir = \"{}\"\nname = \"mgmt\"\nserver {{\n  enabled = true\n}}\n", file("server")));
    for (std::size_t i = 0; i < costly_jobs().size(); ++i)
      write_text(file(fmt::format("job{}.json", i)), "{\"JobHCL\":" + quoted(costly_jobs()[i]) + "}");
    server_.emplace(Command{
        .argv = {"nsenter", "--net", "--target", std::to_string(network_.pid()), "/bin/sh", "-c",
                 fmt::format("exec {} agent -config {} >>{} 2>&1", kProgram, file("server.hcl"), file("server.log"))},
        .limit = seconds(300)});
    ASSERT_TRUE(eventually(seconds(20), [&] { return underway({"node", "status"}).exit_code == 0; })) << log();
  }
  static std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) out += c == '"' ? "\\\"" : c == '\\' ? "\\\\" : c == '\n' ? "\\n" : std::string(1, c);
    return out + "\"";
  }
  Finished underway(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), kProgram);
    return run({.argv = std::move(arguments), .env = {{"UNDERWAY_STATE", file("server")}}});
  }
  /// One after the other, until it is destroyed.
  Background thrown(std::size_t job) const {
    return Background(
        {.argv = {"/bin/sh", "-c",
                  fmt::format("while :; do {} operator api -X POST -in /v1/jobs/parse <{}; done >/dev/null 2>&1",
                              kProgram, file(fmt::format("job{}.json", job)))},
         .env = {{"UNDERWAY_STATE", file("server")}},
         .limit = seconds(300)});
  }
  /// What the watchdog's lines say was computed at once, in milliseconds.
  std::vector<int> held() const {
    std::vector<int> out;
    const std::string text = log();
    const std::regex line(R"(loop: held for \S+, (\d+)(ms|s|\.\d+s) of it computing)");
    for (auto at = std::sregex_iterator(text.begin(), text.end(), line); at != std::sregex_iterator(); ++at)
      out.push_back(std::stoi((*at)[1]) * ((*at)[2] == "ms" ? 1 : 1000));
    return out;
  }
  std::string log() const { return read_text(file("server.log")); }
  std::string file(const std::string& name) const { return directory_.path() + "/" + name; }

  TemporaryDirectory directory_;
  Background network_{{.argv = {"unshare", "--net", "/bin/sh", "-c", "ip link set lo up && exec sleep infinity"}}};
  std::optional<Background> server_;
};

TEST_F(BusyServer, AnswersOthersAndEndsWhenItIsTold) {
  for (std::size_t i = 0; i < costly_jobs().size(); ++i) {
    const auto refused = run({.argv = {kProgram, "operator", "api", "-X", "POST", "-in", "/v1/jobs/parse"},
                              .env = {{"UNDERWAY_STATE", file("server")}},
                              .input = read_text(file(fmt::format("job{}.json", i)))});
    EXPECT_THAT(refused.out + refused.err, testing::HasSubstr("job.hcl:")) << costly_jobs()[i];
  }
  std::vector<Background> throwers;
  for (std::size_t i = 0; i < costly_jobs().size(); ++i) throwers.push_back(thrown(i));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(underway({"operator", "api", "/v1/agent/health"}).exit_code, 0);
  for (const int computed : held()) EXPECT_LT(computed, 200) << log();
  server_->signal(SIGTERM);
  EXPECT_EQ(server_->wait(seconds(10)), 0) << log();
  server_.reset();
}

}  // namespace
}  // namespace underway::harness
