// The paper's Table 1 from packets to verdicts.
#include <gtest/gtest.h>

#include "adoption/division/division.hpp"
#include "adoption/testing/paper_site.hpp"
#include "traffic/testing/bed.hpp"

namespace underway::adoption::testing {
namespace {

using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAre;

std::vector<std::string> names_in_bed(const Division& division, bool critical) {
  std::vector<std::string> out;
  for (const auto& service : division.services)
    if (service.critical == critical) out.push_back(service.name);
  return out;
}

TEST(DivisionOfTheBed, TableOneComesOutOfPackets) {
  const Division division =
      divide(traffic::testing::bed_traffic(traffic::testing::make_bed()), {paper_host()}, {}, ServiceCatalog{});
  EXPECT_THAT(names_in_bed(division, false), UnorderedElementsAre("provisioning", "file-synchronisation", "ssh"));
  EXPECT_THAT(names_in_bed(division, true), UnorderedElementsAre("syslog", "nfs", "routing", "ganglia", "slurm", "mail",
                                                                 "ntp", "munge", "slurmdbd", "database"));
  const std::pair<const char*, const char*> rules[] = {{"slurm", "both-open"},
                                                       {"routing", "routed"},
                                                       {"ganglia", "group-traffic"},
                                                       {"syslog", "nodes-open"},
                                                       {"munge", "inherits"}};
  for (const auto& [service, rule] : rules) EXPECT_EQ(division.find(service)->rule, rule) << service;
  EXPECT_EQ(division.find("slurm")->nodes, 4);
}

TEST(DivisionOfTheBed, WithoutTheHostTheWireAloneDividesTheSame) {
  const Division division =
      divide(traffic::testing::bed_traffic(traffic::testing::make_bed()), {}, {}, ServiceCatalog{});
  EXPECT_THAT(names_in_bed(division, true),
              IsSupersetOf({"syslog", "nfs", "routing", "ganglia", "slurm", "mail", "ntp"}));
  EXPECT_THAT(names_in_bed(division, false), IsSupersetOf({"provisioning", "file-synchronisation"}));
}

}  // namespace
}  // namespace underway::adoption::testing
