// What is told of templates before a node renders them.
#include "jobspec/template_warnings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace underway::jobspec {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

model::Job job_with(std::vector<std::string> templates) {
  model::Task task;
  task.name = "t";
  for (auto& data : templates) {
    auto& entry = task.templates.emplace_back();
    entry.destination = "local/c.conf";
    entry.data = std::move(data);
  }
  model::TaskGroup group;
  group.name = "g";
  group.tasks.push_back(std::move(task));
  model::Job job;
  job.id = "web";
  job.groups.push_back(std::move(group));
  return job;
}

std::vector<std::string> warned(const model::Job& job, const TemplateOffers& offers = {}) {
  return texts_of(template_warnings(job), offers);
}

TEST(TemplateWarnings, ASyntaxErrorHasItsPlaceInTheTemplate) {
  EXPECT_THAT(warned(job_with({"fine {{ env \"X\" }}", "a\nhost = {{ .Host } \n"})),
              ElementsAre("group 'g', task 't', template 'local/c.conf', 2:17: unexpected \"}\" in operand"));
  EXPECT_THAT(
      warned(job_with({"{{ nomadVarz \"x\" }}"})),
      ElementsAre("group 'g', task 't', template 'local/c.conf', 1:4: function \"nomadVarz\" not defined; write "
                  "'nomadVar'"));
}

TEST(TemplateWarnings, ARefusedFunctionIsNamedOnceWithTheWay) {
  const auto told =
      warned(job_with({"\n{{ range connect \"web\" }}{{ end }}{{ range connect \"db\" }}{{ end }}{{ plugin \"x\" }}"}));
  ASSERT_EQ(told.size(), 2U);
  EXPECT_THAT(told[0],
              StartsWith("group 'g', task 't', template 'local/c.conf', 2:10: function `connect` is refused: "));
  EXPECT_THAT(told[0], HasSubstr("nomadService"));
  EXPECT_THAT(told[1], HasSubstr("`plugin` is refused"));
}

TEST(TemplateWarnings, KeysAndSecretsSayWhereTheyAreReadUnlessANodeAsksTheRealOnes) {
  const auto job =
      job_with({"{{ key \"app/x\" }}{{ keyOrDefault \"y\" \"z\" }}{{ with secret \"secret/data/db\" }}{{ end }}"});
  const auto told = warned(job);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_THAT(told[0], AllOf(HasSubstr("1:4: `key` asks Consul"), HasSubstr("'nomad/jobs/web'"), HasSubstr("nomadVar"),
                             HasSubstr("compat { consul { … } }")));
  EXPECT_THAT(told[1], AllOf(HasSubstr("1:52: `secret` asks Vault"), HasSubstr("compat { vault { … } }")));
  EXPECT_THAT(warned(job, {.keys = true}), ElementsAre(told[1]));
  EXPECT_THAT(warned(job, {.keys = true, .secrets = true}), IsEmpty());
}

TEST(TemplateWarnings, WhatOnlyTheNodeKnowsIsNotSpokenOf) {
  auto job = job_with({"{{ range service \"web\" }}{{ .Address }}{{ end }}", "{{ ${meta.x} }}", "{{ `${x}` }}"});
  auto& source = job.groups[0].tasks[0].templates.emplace_back();
  source.source = "local/from-artifact.tpl";
  source.destination = "local/d.conf";
  EXPECT_THAT(warned(job), IsEmpty());
  job.groups[0].tasks[0].templates[0].left_delimiter = "<<";
  job.groups[0].tasks[0].templates[0].right_delimiter = ">>";
  job.groups[0].tasks[0].templates[0].data = "{{ nonsense << connect \"x\" >>";
  EXPECT_THAT(warned(job), ElementsAre(HasSubstr("1:16: function `connect` is refused")));
}

TEST(TemplateWarnings, AreToldAsNomadTellsThem) {
  EXPECT_EQ(warnings_text({}), "");
  EXPECT_EQ(warnings_text({"a", "b"}), "2 warning(s):\n\n* a\n* b");
}

}  // namespace
}  // namespace underway::jobspec
