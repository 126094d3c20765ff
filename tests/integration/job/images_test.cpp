// Capsule images with the real command line and a real agent: from a key to an image that was pushed, pulled and
// revoked, with the agent killed in the middle of a push.
#include <filesystem>
#include <fstream>
#include <random>

#include "harness/machine.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

class ImagesOfACluster : public testing::Test {
 protected:
  void SetUp() override {
    machine_.start();
    run_in("mkdir -p tree/usr/bin && echo '#!/bin/sh' > tree/usr/bin/tool");
    std::ofstream noise(machine_.directory() + "/tree/noise", std::ios::binary);
    std::mt19937_64 engine(7);
    for (std::size_t i = 0; i < (std::size_t{48} << 20) / 8; ++i) {
      const auto value = engine();
      noise.write(reinterpret_cast<const char*>(&value), sizeof value);
    }
    noise.close();
    std::ofstream(machine_.directory() + "/web.hcl") << R"(image "web" {
  version = "1"
  from directory "tree" {}
  service "tool" { command = ["/usr/bin/tool"] }
}
)";
    ok({"capsule", "keys", "generate", "ops"});
    ok({"capsule", "build", "web.hcl", "-o", "web.capsule", "-key", "ops.key"});
  }
  /// In the test's directory.
  Finished underway(std::vector<std::string> arguments) const {
    Command command = machine_.command(std::move(arguments));
    command.directory = machine_.directory();
    return run(command);
  }
  Finished ok(std::vector<std::string> arguments) const {
    auto finished = underway(std::move(arguments));
    EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    return finished;
  }
  void run_in(const std::string& line) const {
    const auto finished = shell("cd " + machine_.directory() + " && " + line);
    ASSERT_EQ(finished.exit_code, 0) << finished.err;
  }
  /// The id in "Id = …".
  std::string key_id() const {
    const std::string text = read_text(machine_.directory() + "/ops.pub");
    const auto at = text.find("\"ID\": \"") + 7;
    return text.substr(at, text.find('"', at) - at);
  }

  Machine machine_;
};

TEST_F(ImagesOfACluster, ArePushedPulledAndRevoked) {
  EXPECT_NE(underway({"capsule", "push", "web.capsule"}).err.find("no key is trusted at all"), std::string::npos);
  ok({"capsule", "keys", "trust", "ops.pub"});
  ok({"capsule", "push", "web.capsule"});
  EXPECT_NE(ok({"image", "list"}).out.find("web"), std::string::npos);
  EXPECT_NE(ok({"image", "info", "web:1"}).out.find("tool"), std::string::npos);
  ok({"capsule", "pull", "web", "-o", "copy.capsule"});
  run_in("cmp web.capsule copy.capsule");
  ok({"capsule", "verify", "copy.capsule", "-trust", "ops.pub"});
  const auto keys = machine_.state() + "/images/keys";
  EXPECT_TRUE(eventually(seconds(30), [&] {
    return std::filesystem::exists(keys) && !std::filesystem::is_empty(keys);
  })) << "the node learns whom the cluster trusts";
  ok({"capsule", "keys", "revoke", key_id(), "-reason", "laptop stolen"});
  EXPECT_NE(underway({"capsule", "push", "web.capsule"}).err.find("laptop stolen"), std::string::npos);
  EXPECT_NE(underway({"capsule", "pull", "web"}).err.find("laptop stolen"), std::string::npos);
  EXPECT_NE(ok({"capsule", "keys", "list"}).out.find("laptop stolen"), std::string::npos);
  ok({"image", "remove", "web"});
}

TEST_F(ImagesOfACluster, ArePushedThoughTheAgentDiesInTheMiddle) {
  ok({"capsule", "keys", "trust", "ops.pub"});
  const auto incoming = machine_.state() + "/server/images/incoming";
  const auto arrived = [&]() -> std::uintmax_t {
    std::uintmax_t bytes = 0;
    for (const auto& part : std::filesystem::directory_iterator(incoming)) bytes += part.file_size();
    return bytes;
  };
  {
    Command push = machine_.command({"capsule", "push", "web.capsule"});
    push.directory = machine_.directory();
    const Background pushing(push);
    ASSERT_TRUE(eventually(seconds(30), [&] { return arrived() > (8U << 20); }));
    machine_.kill_agent();
  }
  const auto before = arrived();
  EXPECT_GT(before, 8U << 20);
  machine_.start();
  EXPECT_EQ(ok({"image", "list"}).out.find("web"), std::string::npos) << "nothing is shown that is not whole";
  ok({"capsule", "push", "web.capsule"});
  EXPECT_NE(ok({"image", "list"}).out.find("web"), std::string::npos);
  EXPECT_EQ(arrived(), 0U);
}

}  // namespace
}  // namespace underway::harness
