// What many small requests, and a few hostile large ones, can take from a server and a node: nothing that others need.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <regex>

#include "harness/capsule/two_agents.hpp"
#include "harness/places.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

const std::string kProgram = binary_dir() + "/bin/underway";

class Floods : public testing::Test {
 protected:
  Finished in_network(const std::string& line) const {
    Command command{.argv = agents.in_network(), .limit = seconds(180)};
    for (const auto& word : {std::string("/bin/sh"), std::string("-c"), line}) command.argv.push_back(word);
    return run(command);
  }
  /// One request as root, its body from a file.
  Finished put(const std::string& path, const std::string& body_file) const {
    return shell(fmt::format("UNDERWAY_STATE={} {} operator api -X PUT -in '{}' <{}", agents.file("server"), kProgram,
                             path, body_file),
                 seconds(180));
  }
  /// What the watchdog's lines say was computed at once, in milliseconds.
  std::vector<int> held() const {
    std::vector<int> out;
    const std::string text = agents.log("server");
    const std::regex line(R"(loop: held for \S+, (\d+)(ms|s|\.\d+s) of it computing)");
    for (auto at = std::sregex_iterator(text.begin(), text.end(), line); at != std::sregex_iterator(); ++at)
      out.push_back(std::stoi((*at)[1]) * ((*at)[2] == "ms" ? 1 : 1000));
    return out;
  }
  void expect_served() const {
    for (int i = 0; i < 10; ++i) EXPECT_EQ(agents.underway({"operator", "api", "/v1/agent/health"}).exit_code, 0);
    EXPECT_THAT(agents.underway({"node", "status"}).out, HasSubstr(" ready"));
    for (const int computed : held()) EXPECT_LT(computed, 200) << agents.log("server");
  }
  std::size_t resident_mib() const {
    const auto line = shell(fmt::format("grep VmRSS /proc/{}/status | tr -dc 0-9", agents.server().pid())).out;
    return std::stoul(line) / 1024;
  }

  TwoAgents agents;
};

TEST_F(Floods, JoinsOfStrangersAndOfAUsedTokenBringNoNodeAndDelayNobody) {
  agents.start();
  const auto used = read_text(agents.file("token"));
  ASSERT_EQ(shell("openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x -keyout /dev/null "
                  "-out " +
                  agents.file("csr") + " 2>/dev/null")
                .exit_code,
            0);
  const std::string csr = shell("awk '{printf \"%s\\\\n\", $0}' " + agents.file("csr")).out;
  const auto body = [&](const std::string& token) {
    return fmt::format(
        R"({{"Token":"{}","NodeID":"11111111-2222-3333-4444-555555555555","Secret":"s","Name":"x","Request":"{}"}})",
        token, csr);
  };
  const std::string trimmed = used.substr(0, used.find_last_not_of(" \n") + 1);
  write_text(agents.file("used.json"), body(trimmed));
  auto wrong = trimmed;
  auto& letter = wrong[wrong.rfind('.') - 1];  // of its secret
  letter = letter == 'a' ? 'b' : 'a';
  write_text(agents.file("wrong.json"), body(wrong));
  const std::string url = "https://127.0.0.1:4646/v1/underway/node/join";
  for (const char* wrong_token : {"used", "wrong"}) {
    const auto answer = in_network(
        fmt::format("curl -k -s -X PUT -w ' %{{http_code}}' --data-binary @{}.json {}", agents.file(wrong_token), url));
    EXPECT_THAT(answer.out, HasSubstr(" 403")) << wrong_token << answer.err;
  }
  // 4,000 in four streams of 25 connections each.
  Command flood{.argv = agents.in_network(), .limit = seconds(180)};
  flood.argv.insert(
      flood.argv.end(),
      {"/bin/sh", "-c",
       fmt::format("for i in 1 2 3 4; do curl -k -s -Z --parallel-max 25 -X PUT -o /dev/null --data-binary "
                   "@{} '{}?[1-1000]' & done; wait",
                   agents.file("wrong.json"), url)});
  Background flooding(flood);
  expect_served();
  EXPECT_NE(flooding.wait(seconds(120)), -1) << "they are all answered";
  expect_served();
  EXPECT_THAT(agents.underway({"node", "status"}).out, Not(HasSubstr("11111111"))) << "nobody joined by it";
  EXPECT_LT(agents.log("server").size(), 200'000U) << "a refusal is not a line each";
}

TEST_F(Floods, SessionsEndWithWhoBeganThem) {
  agents.start();
  ASSERT_EQ(agents.run_sleeper("web").exit_code, 0) << agents.log("server") << agents.log("node");
  {
    std::vector<Background> sessions;
    for (int i = 0; i < 30; ++i)
      sessions.emplace_back(
          Command{.argv = {kProgram, "alloc", "exec", "-i=false", "-t=false", "-job", "web", "/bin/sleep", "7654"},
                  .env = {{"UNDERWAY_STATE", agents.file("server")}},
                  .limit = seconds(120)});
    EXPECT_TRUE(eventually(seconds(60), [] { return std::stoi(shell("pgrep -fc '^/bin/sleep 7654'").out) >= 30; }));
    expect_served();
  }
  EXPECT_TRUE(eventually(seconds(30), [] { return std::stoi(shell("pgrep -fc '^/bin/sleep 7654'").out) == 0; }))
      << "what was run for a client goes on without him";
  EXPECT_EQ(agents.underway({"alloc", "exec", "-i=false", "-t=false", "-job", "web", "/bin/true"}).exit_code, 0);
}

TEST_F(Floods, HostileUploadsChangeNothingAndLeaveNothing) {
  agents.start();
  ASSERT_EQ(agents.underway({"var", "put", "site/kept", "value=x"}).exit_code, 0);
  const auto snapshot = agents.file("good.snap");
  ASSERT_EQ(agents.underway({"operator", "snapshot", "save", snapshot}).exit_code, 0);
  ASSERT_EQ(shell("cd " + agents.file("") + " && head -c 1M /dev/urandom > random && head -c 400 good.snap > cut && " +
                  "cp good.snap flipped && printf 'XXXX' | dd of=flipped bs=1 seek=300 conv=notrunc 2>/dev/null && " +
                  "head -c 2G /dev/zero | gzip -1 > zeros && mkdir t && truncate -s 1G t/state.bin && " +
                  "cp t/state.bin t/meta.json && tar czf bomb -C t meta.json state.bin && rm -r t && : > nothing")
                .exit_code,
            0);
  const auto before = resident_mib();
  for (const char* path : {"/v1/operator/snapshot", "/v1/underway/snapshot/losses", "/v1/underway/files/piece"}) {
    for (const char* body : {"random", "cut", "flipped", "zeros", "bomb", "nothing"}) {
      if (std::string(path) == "/v1/underway/files/piece" && std::string(body) != "zeros") continue;
      const auto answer = put(path, agents.file(body));
      EXPECT_NE(answer.exit_code, 0) << path << " " << body << answer.out;
      EXPECT_THAT(answer.out + answer.err, Not(HasSubstr("500"))) << path << " " << body;
    }
  }
  // A part may be anything; together they are the image that was said, or nothing.
  const std::string image = "/v1/underway/incoming-image/" + std::string(64, 'a');
  EXPECT_NE(put(image + "/../../x", agents.file("random")).exit_code, 0);
  put(image, agents.file("random"));
  EXPECT_NE(put(image + "/finish", agents.file("nothing")).exit_code, 0);
  EXPECT_LT(resident_mib(), before + 128);
  EXPECT_EQ(shell("find " + agents.file("server/server/snapshots") + " -type f").out, "");
  EXPECT_EQ(agents.underway({"var", "get", "site/kept"}).exit_code, 0);
  expect_served();
  EXPECT_EQ(agents.underway({"operator", "snapshot", "restore", "-yes", snapshot}).exit_code, 0);
}

}  // namespace
}  // namespace underway::harness
