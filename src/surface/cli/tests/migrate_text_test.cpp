#include "cli/migrate/text.hpp"

#include <gmock/gmock.h>

namespace underway::cli {
namespace {

using migrate::Action;
using migrate::Kind;

migrate::Step step(Kind kind, std::string name, Action action) {
  migrate::Step out;
  out.kind = kind;
  out.name = std::move(name);
  out.action = action;
  if (action == Action::create || action == Action::update || action == Action::start) out.method = "PUT";
  return out;
}

TEST(MigrateText, ShowsWhatChangesAndCountsTheRest) {
  migrate::Plan plan;
  plan.steps = {step(Kind::name_space, "hpc", Action::create), step(Kind::policy, "ops", Action::update),
                step(Kind::variable, "a/b", Action::same),     step(Kind::job, "munge", Action::create),
                step(Kind::job, "web", Action::refuse),        step(Kind::job, "old", Action::start)};
  plan.steps[1].differences = {"Rules"};
  plan.steps[3].ns = "hpc";
  plan.steps[3].notes = {"no node here has the driver 'java'"};
  plan.steps[4].reasons = {"Job.TaskGroups[0].Services[0].Connect: the mesh is Consul's"};
  plan.steps[5].runs = true;
  plan.gaps = {{"token 'ci'", "its secret is not told", "make it anew", false}};
  EXPECT_EQ(plan_text(plan),
            "+ namespace hpc\n"
            "~ ACL policy ops: Rules\n"
            "+ job munge (hpc), stopped\n"
            "    note: no node here has the driver 'java'\n"
            "! job web: cannot be taken\n"
            "    Job.TaskGroups[0].Services[0].Connect: the mesh is Consul's\n"
            "> job old, which then runs\n"
            "\nNot taken over:\n"
            "- token 'ci': its secret is not told\n"
            "    make it anew\n"
            "\n2 to make, 1 to change, 1 to start, 1 there already; 1 need you.\n");
}

}  // namespace
}  // namespace underway::cli
