// What of ours reads what Slurm prints, or tells Slurm something, and the test that tries it with real daemons. This
// one needs none: it reads the sources.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <map>
#include <sstream>

#include "harness/command.hpp"
#include "harness/places.hpp"

namespace underway::harness {
namespace {

using testing::HasSubstr;

// What has Slurm say something, and how it is tried: a name alone is that of a test in slurm_versions_test.cpp, or in
// slurm_examples_test.cpp. A file that is not here is new: try what it reads, too.
TEST(SlurmReaders, AreAllKnown) {
  const std::map<std::string, std::string> known = {
      {"examples/decoupled/images/files/slurm/accounts", "integration.slurm_limits, decoupled"},
      {"examples/decoupled/images/files/slurm/after-start", "says nothing: scontrol reconfigure"},
      {"examples/decoupled/images/files/slurm/before-revert", "integration.slurm_upgrade"},
      {"examples/decoupled/images/files/slurm/enter-end",
       "HaveStartsEnteredWithWhatWasGiven; of ends: integration.decoupled_loss, debian13_decoupled_loss"},
      {"examples/decoupled/images/files/slurm/reach-nodes", "AnswerWhatTheExamplesAsk"},
      {"examples/decoupled/images/slurm-services.hcl", "AnswerWhatTheExamplesAsk"},
      {"examples/decoupled/nodes/health", "integration.slurm_limits"},
      {"examples/decoupled/slurmd.hcl", "AnswerWhatTheExamplesAsk"},
      {"examples/elastic/slurmctld.hcl", "says nothing: scontrol reconfigure"},
      {"examples/elastic/slurmd.hcl", "integration.slurm_growth"},
      {"examples/machines/epilog", "integration.slurm_machines"},
      {"examples/machines/prolog", "integration.slurm_machines"},
      {"examples/machines/slurmctld.hcl", "says nothing: scontrol reconfigure"},
      {"examples/machines/slurmd.hcl", "integration.slurm_machines"},
      {"examples/urgent/slurmctld.hcl", "says nothing: scontrol reconfigure"},
      {"examples/urgent/slurmd.hcl", "integration.slurm_urgent"},
      {"examples/slurm/node-health", "integration.slurm_limits"},
      {"examples/slurm/slurmctld.hcl", "says nothing: scontrol reconfigure"},
      {"examples/slurm/slurmd.hcl", "AnswerWhatTheExamplesAsk"},
      {"examples/slurm/slurmdbd.hcl", "says nothing: sacctmgr -i add"},
      {"src/hpc/growth/entitled.cpp", "says nothing: scontrol update partition=; integration.slurm_urgent"},
      {"src/hpc/growth/forecast/trial.cpp", "TellHowJobsEnded"},
      {"src/hpc/growth/reserve/bookings.cpp", "integration.slurm_reserve"},
      {"src/hpc/slurm/elastic/reservation.cpp", "HaveReservationsAsTheyAreDeclared"},
      {"src/hpc/slurm/elastic/difference.cpp", "integration.slurm_pools"},
      {"src/hpc/slurm/elastic/job_queue.cpp", "TellOfTheQueueAsGrowthSeesIt"},
      {"src/hpc/slurm/sleep/job_sleep.cpp", "integration.slurm_sleep"},
      {"src/hpc/slurm/sleep/node_sleep.cpp", "integration.slurm_node_sleep"},
      {"src/hpc/slurm/elastic/membership.cpp", "for people"},
      {"src/hpc/slurm/elastic/members.cpp", "integration.slurm_pools"},
      {"src/hpc/slurm/elastic/node_record.cpp", "integration.slurm_pools"},
      {"src/hpc/slurm/elastic/redo.cpp", "integration.slurm_redo"},
      {"src/hpc/slurm/reconcile/ends.cpp", "TellHowJobsEnded"},
      {"src/hpc/slurm/reconcile/hold.cpp", "AreHeldAndToldToGoOn"},
      {"src/hpc/slurm/queue.cpp", "TellOfNodesInEveryState"},
      {"src/hpc/slurm/reconcile/reconcile.cpp", "TellOfJobsInEveryStateAndOfTheirSteps"},
      {"src/hpc/slurm/reconcile/reconciler.cpp", "AreHeldAndToldToGoOn"},
      {"src/hpc/slurm/reconcile/slurm_jobs.cpp", "TellOfJobsInEveryStateAndOfTheirSteps"},
      {"src/hpc/adoption/plan/adoption_steps.cpp", "for people; integration.adopt"},
      {"src/hpc/adoption/draft/recipe.cpp", "AnswerWhatTheExamplesAsk"},
      {"src/hpc/adoption/plan/slurm_draft.cpp", "AnswerWhatTheExamplesAsk"},
      {"src/hpc/adoption/plan/slurm_step.cpp", "AnswerWhatTheExamplesAsk"},
      {"src/hpc/inspection/site.cpp", "says nothing: scontrol reconfigure"},
      {"src/hpc/machines/ask.cpp", "TellWhichJobsAskForMachines"},
      {"src/surface/api/cluster/routes_elastic.cpp", "for people"},
      {"src/surface/api/cluster/status.cpp", "for people"},
      {"src/surface/cli/elastic/simulate.cpp", "for people"},
      {"src/surface/cli/impact/cluster_losses.cpp", "TellOfNodesInEveryState"},
      {"src/surface/cli/file/add.cpp", "for people"},
      {"src/surface/cli/host/exec.cpp", "for people"},
  };
  // Not in comments.
  constexpr const char* kWords = "(^|[^/a-z])(scontrol|squeue|sinfo|sacct|sacctmgr|scancel|sdiag|sprio|sreport)[\" ]";
  const auto found =
      shell("cd " + source_dir() +
            " && find examples src -type f | "
            "grep -vE '/tests/|/fuzz/|/testing/|\\.(md|hpp)$' | sort | xargs awk '/^ *(\\/\\/|#)/ { next } /" +
            std::string(kWords) + "/ { print FILENAME; nextfile }'");
  std::istringstream lines(found.out);
  for (std::string file; std::getline(lines, file);)
    EXPECT_TRUE(known.contains(file)) << file << " asks Slurm something: see above";
  for (const auto& [file, where] : known) EXPECT_THAT(found.out, HasSubstr(file + "\n")) << "asks nothing any more";
  // And each command of ours is given to every release, but those that look at a node and not at Slurm
  // (slurm/elastic/look.hpp).
  std::string here;
  for (const auto* file : {"slurm_versions.hpp", "slurm_versions_test.cpp", "slurm_pools_test.cpp",
                           "slurm_sleep_test.cpp", "slurm_node_sleep_test.cpp", "slurm_redo_test.cpp"})
    here += read_text(fmt::format("{}/tests/integration/slurm/{}", source_dir(), file));
  std::istringstream commands(
      shell("grep -rhoE --include='*.hpp' --exclude=look.hpp '[a-z_]+_command\\(' " + source_dir() + "/src/hpc/slurm")
          .out);
  for (std::string name; std::getline(commands, name);)
    EXPECT_NE(here.find("slurm::" + name), std::string::npos) << name << ") is not tried with each release";
}

}  // namespace
}  // namespace underway::harness
