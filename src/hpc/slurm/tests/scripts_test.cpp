// What the scripts of examples/decoupled make of what Slurm's commands and the database say; these are stubs here, and
// the real ones are tried in tests/integration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/places.hpp"

namespace underway::slurm {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class Scripts : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "underway-scripts-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    fs::create_directories(directory_ / "bin");
    fs::create_directories(directory_ / "underway-ends");
    write("slurm.conf", "ClusterName=my-cluster\nStateSaveLocation=" + directory_.string() + "\n");
    write("log", "");
    // What is cancelled, and entered, is logged.
    for (const auto* name : {"squeue", "sdiag", "sacct", "sacctmgr", "pgrep"}) stub(name, "");
    stub("scancel", "echo scancel \"$@\" >>$D/log");
    write("Slurm.pm",
          "package Slurm; sub new { bless {} } sub complete_job { shift; open(my $o, '>>', \"$ENV{D}/log\"); "
          "print $o \"complete @_\\n\"; return 0 } 1;\n");
    database("", "");
  }
  void TearDown() override { fs::remove_all(directory_); }

  void write(const std::string& name, const std::string& text) const { std::ofstream(directory_ / name) << text; }
  void stub(const std::string& name, const std::string& script) const {
    write("bin/" + name, "#!/bin/sh\n" + script + "\n");
    fs::permissions(directory_ / "bin" / name, fs::perms::owner_all);
  }
  /// It logs what it is told, and gives these rows for a job, and for starts.
  void database(const std::string& row, const std::string& starts) const {
    write("row", row);
    write("starts", starts);
    stub("mariadb",
         "told=$(cat); echo \"$told\" >>$D/log; case \"$told\" in *'time_end, state'*) cat $D/row ;; "
         "*'id_job, time_start'*) cat $D/starts ;; esac");
  }
  static std::string read(const fs::path& path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
  }
  std::string log() const { return read(directory_ / "log"); }

  /// Runs a script of the example as it is, except that what is asked whether it is installed is.
  std::string run(const std::string& interpreter, const std::string& name, const std::string& arguments) {
    auto text = read(source_dir() + "/examples/decoupled/images/files/slurm/" + name);
    for (const std::string program : {"/usr/sbin/mariadbd", "/usr/sbin/slurmctld"}) {
      for (std::size_t at = 0; (at = text.find(program, at)) != text.npos;) text.replace(at, program.size(), "/bin/sh");
    }
    for (const std::string file : {"/run/mysqld/mysqld.sock", "/local/users", "/etc/slurm/slurm.conf"}) {
      const auto here = (directory_ / fs::path(file).filename()).string();
      for (std::size_t at = 0; (at = text.find(file, at)) != text.npos; at += here.size())
        text.replace(at, file.size(), here);
    }
    write(name, text);
    const auto d = directory_.string();
    const auto command = "cd " + d + " && env D=" + d + " PERL5LIB=" + d + " SLURM_CONF=" + d +
                         "/slurm.conf PATH=" + d + "/bin:$PATH UNDERWAY_SINCE=1000 " + interpreter + " ./" + name +
                         " " + arguments + " 2>" + d + "/errors";
    std::string out;
    std::array<char, 4096> part{};
    FILE* said = ::popen(command.c_str(), "r");
    while (const auto n = std::fread(part.data(), 1, part.size(), said)) out.append(part.data(), n);
    status_ = WEXITSTATUS(::pclose(said));
    return out;
  }
  std::string enter_end(const std::string& arguments) { return run("perl", "enter-end", arguments); }
  /// As of then.
  void pending(const std::string& job, const std::string& what, std::time_t called) const {
    write("underway-ends/" + job, what + " " + std::to_string(called) + " 0\n");
  }

  fs::path directory_;
  int status_ = 0;
};

TEST_F(Scripts, NeverCancelAnArrayForOneOfItsTasks) {
  // A task that waits again beside it is another one.
  stub("squeue", "echo '100|100_3|RUNNING|N/A'; echo '101|100_0|PENDING|N/A'");
  enter_end("100 COMPLETED 0 5 9");
  EXPECT_EQ(log(), "complete 100 0\n");
  write("log", "");
  stub("squeue", "echo '101|100_0|RUNNING|N/A'; echo '100|100_[3]|PENDING|N/A'");
  enter_end("100 COMPLETED 0 5 9");
  EXPECT_EQ(log(), "scancel 100_3\n");
  write("log", "");
  stub("squeue", "echo '100|100_[3-9%2]|PENDING|N/A'");
  enter_end("100 CANCELLED 0 5 9");
  EXPECT_EQ(log(), "");
  EXPECT_NE(status_, 0);
  stub("squeue", "echo '100|100|PENDING|N/A'");
  enter_end("100 COMPLETED 0 5 9");
  EXPECT_EQ(log(), "scancel 100\n");
}

TEST_F(Scripts, SetARowRightWithItsSteps) {
  const auto now = std::time(nullptr);
  database("7\t1=1\t1=1\t500\t0\t1\t0\n", "");
  pending("17", "-row COMPLETED 0 500 900", now);
  EXPECT_EQ(enter_end("-settle"), "1 left\n");
  EXPECT_THAT(log(), HasSubstr("from `my-cluster_job_table` where id_job = 17"));
  EXPECT_THAT(log(), HasSubstr("update `my-cluster_job_table` set time_start = 500, time_end = 900, state = 3"));
  EXPECT_THAT(log(), HasSubstr("update `my-cluster_last_ran_table` set"));
  EXPECT_THAT(log(), HasSubstr("set time_end = 900, state = if(state < 3, 3, state) where job_db_inx = 7 and"));
}

TEST_F(Scripts, LeaveTheEndThatSlurmctldMadeOfAStatus) {
  const auto now = std::time(nullptr);
  const auto row = [&](int state, int status) {
    return "7\t1=1\t1=1\t500\t" + std::to_string(now) + "\t" + std::to_string(state) + "\t" + std::to_string(status) +
           "\n";
  };
  database(row(11, 253), "");
  pending("17", "-enter FAILED 253 500 900", now);
  enter_end("-settle");
  EXPECT_THAT(log(), HasSubstr("time_end = 900, state = 11, exit_code = 253"));
  // These two it makes of other ends: enter.
  for (const auto state : {4, 6}) {
    database(row(state, 0), "");
    pending("17", "-enter FAILED 768 500 900", now);
    write("log", "");
    enter_end("-settle");
    EXPECT_THAT(log(), HasSubstr("time_end = 900, state = 5, exit_code = 768")) << state;
  }
}

TEST_F(Scripts, TellWhyTheAccountingCannotBeSetRight) {
  const auto now = std::time(nullptr);
  stub("mariadb", "cat >/dev/null; cat $D/why >&2; exit 1");
  const auto fails = [&](const std::string& why) { write("why", why + "\n"); };
  pending("17", "-row COMPLETED 0 500 900", now);
  pending("18", "-row COMPLETED 0 500 900", now);
  fails("ERROR 1064 (42000) at line 1: You have an error in your SQL syntax");
  EXPECT_THAT(enter_end("-settle"),
              testing::AllOf(HasSubstr("failed the database"), HasSubstr("ERROR 1064"), HasSubstr("2 left\n")));
  EXPECT_THAT(read(directory_ / "errors"), HasSubstr("ERROR 1064"));
  fails("ERROR 2002 (HY000): Can't connect to local server through socket");
  EXPECT_EQ(enter_end("-settle"), "3 left\n") << "it comes: starts are looked for then, too";
  EXPECT_THAT(read(directory_ / "errors"), HasSubstr("ERROR 2002"));
  pending("18", "-row COMPLETED 0 500 900", now - 90000);
  EXPECT_THAT(enter_end("-settle"), HasSubstr("failed the database"));
}

TEST_F(Scripts, MissNoRowThatSlurmctldHasStillToTellOf) {
  const auto now = std::time(nullptr);
  pending("17", "-row COMPLETED 0 500 900", now - 100);
  stub("squeue", "case \"$*\" in *%S*) echo '18|RUNNING|500|n1' ;; esac");
  stub("sdiag", "echo 'DBD Agent queue size: 12'");
  EXPECT_EQ(enter_end("-settle"), "2 left\n");
  stub("sdiag", "echo 'DBD Agent queue size: 0'");
  EXPECT_EQ(enter_end("-settle"), "no row 17\nno row 18\n0 left\n");
}

TEST_F(Scripts, AskForAsManyJobsAsThereAre) {
  database("", "");
  stub("squeue", "case \"$*\" in *%S*) seq -f '%.0f|RUNNING|500|n1' 1000000 1020000 ;; esac");
  enter_end("-settle");
  EXPECT_THAT(log(), HasSubstr(",1020000)")) << read(directory_ / "errors");
}

TEST_F(Scripts, TakeNothingBackOfWhichNobodySaysWhatWasRecorded) {
  const auto revert = [&] { return run("sh", "before-revert", ""); };
  EXPECT_EQ(revert(), "");
  EXPECT_EQ(status_, 0);
  // It has ended, and slurmctld has forgotten it.
  stub("sacct", "echo '900|1010|1020'; echo '900|950|960'; echo '900|Unknown|Unknown'");
  EXPECT_THAT(revert(), HasSubstr("1 Slurm jobs and steps were submitted, started or ended since"));
  EXPECT_EQ(status_, 1);
  stub("sacct", "echo 'sacct: error: Connection refused' >&2; exit 1");
  stub("pgrep", "exit 1");
  EXPECT_EQ(revert(), "") << "a release that did not come up has recorded nothing";
  EXPECT_EQ(status_, 0);
  stub("pgrep", "");
  EXPECT_THAT(revert(), HasSubstr("the accounting does not say"));
  EXPECT_EQ(status_, 1);
  stub("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1");
  EXPECT_EQ(revert(), "");
  EXPECT_EQ(status_, 0);
  stub("squeue", "exit 124");
  EXPECT_THAT(revert(), HasSubstr("the controller does not say"));
  EXPECT_EQ(status_, 1);
}

TEST_F(Scripts, EnterUsersIntoThisCluster) {
  stub("ss", "echo listens");
  write("users", "ann:x:1000\na.n:x:1001\n");
  // "users" and its users are there for another cluster of the database; of this one only "axn" is.
  stub("sacctmgr",
       "case \"$*\" in *add*) echo \"$@\" >>$D/log ;; *'list cluster'*) echo my-cluster ;; *'list associations'*) "
       "case \"$*\" in *cluster=my-cluster*) echo 'users|axn' ;; *) echo 'users|'; echo 'users|ann' ;; esac ;; "
       "*) echo users; echo ann ;; esac");
  run("sh", "accounts", "");
  EXPECT_EQ(log(),
            "-iQ add account users cluster=my-cluster\n-iQ add user ann account=users cluster=my-cluster\n"
            "-iQ add user a.n account=users cluster=my-cluster\n");
}

}  // namespace
}  // namespace underway::slurm
