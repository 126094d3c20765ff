#include "adoption/division/division.hpp"

#include <fstream>
#include <iterator>

#include "adoption/testing/paper_site.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "harness/places.hpp"

namespace underway::adoption {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::flow;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using testing::paper_host;
using testing::paper_traffic;
using testing::program;
using ::testing::UnorderedElementsAre;

Division divide_paper(const Overrides& overrides = {}) {
  return divide(paper_traffic(), {paper_host()}, overrides, ServiceCatalog{});
}

Division divide_one(const traffic::ServiceFlow& flow, const std::vector<inspection::HostSurvey>& hosts = {}) {
  traffic::Traffic traffic = paper_traffic();
  traffic.flows = {flow};
  return divide(traffic, hosts, {}, ServiceCatalog{});
}

std::vector<std::string> names(const Division& division, bool critical) {
  std::vector<std::string> out;
  for (const auto& service : division.services)
    if (service.critical == critical) out.push_back(service.name);
  return out;
}

TEST(Division, PaperTableOneComesOut) {
  const Division division = divide_paper();
  // Table 1: SMS-mgmt and SMS-services; beside them what no packet shows, and the shell.
  EXPECT_THAT(names(division, false), UnorderedElementsAre("provisioning", "file-synchronisation", "ssh"));
  EXPECT_THAT(names(division, true), UnorderedElementsAre("syslog", "nfs", "routing", "ganglia", "slurm", "mail", "ntp",
                                                          "munge", "slurmdbd", "database"));
}

TEST(Division, EachServiceOfThePaperHasTheRuleThatDecided) {
  const Division division = divide_paper();
  const std::pair<const char*, const char*> expected[] = {
      {"provisioning", "provisioning"},
      {"file-synchronisation", "file-synchronisation"},
      {"syslog", "one-way"},
      {"nfs", "nodes-open"},
      {"routing", "routed"},
      {"ganglia", "one-way"},
      {"slurm", "both-open"},
      {"mail", "nodes-open"},
      {"ntp", "nodes-open"},
      {"munge", "inherits"},
      {"slurmdbd", "inherits"},
      {"database", "inherits"},
  };
  for (const auto& [service, rule] : expected) {
    SCOPED_TRACE(service);
    ASSERT_NE(division.find(service), nullptr);
    EXPECT_EQ(division.find(service)->rule, rule);
    EXPECT_FALSE(division.find(service)->reason.empty());
    EXPECT_FALSE(division.find(service)->evidence.empty());
  }
}

TEST(Division, TellsHowManyNodesAndHowOften) {
  const Division division = divide_paper();
  const Service& slurm = *division.find("slurm");
  EXPECT_EQ(slurm.nodes, 450);
  EXPECT_EQ(slurm.opened_by, OpenedBy::both);
  EXPECT_THAT(slurm.doors, ElementsAre("tcp/6817", "→tcp/6818"));
  EXPECT_EQ(how_often(division.find("ntp")->rhythm), "every 17m4s ± 3s");
  EXPECT_EQ(division.find("ntp")->confidence, Confidence::high);
  EXPECT_EQ(division.find("routing")->nodes, 60);
}

TEST(Division, DependenciesThatNoPacketShowsAreFoundThroughTheChain) {
  const Division division = divide_paper();
  EXPECT_THAT(division.find("munge")->needed_by, ElementsAre("slurm", "slurmdbd"));
  EXPECT_THAT(division.find("database")->needed_by, UnorderedElementsAre("file-synchronisation", "slurmdbd"));
  EXPECT_THAT(division.find("slurm")->needs, UnorderedElementsAre("munge", "slurmdbd"));
  EXPECT_THAT(division.find("munge")->evidence, Contains("slurmctld needs munged: library libmunge.so.2"));
}

TEST(Division, EliminatesRatherThanMoves) {
  const Division division = divide_paper();
  EXPECT_THAT(join(division.find("ganglia")->advice, " "), HasSubstr("Eliminate it"));
  EXPECT_THAT(join(division.find("nfs")->advice, " "), HasSubstr("put it into the nodes' image"));
  EXPECT_THAT(join(division.find("syslog")->advice, " "), HasSubstr("queue on disk"));
}

TEST(Division, WithoutASurveyOfTheHostItSaysWhatIsMissing) {
  const Division division = divide(paper_traffic(), {}, {}, ServiceCatalog{});
  EXPECT_EQ(division.find("munge"), nullptr);
  EXPECT_THAT(division.warnings, Contains(HasSubstr("munge, the database")));
  EXPECT_THAT(names(division, true), IsSupersetOf({"syslog", "nfs", "routing", "ganglia", "slurm", "mail", "ntp"}));
  EXPECT_THAT(names(division, false), IsSupersetOf({"provisioning", "file-synchronisation"}));
}

TEST(Division, WhatNobodySpokeToIsUnknownAndTreatedAsCritical) {
  inspection::HostSurvey host = paper_host();
  host.programs.push_back(program("lmgrd", "", {{"tcp", "0.0.0.0", 27000}}));
  const Division division = divide(paper_traffic(), {host}, {}, ServiceCatalog{});
  const Service& licences = *division.find("licences");
  EXPECT_EQ(licences.rule, "not-seen");
  EXPECT_EQ(licences.verdict, Verdict::unknown);
  EXPECT_TRUE(licences.critical);
  EXPECT_EQ(licences.confidence, Confidence::low);
}

TEST(Division, ServiceThatIsEnabledAndDoesNotRunIsUnknownWithAllThatItNeeds) {
  inspection::HostSurvey host = paper_host();
  for (auto& p : host.programs) {
    p.pids.clear();
    p.listens.clear();
  }
  const Division division = divide({}, {host}, {}, ServiceCatalog{});
  EXPECT_EQ(division.find("slurm")->verdict, Verdict::unknown);
  EXPECT_EQ(division.find("munge")->verdict, Verdict::unknown);
  EXPECT_EQ(division.find("munge")->rule, "inherits");
  EXPECT_FALSE(division.find("provisioning")->critical);
}

TEST(Division, RouterThatNobodyUsedIsUnknown) {
  traffic::Traffic traffic = paper_traffic();
  std::erase_if(traffic.flows, [](const traffic::ServiceFlow& f) { return f.part == traffic::Part::routes; });
  const Division division = divide(traffic, {paper_host()}, {}, ServiceCatalog{});
  EXPECT_EQ(division.find("routing")->rule, "not-seen");
  EXPECT_TRUE(division.find("routing")->critical);
}

TEST(Division, WhatOnlyTheMachineUsesIsNoService) {
  const Division division = divide_paper();
  EXPECT_EQ(division.find("cupsd"), nullptr);
  EXPECT_THAT(division.left_out, Contains(HasSubstr("no service needs: 1")));
  EXPECT_THAT(division.left_out, Contains(HasSubstr("arp: neighbours find each other: 1 flows")));
}

TEST(Division, OverrideIsTheStrongestRule) {
  hcl::Diagnostics diagnostics;
  const Overrides overrides = parse_overrides(
      "service \"mail\" {\n  verdict = \"deferrable\"\n  reason = \"nodes queue\"\n}\n"
      "service \"web\" {\n  doors = [\"tcp/80\"]\n  verdict = \"time_critical\"\n  reason = \"a portal\"\n  needs = "
      "[\"ldap\"]\n}\n"
      "service \"munge\" {\n  verdict = \"deferrable\"\n  reason = \"test\"\n}\n"
      "service \"ngp\" {\n  verdict = \"deferrable\"\n  reason = \"typo\"\n}\n",
      "site.hcl", diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  const Division division = divide_paper(overrides);
  EXPECT_FALSE(division.find("mail")->critical);
  EXPECT_EQ(division.find("mail")->reason, "nodes queue");
  EXPECT_TRUE(division.find("web")->critical);
  EXPECT_EQ(division.find("file-synchronisation"), nullptr);
  EXPECT_FALSE(division.find("munge")->critical);
  EXPECT_THAT(division.warnings,
              Contains(HasSubstr("site.hcl:15:1: nothing that was seen belongs to service 'ngp'; there is 'ntp'")));
  EXPECT_THAT(division.warnings, Contains(HasSubstr("service 'web' needs 'ldap', which was not found")));
}

TEST(Division, WhatNobodyAnswersIsNotNeeded) {
  auto refused = flow(traffic::Protocol::tcp, 8140, traffic::Part::serves, traffic::Pattern::connection);
  refused.refused = refused.opens;
  const Division division = divide_one(refused);
  EXPECT_EQ(division.services.at(0).rule, "nobody-answers");
  EXPECT_FALSE(division.services[0].critical);
  auto unheard = flow(traffic::Protocol::udp, 8125, traffic::Part::serves, traffic::Pattern::one_way);
  EXPECT_EQ(divide_one(unheard).services.at(0).rule, "one-way");
  EXPECT_EQ(divide_one(unheard, {paper_host()}).find("monitoring")->rule, "nobody-answers");
}

TEST(Division, ServerOpensIsDeferrable) {
  const Division division =
      divide_one(flow(traffic::Protocol::udp, 623, traffic::Part::opens, traffic::Pattern::request_response));
  EXPECT_EQ(division.services.at(0).name, "power");
  EXPECT_EQ(division.services[0].rule, "server-opens");
}

TEST(Division, OutsidersAreNoNodes) {
  auto outside = flow(traffic::Protocol::tcp, 8443, traffic::Part::serves, traffic::Pattern::connection, 2);
  outside.clients = {"128.163.1.1", "128.163.1.2"};
  const Division division = divide_one(outside);
  EXPECT_EQ(division.services.at(0).rule, "outsiders-open");
  EXPECT_FALSE(division.services[0].critical);
}

TEST(Division, GroupTrafficCountsWhenAProgramListens) {
  const auto group = flow(traffic::Protocol::udp, 8649, traffic::Part::hears, traffic::Pattern::multicast);
  EXPECT_EQ(divide_one(group, {paper_host()}).find("ganglia")->verdict, Verdict::time_critical);
  EXPECT_EQ(divide_one(group).find("ganglia")->verdict, Verdict::unknown);
  inspection::HostSurvey deaf = paper_host();
  std::erase_if(deaf.programs, [](const inspection::Program& p) { return p.name == "gmond"; });
  EXPECT_EQ(divide_one(group, {deaf}).find("ganglia"), nullptr);
}

TEST(Division, DoorThatAlsoAnswersWhatTheBookDoesNotKnowIsTwoServices) {
  auto web = flow(traffic::Protocol::tcp, 80, traffic::Part::serves, traffic::Pattern::connection);
  web.application = "http";
  web.hints = {"GET /WW/file?hwaddr=1", "GET /WW/vnfs?hwaddr=1"};
  const Division known = divide_one(web, {paper_host()});
  EXPECT_EQ(known.find("file-synchronisation")->rule, "file-synchronisation");
  EXPECT_EQ(known.find("httpd"), nullptr);
  web.hints.emplace_back("GET /portal/licence");
  const Division mixed = divide_one(web, {paper_host()});
  EXPECT_FALSE(mixed.find("file-synchronisation")->critical);
  EXPECT_TRUE(mixed.find("httpd")->critical);
}

TEST(Division, UnnamedServiceKeepsItsDoorAndItsVerdict) {
  const Division division =
      divide_one(flow(traffic::Protocol::tcp, 45678, traffic::Part::serves, traffic::Pattern::connection));
  EXPECT_EQ(division.services.at(0).name, "tcp/45678");
  EXPECT_EQ(division.services[0].rule, "nodes-open");
  EXPECT_EQ(division.services[0].confidence, Confidence::medium);
  traffic::Traffic traffic = paper_traffic();
  traffic.flows = {flow(traffic::Protocol::tcp, 5999, traffic::Part::serves, traffic::Pattern::connection)};
  EXPECT_EQ(divide(traffic, {}, {}, ServiceCatalog("cvsup\t\t5999/tcp\t# CVSup\n")).services.at(0).name, "cvsup");
}

TEST(Division, LossAndShortTrafficAreToldAndLowerTheConfidence) {
  traffic::Traffic traffic = paper_traffic();
  traffic.last = traffic.first + Duration(std::chrono::minutes(40)).count();
  traffic.lost = traffic.packets / 10;
  const Division division = divide(traffic, {paper_host()}, {}, ServiceCatalog{});
  EXPECT_THAT(division.warnings, Contains(HasSubstr("covers 40m")));
  EXPECT_THAT(division.warnings, Contains(HasSubstr("missed 900000 packets")));
  EXPECT_EQ(division.find("ntp")->confidence, Confidence::medium);
}

TEST(Division, SeveralLooksAtOneMachineAddUp) {
  inspection::HostSurvey first = paper_host(), second = paper_host();
  for (auto& p : second.programs) p.needs.clear();
  const inspection::HostSurvey merged = merge({first, second});
  EXPECT_EQ(merged.programs.size(), first.programs.size());
  EXPECT_EQ(merged.find_program("slurmctld")->needs.size(), 2U);
}

TEST(Division, EmptySurveyIsDividedToo) {
  const Division division = divide({}, {}, {}, ServiceCatalog{});
  EXPECT_TRUE(division.services.empty());
  EXPECT_THAT(division.warnings, Contains(HasSubstr("there is no traffic")));
}

TEST(Division, RulesAllHaveANameAndASentence) {
  std::set<std::string_view> seen;
  for (const auto& rule : rules()) {
    EXPECT_TRUE(seen.insert(rule.name).second) << rule.name;
    EXPECT_FALSE(rule.says.empty());
  }
  EXPECT_EQ(seen.size(), 16U);
}

TEST(Division, ExplanationHasAllRulesInTheirOrder) {
  std::ifstream in(source_dir() + "/docs/explanation/survey.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  std::size_t at = 0;
  for (const auto& rule : rules()) {
    at = page.find(fmt::format("| `{}` | ", rule.name), at);
    ASSERT_NE(at, std::string::npos) << rule.name;
    EXPECT_NE(page.find(rule.says, at), std::string::npos) << rule.name;
  }
}

TEST(Division, IsAValueWithJson) {
  const Division division = divide_paper();
  EXPECT_TRUE(describe::equal(json::decode_text<Division>(json::encode(division)), division));
}

}  // namespace
}  // namespace underway::adoption
