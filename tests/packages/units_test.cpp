// The units of systemd: that it understands them, and how much it takes from the agent. What is left to the agent of a
// node, and why, stands in the unit.
#include <gtest/gtest.h>

#include <filesystem>

#include "harness/command.hpp"
#include "harness/places.hpp"

namespace underway::harness {
namespace {

const std::string kUnits = source_dir() + "/packaging/";

class Units : public testing::Test {
 protected:
  void SetUp() override {
    if (shell("command -v systemd-analyze").exit_code != 0) GTEST_SKIP() << "systemd-analyze is not installed";
    for (const char* unit : {"underway.service", "underway-server.service"}) {
      // The program need not be installed for its unit to be read.
      std::string text = read_text(kUnits + unit);
      const std::string program = "/usr/bin/underway ";
      text.replace(text.find(program), program.size(), "/bin/true ");
      write_text(directory_.path() + "/" + unit, text);
    }
  }
  TemporaryDirectory directory_;
};

TEST_F(Units, AreUnderstood) {
  for (const char* unit : {"underway.service", "underway-server.service"}) {
    SCOPED_TRACE(unit);
    const auto said = shell("cd " + directory_.path() + " && systemd-analyze verify --man=no ./" + unit);
    EXPECT_EQ(said.exit_code, 0) << said.err;
    EXPECT_EQ(said.err.find(unit), std::string::npos) << said.err;
  }
}

TEST_F(Units, LeaveAServerNothingButItsStateAndItsSockets) {
  // 10 is everything. What is left of it is the network, which a server is for.
  const auto said =
      shell("systemd-analyze security --offline=yes --threshold=20 " + directory_.path() + "/underway-server.service");
  EXPECT_EQ(said.exit_code, 0) << said.out << said.err;
}

// A node's tasks are what the agent has started: what the unit forbids the one is forbidden the others, slurmd,
// capsules and users' batch jobs, and what its mounts hide is hidden from them.
TEST_F(Units, TakeNothingFromTheTasksOfANode) {
  const std::string text = "\n" + read_text(kUnits + "underway.service");
  for (const char* key : {"NoNewPrivileges",
                          "CapabilityBoundingSet",
                          "SystemCallFilter",
                          "SystemCallArchitectures",
                          "RestrictAddressFamilies",
                          "RestrictNamespaces",
                          "RestrictSUIDSGID",
                          "RestrictRealtime",
                          "MemoryDenyWriteExecute",
                          "LockPersonality",
                          "ProtectSystem",
                          "ProtectHome",
                          "PrivateTmp",
                          "PrivateDevices",
                          "ProtectKernelTunables",
                          "ProtectKernelModules",
                          "ProtectControlGroups",
                          "ProtectClock",
                          "ProtectHostname",
                          "ProtectProc",
                          "UMask",
                          "LimitCORE",
                          "PrivateMounts"})
    EXPECT_EQ(text.find("\n" + std::string(key) + "="), std::string::npos) << key;
  EXPECT_NE(text.find("\nKillMode=process\n"), std::string::npos);
}

}  // namespace
}  // namespace underway::harness
