#include "adoption/draft/capsule_draft.hpp"

#include "adoption/draft/hcl_text.hpp"
#include "adoption/testing/paper_site.hpp"
#include "base/text.hpp"
#include "jobspec/cluster_file.hpp"

namespace underway::adoption {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::paper_host;
using testing::paper_traffic;
using ::testing::UnorderedElementsAre;

Drafts paper_drafts(const inspection::HostSurvey& host = paper_host()) {
  return draft_capsules(divide(paper_traffic(), {host}, {}, ServiceCatalog{}), host);
}

const CapsuleDraft* find(const Drafts& drafts, std::string_view name) {
  for (const auto& capsule : drafts.capsules)
    if (capsule.name == name) return &capsule;
  return nullptr;
}

std::string draft_problems(const std::map<std::string, std::string>& files) {
  std::vector<jobspec::SourceFile> sources = {
      {"cluster.hcl",
       "cluster \"lcc\" {\n  network \"cluster\" {\n    cidr = \"10.1.0.0/16\"\n  }\n  pool \"infrastructure\" {\n    "
       "size = 0\n  }\n}\n"}};
  for (const auto& [name, text] : files)
    if (name.find('/') == std::string::npos) sources.push_back({name, text});
  return jobspec::load_directory(sources, "/", {}).diagnostics.render();
}

TEST(CapsuleDraft, ServicesThatNeedEachOtherShareACapsule) {
  const Drafts drafts = paper_drafts();
  std::vector<std::string> names;
  for (const auto& capsule : drafts.capsules) names.push_back(capsule.name);
  EXPECT_THAT(names, ElementsAre("mail", "nfs", "ntp", "routing", "slurm-services", "syslog"));
  const auto* slurm = find(drafts, "slurm-services");
  EXPECT_THAT(slurm->services, UnorderedElementsAre("slurm", "slurmdbd", "munge", "database"));
  EXPECT_THAT(drafts.without, ElementsAre(HasSubstr("ganglia: eliminate")));
}

TEST(CapsuleDraft, ProgramsRunInTheForegroundInTheOrderOfTheirNeeds) {
  const Drafts drafts = paper_drafts();
  for (const auto& service : find(drafts, "slurm-services")->programs) {
    if (service.name == "slurmctld") {
      EXPECT_THAT(service.command, ElementsAre("/usr/sbin/slurmctld", "-D"));
      EXPECT_THAT(service.depends_on, ElementsAre("munge", "slurmdbd"));
    }
    if (service.name == "munge") EXPECT_THAT(join(service.command, " "), HasSubstr("setpriv --reuid munge"));
  }
  EXPECT_TRUE(find(drafts, "routing")->routes);
}

TEST(CapsuleDraft, SkeletonParsesAsACluster) {
  inspection::HostSurvey host = paper_host();
  host.interfaces = {
      {"eth1", "", {"128.163.1.5/24"}}, {"prov0", "", {"10.1.0.1/16", "fe80::1/64"}}, {"lo", "", {"127.0.0.1/8"}}};
  const auto place = place_of(host, {"10.1.0.0/16"});
  const auto files = skeleton(paper_drafts(host), place);
  EXPECT_EQ(draft_problems(files), "");
  EXPECT_EQ(files.size(), 12U);
  const std::string& slurm = files.at("slurm-services.hcl");
  EXPECT_THAT(slurm, HasSubstr("addresses = [\"10.1.0.1/16\"]"));
  EXPECT_THAT(slurm, Not(HasSubstr("network \"eth1\"")));
  EXPECT_THAT(files.at("routing.hcl"), HasSubstr("network \"eth1\""));
  EXPECT_THAT(files.at("images/slurm-services.hcl"), HasSubstr("\"slurmctld\""));
}

TEST(CapsuleDraft, WithoutInterfacesThePlaceIsAPlaceholderThatSaysSo) {
  const auto files = skeleton(paper_drafts(), place_of(paper_host(), {}));
  EXPECT_THAT(files.at("ntp.hcl"), HasSubstr("Fill in"));
  EXPECT_EQ(draft_problems(files), "");
}

TEST(CapsuleDraft, WhatWasSeenOnAMachineIsNeverATemplate) {
  inspection::HostSurvey host = paper_host();
  host.host = "sms${file(\"/etc/shadow\")}";
  auto evil = testing::program("lmgrd", "", {{"tcp", "0.0.0.0", 27000}});
  evil.command = {"/opt/lmgrd", "${file(\"/etc/shadow\")}", "%{ if true }", "a\"b\\c\nd", "\xff"};
  evil.state_directories = {"/srv/x\n}\njob \"evil\" {"};
  host.programs.push_back(evil);
  const auto files = skeleton(paper_drafts(host), place_of(host, {}));
  EXPECT_EQ(draft_problems(files), "");
  EXPECT_THAT(files.at("licences.hcl"), HasSubstr("\"$${file(\\\"/etc/shadow\\\")}\""));
  EXPECT_THAT(files.at("licences.hcl"), HasSubstr("%%{ if true }"));
}

TEST(CapsuleDraft, TwoThatNeedEachOtherMakeNoCircle) {
  inspection::HostSurvey host = paper_host();
  for (auto& program : host.programs)
    if (program.name == "munged") program.needs.push_back({"slurmctld", "unit", "After=slurmctld.service"});
  EXPECT_EQ(draft_problems(skeleton(paper_drafts(host), place_of(host, {}))), "");
}

TEST(HclText, CommentsStayComments) {
  EXPECT_EQ(comment("a\nb"), "# a b\n");
  EXPECT_EQ(comment(""), "");
  for (const auto& line : {comment(std::string(300, 'x') + " " + std::string(90, 'y'), "  ")})
    EXPECT_EQ(line.find("\n x"), std::string::npos);
}

}  // namespace
}  // namespace underway::adoption
