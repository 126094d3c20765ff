#include "support.hpp"

namespace underway::gotemplate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Data, AVariableThatIsNotThereYetLeavesNoTextAndIsNamed) {
  FakeSource source;
  const auto rendering = render_job("a {{ with nomadVar \"nomad/jobs/x\" }}{{ .key }}{{ end }} b", source);
  EXPECT_EQ(rendering.text, std::nullopt);
  EXPECT_THAT(rendering.missing, ElementsAre("nomad.var.block(nomad/jobs/x@default.global)"));
  EXPECT_THAT(rendering.dependencies.variables, ElementsAre("nomad/jobs/x"));
}

TEST(Data, AnErrorBehindSomethingMissingIsNotTheOneToTell) {
  FakeSource source;
  const auto rendering = render_job("{{ len (nomadVar \"nomad/jobs/x\") }}", source);
  EXPECT_EQ(rendering.text, std::nullopt);
  EXPECT_THAT(rendering.missing, ElementsAre("nomad.var.block(nomad/jobs/x@default.global)"));
}

TEST(Data, EachMissingThingIsToldOnce) {
  FakeSource source;
  source.linked = false;
  const auto rendering = render_job(
      "{{ range loop 3 }}{{ nomadVar \"a@ops\" }}{{ nomadService \"web\" }}{{ nomadServices }}{{ nomadVarList \"p\" }}"
      "{{ nomadVarExists \"b\" }}{{ end }}",
      source);
  EXPECT_THAT(rendering.missing, ElementsAre("nomad.var.block(a@ops.global)", "nomad.service(web)", "nomad.services",
                                             "nomad.var.list(p@default.global)", "nomad.var.get(b@default.global)"));
}

TEST(Data, WhatWasAskedForIsRecorded) {
  FakeSource source;
  const auto rendering = render_job(
      "{{ nomadVar \"nomad/jobs/web\" }}{{ nomadVarExists \"b@ops\" }}{{ nomadVarList \"nomad\" }}"
      "{{ nomadService \"main.db\" }}{{ nomadService \"web\" }}{{ nomadServices }}{{ file \"local/a.txt\" }}",
      source);
  Dependencies expected;
  expected.variables = {"nomad/jobs/web", "b@ops"};
  expected.variable_prefixes = {"nomad"};
  expected.services = {"db", "web"};
  expected.services_list = true;
  expected.files = {"local/a.txt"};
  EXPECT_EQ(rendering.dependencies, expected);
  ASSERT_TRUE(rendering.text);
  EXPECT_THAT(*rendering.text, HasSubstr("text of a file"));
}

TEST(Data, AServiceWithoutInstancesIsAnEmptyList) {
  FakeSource source;
  EXPECT_EQ(render_job("{{ range nomadService \"none\" }}x{{ else }}nobody{{ end }}", source).text, "nobody");
}

TEST(Data, ChosenInstancesAreTheSameForTheSameKey) {
  FakeSource source;
  std::vector<ServiceInstance> many;
  for (int i = 0; i < 20; ++i) many.push_back({.id = "i" + std::to_string(i), .name = "many", .port = i});
  source.known_services["many"] = many;
  const std::string text = "{{ range nomadService 3 \"key\" \"many\" }}{{ .ID }} {{ end }}";
  const auto first = render_job(text, source).text;
  EXPECT_EQ(first, render_job(text, source).text);
  EXPECT_EQ(std::ranges::count(*first, ' '), 3);
  source.known_services["many"].push_back({.id = "another", .name = "many"});
  const auto with_another = render_job(text, source).text;
  // At most one of the three gives way.
  int kept = 0;
  for (const auto& instance : many)
    if (first->find(instance.id + " ") != std::string::npos &&
        with_another->find(instance.id + " ") != std::string::npos)
      ++kept;
  EXPECT_GE(kept, 2);
}

TEST(Data, ListsOfVariablesHaveTheirMetadata) {
  FakeSource source;
  EXPECT_EQ(
      render_job("{{ range nomadVarList \"nomad\" }}{{ . }} {{ .Path }} {{ .ModifyIndex }}{{ end }}", source).text,
      "nomad/jobs/web nomad/jobs/web 9");
  EXPECT_EQ(render_job("{{ range nomadVarList \"other\" }}{{ else }}none{{ end }}", source).text, "none");
  EXPECT_THAT(render_job("{{ nomadVarListSafe \"other\" }}", source).missing, Not(IsEmpty()));
}

TEST(Data, WithoutASourceTheFunctionsRefuse) {
  const Template parsed = parse("t", "{{ env \"X\" }}", job_functions());
  EXPECT_EQ(message_of([&] { return render(parsed, {}).text.value_or(""); }),
            "template: t:1:3: executing \"t\" at <env \"X\">: error calling env: there is no data to ask for here");
}

TEST(Errors, ShowTheLineWithThePlaceMarked) {
  FakeSource source;
  try {
    render_job("one\nport = {{ .Port }} of {{ len 3 }}\n", source);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "template: t:2:25: executing \"t\" at <len 3>: error calling len: len of type int");
    EXPECT_THAT(error.reasons(), ElementsAre("line 2: port = {{ .Port }} of {{ >>>len 3<<< }}"));
  }
}

TEST(Errors, OfParsingShowTheToken) {
  try {
    parse("local/a.conf", "x\nhost = {{ .Host } \n", job_functions());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    EXPECT_EQ(error.message(), "template: local/a.conf:2: unexpected \"}\" in operand");
    EXPECT_THAT(error.reasons(), ElementsAre("line 2: host = {{ .Host >>>}<<< "));
  }
}

TEST(Errors, AnUnknownFunctionSuggestsTheNearestOne) {
  try {
    parse("t", "{{ nomadVarz \"x\" }}", job_functions());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "template: t:1: function \"nomadVarz\" not defined");
    EXPECT_EQ(error.advice(), "write 'nomadVar'");
  }
}

TEST(Errors, ARefusedFunctionSaysWhatToUse) {
  for (const auto& [name, instead] : std::map<std::string, std::string>{
           {"connect", "nomadService"}, {"pkiCert", "'secret'"}, {"plugin", "prestart task"}}) {
    SCOPED_TRACE(name);
    try {
      parse("t", "{{ " + name + " \"x\" }}", job_functions());
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.message(), "template: t:1: function \"" + name + "\" not defined");
      EXPECT_THAT(error.advice(), HasSubstr(instead));
    }
  }
}

TEST(Errors, DoNotTellSecrets) {
  FakeSource source;
  for (const char* expression :
       {"range .password.Value", "with parseInt .password.Value", "with parseJSON .password.Value",
        "with .password.nothing", "with index .password.Value \"x\"", "with base64Decode .password.Value",
        "with parseBool .password.Value", "with loop .password.Value", "with parseYAML (print \"[\" .password.Value)",
        "with add 1 .password.Value", "with eq 1 .password.Value", "with parseFloat .password.Value"}) {
    SCOPED_TRACE(expression);
    try {
      render_job(std::string("{{ with nomadVar \"nomad/jobs/web\" }}{{ ") + expression + " }}{{ end }}{{ end }}",
                 source);
      FAIL();
    } catch (const Error& error) {
      EXPECT_THAT(error.text(), Not(HasSubstr("s3cret")));
    }
  }
}

TEST(Errors, AFieldThatAnObjectLacksTellsThoseItHas) {
  FakeSource source;
  try {
    render_job("{{ range nomadService \"db\" }}{{ .Adress }}{{ end }}", source);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("can't evaluate field Adress in type *dependency.NomadService"));
    EXPECT_THAT(error.advice(), HasSubstr("Address"));
  }
}

TEST(Time, ComesFromTheClock) {
  FakeSource source;
  EXPECT_EQ(render_job("{{ timestamp }} {{ timestamp \"unix\" }} {{ timestamp \"2006\" }} {{ sprig_now.Year }} "
                       "{{ sprig_ago 1699999990 }}",
                       source)
                .text,
            "2023-11-14T22:13:20Z 1700000000 2023 2023 10s");
}

}  // namespace
}  // namespace underway::gotemplate
