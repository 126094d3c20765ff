// The key that signs manifests is rotated while nodes come and go and the server dies: nobody is lost, and what the old
// key signed is nothing any more.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "harness/files_site.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
namespace fs = std::filesystem;

class FilesKeys : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(site_.start_server()) << read_text(site_.file("server.log"));
    for (int i = 0; i < 2; ++i) site_.start_node(i);
    ASSERT_TRUE(eventually(seconds(30), [&] { return site_.are_ready(2); })) << read_text(site_.file("n0.log"));
    add("one");
    ASSERT_TRUE(has(0, "one"));
    ASSERT_TRUE(has(1, "one"));
    // Who has not reported is not waited for.
    ASSERT_TRUE(eventually(seconds(20), [&] { return site_.underway({"file", "status"}).exit_code == 0; }));
  }
  void add(const std::string& text) {
    write_text(site_.file("master"), text);
    const auto added = site_.underway({"file", "add", site_.site() + "/motd", site_.file("master")});
    EXPECT_EQ(added.exit_code, 0) << added.err;
  }
  bool has(int node, const std::string& text) const {
    return eventually(seconds(20), [&] { return read_text(site_.seen(node, "/motd")) == text; });
  }
  Finished rotate(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"file", "key", "rotate"};
    words.insert(words.end(), more.begin(), more.end());
    return site_.underway(std::move(words));
  }
  std::string info() const { return site_.underway({"file", "key", "info"}).out; }
  bool is_behind(const std::string& node) const {
    const auto said = info();
    const auto line = said.find("Off, and behind");
    return line != std::string::npos && said.find(node, line) != std::string::npos;
  }
  std::string trusted_by(int node) const {
    return read_text(site_.file(fmt::format("n{}/client/files/server.key", node)));
  }
  bool takes_steps(int node, int serial) const {
    return eventually(
        seconds(20), [&] { return trusted_by(node).find(fmt::format("\"Serial\":{},", serial)) != std::string::npos; });
  }
  void kill_server() {
    site_.server()->signal(SIGKILL);
    site_.server().reset();
  }
  void restart_server() { ASSERT_TRUE(site_.start_server()) << read_text(site_.file("server.log")); }

  FilesSite site_;
};

TEST_F(FilesKeys, AnotherKeySignsWhateverIsKilledAndNobodyIsLost) {
  // A node that is stopped holds the rotation up as long as it counts as alive: the server dies in the middle of it.
  site_.node(1).signal(SIGSTOP);
  const auto begun = rotate();
  ASSERT_EQ(begun.exit_code, 0) << begun.err;
  EXPECT_NE(begun.out.find("Next key"), std::string::npos) << begun.out;
  EXPECT_TRUE(takes_steps(0, 1)) << "beside the old one: " << trusted_by(0);
  kill_server();
  restart_server();
  EXPECT_TRUE(takes_steps(0, 1));
  // The node is off then, and is not waited for.
  site_.kill_node(1);
  EXPECT_TRUE(takes_steps(0, 2)) << info() << read_text(site_.file("server.log"));
  EXPECT_TRUE(eventually(seconds(20), [&] { return is_behind("n1"); })) << info();
  EXPECT_EQ(info().find("Next key"), std::string::npos) << info();
  add("two");
  EXPECT_TRUE(has(0, "two")) << site_.underway({"file", "status"}).out;
  kill_server();
  restart_server();

  // It comes back, takes both steps, and what has changed meanwhile.
  EXPECT_EQ(read_text(site_.seen(1, "/motd")), "one");
  site_.start_node(1);
  EXPECT_TRUE(takes_steps(1, 2)) << trusted_by(1);
  EXPECT_TRUE(has(1, "two")) << site_.underway({"file", "status"}).out;
  EXPECT_EQ(trusted_by(0), trusted_by(1));

  // A copy of the server with the old key is nobody once the key was withdrawn by force.
  kill_server();
  ASSERT_EQ(shell("cp -a " + site_.place() + " " + site_.file("copy")).exit_code, 0);
  restart_server();
  ASSERT_TRUE(eventually(seconds(30), [&] { return site_.are_ready(2); }));
  const auto forced = rotate({"-force", "-yes"});
  ASSERT_EQ(forced.exit_code, 0) << forced.err;
  EXPECT_EQ(forced.out.find("Next key"), std::string::npos) << forced.out;
  for (int node = 0; node < 2; ++node) EXPECT_TRUE(takes_steps(node, 4)) << trusted_by(node);
  add("three");
  for (int node = 0; node < 2; ++node) EXPECT_TRUE(has(node, "three"));
  kill_server();
  const std::string genuine = site_.place();
  site_.place() = site_.file("copy");
  restart_server();
  add("forged");
  EXPECT_TRUE(eventually(seconds(20), [&] {
    const auto said = site_.underway({"file", "status"}).out;
    return said.find("signed by a key that was withdrawn") != std::string::npos;
  })) << site_.underway({"file", "status"}).out;
  for (int node = 0; node < 2; ++node) EXPECT_EQ(read_text(site_.seen(node, "/motd")), "three");

  // The genuine one is believed as before.
  kill_server();
  site_.place() = genuine;
  restart_server();
  add("four");
  for (int node = 0; node < 2; ++node) EXPECT_TRUE(has(node, "four")) << site_.underway({"file", "status"}).out;
  const auto audit = site_.underway({"operator", "audit"});
  EXPECT_NE(audit.out.find("/v1/underway/files/key/rotate"), std::string::npos) << audit.out << audit.err;
}

}  // namespace
}  // namespace underway::harness
