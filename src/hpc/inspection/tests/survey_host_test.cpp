#include "inspection/survey_host.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "os/file.hpp"

namespace underway::inspection {
namespace {

namespace fs = std::filesystem;

class SurveyHost : public testing::Test {
 protected:
  SurveyHost() {
    std::string pattern = (fs::temp_directory_path() / "survey-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~SurveyHost() override { fs::remove_all(root_); }

  void put(const std::string& path, std::string_view text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    os::write_file(root_ + path, text, 0644, {}, os::Durability::cached);
  }
  void enable(const std::string& unit) {
    const std::string wants = root_ + "/etc/systemd/system/multi-user.target.wants";
    fs::create_directories(wants);
    fs::create_symlink("/lib/systemd/system/" + unit, wants + "/" + unit);
  }
  HostSurvey survey() { return survey_host({.root = root_}, TimePoint{std::chrono::seconds(1'700'000'000)}); }

  std::string root_;
};

TEST_F(SurveyHost, RootOfAMachineThatIsOffTellsItsServicesAndWhatTheyNeed) {
  put("/etc/hostname", "sms\n");
  put("/etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
  put("/etc/passwd", "root:x:0:0::/root:/bin/sh\n");
  put("/lib/systemd/system/slurmctld.service",
      "[Unit]\nAfter=munge.service\n[Service]\nExecStart=/usr/sbin/slurmctld -D -s\n");
  put("/lib/systemd/system/munge.service", "[Service]\nUser=munge\nExecStart=/usr/sbin/munged\n");
  put("/lib/systemd/system/off.service", "[Service]\nExecStart=/usr/sbin/off\n");
  enable("slurmctld.service");
  enable("munge.service");
  put("/etc/slurm/slurm.conf", "SlurmctldHost=sms\nAuthType=auth/munge\nStateSaveLocation=/var/spool/slurmctld\n");
  put("/etc/exports", "/opt 10.0.0.0/8(ro)\n");
  put("/etc/exports.d/home.exports", "/home *(rw)\n");
  put("/etc/ganesha/ganesha.conf", "%include exports/scratch.conf\n%include /etc/ganesha/ganesha.conf\n");
  put("/etc/ganesha/exports/scratch.conf", "EXPORT { Path = /scratch; Access_Type = RW; }\n");
  put("/etc/sysctl.d/99-router.conf", "net.ipv4.ip_forward=1\n");
  put("/etc/nftables.conf", "table ip nat { chain p { oifname \"pub\" masquerade\n } }\n");
  put("/etc/cron.d/sync", "*/5 * * * * root /usr/bin/sync-files\n");
  put("/var/lib/dpkg/info/slurmctld.list", "/.\n/usr/sbin/slurmctld\n");
  put("/var/lib/dpkg/info/slurmctld.conffiles", "/etc/default/slurmctld\n/etc/init.d/slurmctld\n");
  put("/var/lib/dpkg/status", "Package: slurmctld\nStatus: install ok installed\nVersion: 22.05.8-4\n");

  const HostSurvey survey = this->survey();
  EXPECT_EQ(survey.host, "sms");
  EXPECT_EQ(survey.system, "Debian GNU/Linux 12 (bookworm)");
  ASSERT_EQ(survey.programs.size(), 2U);
  const Program* slurmctld = survey.find_program("slurmctld");
  ASSERT_NE(slurmctld, nullptr);
  EXPECT_EQ(slurmctld->package, "slurmctld");
  EXPECT_EQ(slurmctld->version, "22.05.8-4");
  EXPECT_THAT(slurmctld->configuration, testing::ElementsAre("/etc/default/slurmctld"));
  EXPECT_THAT(slurmctld->state_directories, testing::ElementsAre("/var/spool/slurmctld"));
  ASSERT_EQ(slurmctld->needs.size(), 2U);
  EXPECT_EQ(slurmctld->needs[0].program, "munged");
  EXPECT_EQ(slurmctld->needs[0].how, "configuration");
  EXPECT_EQ(slurmctld->needs[1].detail, "After=munge.service");
  EXPECT_TRUE(survey.forwards);
  EXPECT_EQ(survey.nat_rules.size(), 1U);
  ASSERT_EQ(survey.exports.size(), 3U);
  EXPECT_EQ(survey.exports[1].source, "/etc/exports.d/home.exports");
  EXPECT_EQ(survey.exports[2].path, "/scratch");
  EXPECT_EQ(survey.timed_jobs.size(), 1U);
  EXPECT_THAT(survey.hints, testing::Contains("slurm: /etc/slurm/slurm.conf"));
}

TEST_F(SurveyHost, AlternativesAreFollowedToTheirPackage) {
  put("/lib/systemd/system/slurmctld.service", "[Service]\nExecStart=/usr/sbin/slurmctld -D\n");
  enable("slurmctld.service");
  put("/usr/sbin/slurmctld-wlm", "");
  fs::create_directories(root_ + "/etc/alternatives");
  fs::create_symlink("/usr/sbin/slurmctld-wlm", root_ + "/etc/alternatives/slurmctld");
  fs::create_symlink("/etc/alternatives/slurmctld", root_ + "/usr/sbin/slurmctld");
  put("/var/lib/dpkg/info/slurmctld.list", "/usr/sbin/slurmctld-wlm\n");
  const HostSurvey survey = this->survey();
  ASSERT_EQ(survey.programs.size(), 1U);
  EXPECT_EQ(survey.programs[0].name, "slurmctld");
  EXPECT_EQ(survey.programs[0].package, "slurmctld");
}

TEST_F(SurveyHost, LinksInARootNeverLeadOutOfIt) {
  put("/etc/hostname", "sms\n");
  fs::create_symlink("/etc/passwd", root_ + "/etc/exports");
  fs::create_symlink("../../../../../../../../../etc/hostname", root_ + "/etc/crontab");
  const HostSurvey survey = this->survey();
  EXPECT_TRUE(survey.exports.empty());
  EXPECT_EQ(survey.host, "sms");
}

TEST_F(SurveyHost, ValueSurvivesItsJson) {
  put("/lib/systemd/system/a.service", "[Service]\nExecStart=/usr/sbin/a --password=x\n");
  enable("a.service");
  const HostSurvey survey = this->survey();
  const std::string text = json::encode(survey);
  EXPECT_EQ(text.find("=x"), std::string::npos);
  EXPECT_TRUE(describe::equal(parse_host_survey(text), survey));
  EXPECT_THROW(parse_host_survey("{\"Programs\": 3}"), Error);
}

TEST_F(SurveyHost, RunningMachineShowsWhoListensAndWhoIsConnected) {
  const std::string path = root_ + "/socket";
  const int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(server, 1), 0);
  const HostSurvey survey = survey_host({}, TimePoint{});
  ::close(server);
  const auto listens = [&](const Program& program) {
    return std::any_of(program.listens.begin(), program.listens.end(),
                       [&](const Listener& listener) { return listener.address == path; });
  };
  const auto found = std::find_if(survey.programs.begin(), survey.programs.end(), listens);
  ASSERT_NE(found, survey.programs.end());
  EXPECT_THAT(found->pids, testing::Contains(::getpid()));
}

TEST_F(SurveyHost, MissingProcessIsSaid) { EXPECT_THROW(survey_host({.process = 999'999'999}, TimePoint{}), Error); }

}  // namespace
}  // namespace underway::inspection
