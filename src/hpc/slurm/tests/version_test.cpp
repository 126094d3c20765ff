#include "slurm/version.hpp"

#include <gmock/gmock.h>

namespace underway::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(SlurmVersion, IsFoundInPackagesAndInWhatDaemonsSay) {
  struct Case {
    const char *text, *expect;
  };
  const std::vector<Case> cases = {{"22.05.8", "22.05.8"},
                                   {"22.05", "22.05.0"},
                                   {"22.05.8-4+deb12u3", "22.05.8"},
                                   {"1:22.05.8-4", "22.05.8"},
                                   {"20.11.7+really20.11.4-2+deb11u1", "20.11.4"},
                                   {"23.11.4-1.2ubuntu5", "23.11.4"},
                                   {"23.11.10-340.ohpc.1.2", "23.11.10"},
                                   {"24.11.0~rc1-1", "24.11.0"},
                                   {"slurm-wlm 22.05.8", "22.05.8"},
                                   {"slurm 24.05.3\n", "24.05.3"},
                                   {"", ""},
                                   {"slurm", ""},
                                   {"1.2.3", ""},
                                   {"122.05.8", ""},
                                   {"22.5.8", ""},
                                   {"22.13.1", ""},
                                   {"22.051", ""},
                                   {"99999999999999999999.05.1", ""}};
  for (const auto& test_case : cases) {
    SCOPED_TRACE(test_case.text);
    const auto found = find_version(test_case.text);
    EXPECT_EQ(found ? found->text() : "", test_case.expect);
  }
}

TEST(SlurmVersion, CountsMajorReleasesAsTheyCame) {
  struct Case {
    const char *older, *newer;
    int expect;
  };
  for (const auto& [older, newer, expect] : std::vector<Case>{{"22.05.1", "22.05.9", 0},
                                                              {"22.05", "23.02", 1},
                                                              {"22.05", "23.11", 2},
                                                              {"22.05", "24.05", 3},
                                                              {"23.02", "24.11", 3},
                                                              {"24.05", "24.11", 1},
                                                              {"24.11", "25.05", 1},
                                                              {"24.05", "26.11", 5},
                                                              {"23.02", "22.05", -1}}) {
    SCOPED_TRACE(std::string(older) + " and " + newer);
    EXPECT_EQ(releases_between(*find_version(older), *find_version(newer)), expect);
  }
}

TEST(SlurmVersion, ServicesAreKnownByTheirPackages) {
  const auto debian = services_in({{"slurm-wlm-basic-plugins", "23.02.1-1"},
                                   {"slurmctld", "22.05.8-4+deb12u3"},
                                   {"slurmdbd", "22.05.9-1"},
                                   {"slurmd", "21.08.1-1"}});
  EXPECT_EQ(debian.slurmctld.value_or(Version{}).text(), "22.05.8");
  EXPECT_EQ(debian.slurmdbd.value_or(Version{}).text(), "22.05.9");
  EXPECT_TRUE(services_in({{"slurm-slurmctld", "24.05.1-1.el9"}}).slurmctld);
  EXPECT_TRUE(services_in({{"slurm-slurmdbd-ohpc", "23.11.10-340.ohpc.1.2"}}).slurmdbd);
  EXPECT_FALSE(services_in({{"chrony", "22.05.1"}}).slurmctld);
}

TEST(SlurmVersion, OfServicesAndNodesIsJudgedBySlurmsOwnRule) {
  struct Case {
    const char *name, *controller, *accounting, *installed, *running;
    std::vector<std::string> problems;
  };
  const std::vector<Case> cases = {
      {"the same", "22.05.8", "22.05.8", "22.05.8", "", {}},
      {"maintenance does not matter", "22.05.8", "22.05.8", "22.05.9", "", {}},
      {"maintenance of the accounting neither", "22.05.9", "22.05.8", "22.05.8", "", {}},
      {"a Debian suffix", "22.05.8-4+deb12u3", "", "22.05.8-4+deb12u2", "", {}},
      {"two behind", "23.11.1", "23.11.1", "22.05.8", "", {}},
      {"three behind what understands two",
       "24.05.1",
       "",
       "22.05.8",
       "",
       {"its slurmctld 24.05.1 understands the 2 major releases before its own, and the slurmd 22.05.8 of c1 is 3 "
        "behind"}},
      {"three behind what understands three", "24.11.1", "24.11.1", "23.02.7", "", {}},
      {"older than a node",
       "22.05.8",
       "",
       "23.02.1",
       "",
       {"its slurmctld 22.05.8 is older than the slurmd 23.02.1 of c1"}},
      {"what runs counts too",
       "22.05.8",
       "",
       "22.05.8",
       "23.02.1",
       {"its slurmctld 22.05.8 is older than the slurmd 23.02.1 of c1"}},
      {"older accounting", "23.02.1", "22.05.8", "", "", {"its slurmdbd 22.05.8 is older than its slurmctld 23.02.1"}},
      {"no controller in it", "", "22.05.8", "24.11.1", "", {}},
      {"nodes that say nothing", "22.05.8", "22.05.8", "", "", {}}};
  for (const auto& test_case : cases) {
    SCOPED_TRACE(test_case.name);
    const auto verdict = judge_versions({find_version(test_case.controller), find_version(test_case.accounting)},
                                        {{"c1", find_version(test_case.installed), find_version(test_case.running)}});
    EXPECT_EQ(verdict.problems, test_case.problems);
  }
}

TEST(SlurmVersion, OfACapsuleIsJudgedBesideOthersAndWithTheDataThatItHas) {
  const Version old{20, 11, 4}, now{22, 5, 8}, far{23, 11, 4};
  const std::vector<ServicesElsewhere> accounting = {{"accounting", {std::nullopt, old}}};
  const std::vector<ServicesElsewhere> controller = {{"controller", {old, std::nullopt}}};
  EXPECT_THAT(judge_versions({now, std::nullopt}, {}, accounting).problems,
              ElementsAre("the slurmdbd 20.11.4 of capsule 'accounting' is older than its slurmctld 22.05.8"));
  EXPECT_THAT(judge_versions({std::nullopt, now}, {}, controller, {std::nullopt, old}).problems, IsEmpty());
  EXPECT_THAT(judge_versions({std::nullopt, far}, {}, controller).problems,
              ElementsAre("its slurmdbd 23.11.4 understands the 2 major releases before its own, and the slurmctld "
                          "20.11.4 of capsule 'controller' is 4 behind"));
  EXPECT_THAT(judge_versions({std::nullopt, old}, {}, {}, {std::nullopt, now}).problems,
              ElementsAre("what its slurmdbd 22.05.8 has written its slurmdbd 20.11.4 does not read"));
  EXPECT_THAT(judge_versions({far, std::nullopt}, {}, {}, {old, std::nullopt}).problems,
              ElementsAre("its slurmctld 23.11.4 reads what the 2 major releases before its own have written, and "
                          "slurmctld 20.11.4 is 4 behind"));
}

TEST(SlurmVersion, OfASlurmdIsJudgedByItsController) {
  const std::vector<ServicesElsewhere> controller = {{"controller", {Version{20, 11, 4}, std::nullopt}}};
  EXPECT_THAT(judge_slurmd({22, 5, 8}, "/opt/slurm/22.05/sbin/slurmd", controller).problems,
              ElementsAre("the slurmctld 20.11.4 of capsule 'controller' is older than the slurmd 22.05.8 in "
                          "/opt/slurm/22.05/sbin/slurmd"));
  EXPECT_THAT(judge_slurmd({20, 11, 9}, "/usr/sbin/slurmd", controller).problems, IsEmpty());
  EXPECT_THAT(judge_slurmd({22, 5, 8}, "/usr/sbin/slurmd", {}).problems, IsEmpty())
      << "of no controller nothing is known";
}

TEST(SlurmVersion, VerdictNamesSomeNodesAndCountsTheOthers) {
  std::vector<NodeVersions> nodes;
  for (int n = 1; n <= 20; ++n) nodes.push_back({"c" + std::to_string(n), Version{23, 2, 1}, std::nullopt});
  nodes.push_back({"login", Version{22, 5, 8}, Version{22, 5, 8}});
  const auto verdict = judge_versions({Version{22, 5, 8}, std::nullopt}, nodes);
  EXPECT_THAT(verdict.problems, ElementsAre(HasSubstr("of c1, c2, c3 and 17 others")));
  EXPECT_EQ(verdict.summary, "slurmctld 22.05.8, slurmd 22.05.8 on login, slurmd 23.02.1 on c1, c2, c3 and 17 others");
  EXPECT_THAT(judge_versions({}, {}).summary, IsEmpty());
}

}  // namespace
}  // namespace underway::slurm
