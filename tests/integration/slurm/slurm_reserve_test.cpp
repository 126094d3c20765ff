// The cluster of examples/elastic, on the real thing: hosts that do not exist yet are reserved, are made in time, are
// for those alone whom the reservation is for, whoever is killed meanwhile, and go when it is over.
#include <gmock/gmock.h>

#include <csignal>
#include <ctime>
#include <sstream>

#include "harness/cluster.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using Names = std::vector<std::string>;

class SlurmReserve : public testing::Test {
 protected:
  SlurmReserve() {
    replace("      most     = 6 #", "      most     = 3 #");
    replace("keep_alive   = \"20s\"", "keep_alive   = \"2s\"");
    before_ = read_text(path());
  }
  std::string path() const { return cluster_.directory() + "/cluster.hcl"; }
  void replace(const std::string& from, const std::string& to) const {
    std::string text = read_text(path());
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write_text(path(), text.replace(at, from.size(), to));
  }
  /// In so many seconds as of now.
  static std::string in(int later) {
    const std::time_t at = std::time(nullptr) + later;
    std::tm utc{};
    ::gmtime_r(&at, &utc);
    char text[32];
    std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
  }
  /// The cluster with this reservation for alice, and no other.
  void declare(const std::string& name, int hosts, const std::string& from, const std::string& until) const {
    write_text(path(), before_);
    replace("      boot_timeout =", "      reservation \"" + name + "\" {\n        hosts = " + std::to_string(hosts) +
                                        "\n        from  = \"" + from + "\"\n        until = \"" + until +
                                        "\"\n        users = [\"alice\"]\n      }\n      boot_timeout =");
    cluster_.up();
  }
  void declare_none() const {
    write_text(path(), before_);
    cluster_.up();
  }

  std::string on_login(const std::string& line) const { return cluster_.on("login", line).out; }
  std::string submit(const std::string& words, const std::string& as = {}) const {
    const auto told = cluster_.on(
        "login", as + " sbatch --parsable --chdir=/tmp --output=/dev/null --time=1 " + words + " --wrap 'sleep 1'");
    EXPECT_EQ(told.exit_code, 0) << told.err;
    return told.out.substr(0, told.out.find('\n'));
  }
  std::string job(const std::string& id) const {
    return on_login("scontrol -o show job " + id +
                    " | sed -E 's/.* JobState=([A-Z]*) .* NodeList=([^ ]*) .*/\\1 \\2/'");
  }
  /// "course c[1-3] alice ACTIVE"
  std::string reservations() const {
    return on_login(
        "scontrol -o show reservation | "
        "sed -En 's/ReservationName=([^ ]*) .* Nodes=([^ ]*) .* Users=([^ ]*) .* State=([^ ]*) .*/\\1 \\2 \\3 \\4/p'");
  }
  Names hosts() const {
    Names out;
    std::istringstream table(cluster_.underway({"host", "list"}).out);
    for (std::string line; std::getline(table, line);) {
      std::istringstream words(line);
      std::string host, of, pool;
      if (words >> host >> of >> pool && pool == "compute") out.push_back(host);
    }
    return out;
  }
  bool all_idle(const std::string& nodes) const {
    return on_login("sinfo -h -N -t idle,reserved -o %N | sort -u | xargs") == nodes + "\n";
  }
  std::string status() const { return cluster_.underway({"elastic", "status"}).out; }
  std::string log() const {
    return status() +
           on_login(
               "date -u; sinfo -N; squeue -o '%A %u %T %r %v %N'; scontrol -o show reservation; "
               "scontrol -o show node") +
           read_text(cluster_.state() + "/agent.log");
  }

  Cluster cluster_{"elastic"};
  std::string before_;
};

TEST_F(SlurmReserve, HostsThatAreNotThereAreReservedAndAreForThoseAloneWhomTheyAreFor) {
  cluster_.up();
  ASSERT_TRUE(eventually(seconds(60), [&] { return all_idle("c1 c2"); })) << log();

  // In less time than its lead, and so at once: a third host is made, and Slurm keeps all three for then.
  const auto from = in(22);
  declare("course", 3, from, in(600));
  ASSERT_TRUE(eventually(seconds(20), [&] { return reservations() == "course c[1-3] alice INACTIVE\n"; })) << log();
  for (const int pid : cluster_.server_agents()) ::kill(pid, SIGKILL);
  ASSERT_TRUE(eventually(seconds(10), [&] { return cluster_.server_agents().empty(); }));
  cluster_.up();
  EXPECT_TRUE(eventually(seconds(20),
                         [&] { return reservations() == "course c[1-3] alice INACTIVE\n" && all_idle("c1 c2 c3"); }))
      << "before it begins: " << log();
  ASSERT_TRUE(eventually(seconds(30), [&] { return reservations() == "course c[1-3] alice ACTIVE\n"; })) << log();
  EXPECT_TRUE(eventually(seconds(10), [&] {
    return status().find("for user alice: 3 of 3 are there") != std::string::npos;
  })) << status();

  const auto others = submit("");
  const auto hers = submit("-N3 --reservation=course", "runuser -u alice --");
  EXPECT_TRUE(eventually(seconds(20), [&] { return job(hers) == "COMPLETED c[1-3]\n"; })) << job(hers) << log();
  EXPECT_TRUE(stays(seconds(4), [&] { return job(others).starts_with("PENDING"); })) << job(others);
  EXPECT_TRUE(all_idle("c1 c2 c3")) << "longer than they are kept otherwise: " << log();

  // It ends sooner than was thought: others may begin, and what is not needed goes.
  declare("course", 3, from, in(2));
  EXPECT_TRUE(eventually(seconds(30), [&] { return job(others).starts_with("COMPLETED"); })) << job(others) << log();
  EXPECT_TRUE(eventually(seconds(30), [&] { return hosts().size() == 2 && reservations().empty(); })) << log();

  declare("lab", 1, in(30), in(600));
  EXPECT_TRUE(eventually(seconds(20), [&] { return reservations().starts_with("lab c"); })) << log();
  declare_none();
  EXPECT_TRUE(eventually(seconds(20), [&] { return reservations().empty(); })) << log();
  EXPECT_THAT(status(), Not(HasSubstr("reservation"))) << status();
}

}  // namespace
}  // namespace underway::harness
