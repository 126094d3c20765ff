#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "agent/config.hpp"
#include "agent/reference.hpp"
#include "base/error.hpp"

namespace underway::agent {
namespace {

const std::filesystem::path kSource = UNDERWAY_SOURCE_DIR;

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Configuration, ReferenceIsWhatTheDescriptionsSay) {
  const auto path = kSource / "docs/reference/agent-configuration.md";
  if (std::getenv("UNDERWAY_ACCEPT") != nullptr) std::ofstream(path) << configuration_reference();
  EXPECT_EQ(read(path), configuration_reference()) << path << " is out of date: run this test with UNDERWAY_ACCEPT=1";
}

TEST(Configuration, ThePackagedFileMakesANodeAndServerWithoutProblems) {
  const Config config = load({kSource / "packaging/agent.hcl"}, {});
  EXPECT_TRUE(problems(config).empty());
  EXPECT_TRUE(config.server.enabled);
  EXPECT_TRUE(config.client.enabled);
  EXPECT_EQ(config.data_dir, kDefaultDataDir);
}

TEST(Configuration, AllProblemsAreNamedAtOnce) {
  Config config;
  config.data_dir = "relative";
  config.ports.http = 70000;
  config.log_level = "loud";
  config.hosts.enabled = true;
  EXPECT_EQ(problems(config).size(), 5U);  // and no role
}

TEST(Configuration, PortsAreNumbersAndRanges) {
  EXPECT_EQ(parse_ports(""), std::vector<std::int64_t>{});
  EXPECT_EQ(parse_ports("22,8000-8002"), (std::vector<std::int64_t>{22, 8000, 8001, 8002}));
  for (const char* wrong : {"x", "1-", "5-3", "0", "70000", "1-2-3"}) EXPECT_THROW(parse_ports(wrong), Error) << wrong;
}

}  // namespace
}  // namespace underway::agent
