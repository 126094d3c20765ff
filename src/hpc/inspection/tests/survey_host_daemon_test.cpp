#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "inspection/survey_host.hpp"
#include "os/fd.hpp"
#include "os/process/process.hpp"

namespace underway::inspection {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// A connection to a unix socket that is about to be made; nothing within ten seconds.
std::optional<os::Fd> connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  for (int tries = 0; tries < 1000; ++tries) {
    os::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
    std::this_thread::sleep_for(10ms);
  }
  return std::nullopt;
}

TEST(SurveyHostRoot, ClientOfMungeIsFoundByItsConnection) {
  if (!fs::exists("/usr/sbin/munged")) GTEST_SKIP() << "munged is not installed";
  std::string pattern = (fs::temp_directory_path() / "munge-XXXXXX").string();
  const std::string directory = ::mkdtemp(pattern.data());
  std::ofstream(directory + "/key") << std::string(64, 'k');
  fs::permissions(directory + "/key", fs::perms::owner_read | fs::perms::owner_write);
  os::SpawnSpec spec;
  spec.argv = {"/usr/sbin/munged",
               "--foreground",
               "--force",
               "--num-threads=1",
               "--key-file=" + directory + "/key",
               "--socket=" + directory + "/socket",
               "--pid-file=" + directory + "/pid",
               "--seed-file=" + directory + "/seed",
               "--log-file=" + directory + "/log"};
  os::Child munged = os::spawn(spec);
  const auto connection = connect_to(directory + "/socket");
  ASSERT_TRUE(connection) << "munged does not listen";

  const HostSurvey survey = survey_host({}, TimePoint{});
  const auto of_pid = [&](pid_t pid) {
    return std::find_if(survey.programs.begin(), survey.programs.end(), [&](const Program& program) {
      return std::find(program.pids.begin(), program.pids.end(), pid) != program.pids.end();
    });
  };
  const auto server = of_pid(munged.pid());
  const auto client = of_pid(::getpid());
  ASSERT_NE(server, survey.programs.end());
  ASSERT_NE(client, survey.programs.end());
  EXPECT_EQ(server->name, "munged");
  EXPECT_EQ(server->package, "munge");
  const bool needs = std::any_of(client->needs.begin(), client->needs.end(), [&](const Need& need) {
    return need.program == "munged" && need.how == "connection" && need.detail == directory + "/socket";
  });
  EXPECT_TRUE(needs);
  fs::remove_all(directory);
}

TEST(SurveyHostRoot, OnlyProcessesOfTheHostAreSeen) {
  os::SpawnSpec spec;
  spec.argv = {"/usr/bin/unshare", "--net", "/bin/sleep", "60"};
  os::Child alone = os::spawn(spec);
  // unshare(1) becomes sleep once it is in its own network.
  const std::string executable = fmt::format("/proc/{}/comm", alone.pid());
  for (int tries = 0; tries < 1000; ++tries) {
    std::ifstream in(executable);
    std::string name;
    if (in >> name && name == "sleep") break;
    std::this_thread::sleep_for(10ms);
  }
  const HostSurvey survey = survey_host({.process = alone.pid()}, TimePoint{});
  for (const auto& program : survey.programs) EXPECT_TRUE(program.pids.empty()) << program.name;
  ASSERT_EQ(survey.interfaces.size(), 1U);
  EXPECT_EQ(survey.interfaces[0].name, "lo");
}

}  // namespace
}  // namespace underway::inspection
