#include "slurm/drain.hpp"

#include <gtest/gtest.h>

namespace underway::slurm {
namespace {

using model::Eligibility;
using model::SlurmDrainStatus;

TEST(SlurmQueue, ReadsWhatSinfoAndSqueuePrint) {
  const auto nodes = parse_nodes(
      "c1|c1|idle|none\nc1|c1|idle|none\nc2|h2|drained*|underway: the node is drained\nc3|h2|mixed+|a|b\n\nnonsense\n");
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[0], (NodeState{"c1", "c1", "idle", "none"}));
  EXPECT_EQ(nodes[1], (NodeState{"c2", "h2", "drained", "underway: the node is drained"}));
  EXPECT_EQ(nodes[2], (NodeState{"c3", "h2", "mixed", "a|b"}));
  const auto jobs = parse_jobs("17|c[1-2]\n18|c2\n19|\nnonsense\n20|c[\n");
  EXPECT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs.at("c2"), (std::vector<std::string>{"17", "18"}));
}

TEST(SlurmDrain, GoesStepByStepThereAndBack) {
  struct Case {
    const char* name;
    bool draining;
    Eligibility eligibility;
    SlurmDrainStatus status;
    std::vector<NodeState> nodes;
    DrainStep step;
    std::vector<std::string> names;
  };
  const auto out = Eligibility::ineligible, in = Eligibility::eligible;
  const auto asked = SlurmDrainStatus::asked, draining = SlurmDrainStatus::draining,
             drained = SlurmDrainStatus::drained;
  const std::string ours = kDrainReason, other = "bad DIMM";
  const std::vector<Case> cases = {
      {"Slurm is told", true, out, asked, {{"c1", "c1", "allocated", ""}}, DrainStep::tell, {"c1"}},
      {"an idle node too", true, out, asked, {{"c1", "c1", "idle", ""}}, DrainStep::tell, {"c1"}},
      {"each name on the host",
       true,
       out,
       asked,
       {{"a", "c1", "idle", ""}, {"b", "c1", "drained", ours}, {"c", "c1", "mixed", ""}},
       DrainStep::tell,
       {"a", "c"}},
      {"its jobs are waited for", true, out, draining, {{"c1", "c1", "draining", ours}}, DrainStep::wait, {"c1"}},
      {"also after we died between telling and writing it down",
       true,
       out,
       asked,
       {{"c1", "c1", "draining", ours}},
       DrainStep::wait,
       {"c1"}},
      {"somebody resumed it meanwhile", true, out, draining, {{"c1", "c1", "mixed", ""}}, DrainStep::tell, {"c1"}},
      {"it is empty", true, out, draining, {{"c1", "c1", "drained", ours}}, DrainStep::release, {}},
      {"it was somebody else's already", true, out, asked, {{"c1", "c1", "drained", other}}, DrainStep::release, {}},
      {"a node that is down is told for when it comes back",
       true,
       out,
       asked,
       {{"c1", "c1", "down", ""}},
       DrainStep::tell,
       {"c1"}},
      {"Slurm does not know it", true, out, asked, {}, DrainStep::release, {}},
      {"the drain runs", true, out, drained, {{"c1", "c1", "drained", ours}}, DrainStep::none, {}},
      {"the drain is over", false, out, drained, {{"c1", "c1", "drained", ours}}, DrainStep::none, {}},
      {"the node is eligible again", false, in, drained, {{"c1", "c1", "drained", ours}}, DrainStep::hand_back, {"c1"}},
      {"the drain was ended early",
       false,
       in,
       draining,
       {{"c1", "c1", "draining", ours}},
       DrainStep::hand_back,
       {"c1"}},
      {"or before Slurm heard of it", false, in, asked, {{"c1", "c1", "idle", ""}}, DrainStep::forget, {}},
      {"what is somebody else's stays", false, in, drained, {{"c1", "c1", "drained", other}}, DrainStep::forget, {}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    model::Node node;
    node.eligibility = c.eligibility;
    if (c.draining) node.drain.emplace();
    node.slurm_drain = model::SlurmDrain{c.status, "", 0};
    const auto verdict = decide_slurm_drain(node, c.nodes);
    EXPECT_EQ(verdict.step, c.step);
    EXPECT_EQ(verdict.names, c.names);
  }
}

TEST(SlurmDrain, TellsInWordsWhatItWaitsFor) {
  EXPECT_EQ(waiting_text({"c3"}, {{"c3", {"17", "18"}}}), "waits for 2 Slurm jobs on c3 (17, 18)");
  EXPECT_EQ(waiting_text({"c3"}, {{"c3", {"17"}}, {"c4", {"18"}}}), "waits for 1 Slurm job on c3 (17)");
  EXPECT_EQ(waiting_text({"c1", "c2"}, {}), "waits for Slurm to empty c[1-2]");
  EXPECT_EQ(waiting_text({"c3"}, {{"c3", {"1", "2", "3", "4", "5", "6"}}}),
            "waits for 6 Slurm jobs on c3 (1, 2, 3, 4, 5, …)");
}

}  // namespace
}  // namespace underway::slurm
