// What Go itself makes of some hundred templates: tests/reference/*.json, written by tests/reference/reference.go.
#include "support.hpp"

#include "base/json/json.hpp"
#include "harness/places.hpp"

#include <fstream>
#include <iterator>

namespace underway::gotemplate {
namespace {

/// Whole numbers are ints, as in reference.go.
Value data_of(const boost::json::value& json) {
  switch (json.kind()) {
    case boost::json::kind::null:
      return {};
    case boost::json::kind::bool_:
      return json.get_bool();
    case boost::json::kind::string:
      return std::string(json.get_string());
    case boost::json::kind::array: {
      List items;
      for (const auto& item : json.get_array()) items.push_back(data_of(item));
      return Value::list(std::move(items));
    }
    case boost::json::kind::object: {
      Map members;
      for (const auto& member : json.get_object()) members.emplace(member.key(), data_of(member.value()));
      return Value::map(std::move(members));
    }
    default:
      return json.is_double() ? Value(json.get_double()) : Value(json.to_number<std::int64_t>());
  }
}

std::string member(const boost::json::object& object, std::string_view name) {
  const auto* found = object.if_contains(name);
  return found == nullptr ? std::string() : std::string(found->as_string());
}

std::string outcome(const boost::json::object& test, const FunctionSet& functions, const std::string& name) {
  FakeSource source;
  const VirtualClock clock;
  Inputs inputs{.source = &source, .clock = &clock};
  if (const auto* data = test.if_contains("data")) inputs.data = data_of(*data);
  if (member(test, "missingkey") == "error") inputs.missing_key = MissingKey::error;
  return render(parse(name, member(test, "template"), functions, {member(test, "left"), member(test, "right")}), inputs)
      .text.value_or("(missing)");
}

/// Each case ends as in Go, or as "ours" says.
void check(const std::string& file, const FunctionSet& functions, const std::string& name) {
  std::ifstream in(test_dir() + "/reference/" + file);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto cases = json::parse(text);
  ASSERT_GT(cases.as_array().size(), 50U);
  for (const auto& entry : cases.as_array()) {
    const auto& test = entry.as_object();
    const std::string wanted_error = member(test, "error");
    std::string wanted = wanted_error.empty() ? member(test, "want") : wanted_error;
    if (const std::string ours = member(test, "ours"); !ours.empty()) wanted = ours;
    std::string got;
    try {
      got = outcome(test, functions, name);
    } catch (const Error& error) {
      got = error.message();
    }
    EXPECT_EQ(got, wanted) << member(test, "template");
  }
}

/// What once differed, found by tests/differential/templates: each is as there, or fails as there.
void check_cured(const std::string& file, const FunctionSet& functions, MissingKey missing_key) {
  std::ifstream in(test_dir() + "/reference/" + file);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto cases = json::parse(text);
  for (const auto& entry : cases.as_array()) {
    const auto& test = entry.as_object();
    FakeSource source;
    const VirtualClock clock;
    const std::string shown = member(test, "template");
    std::string got;
    try {
      const Inputs inputs{.source = &source, .clock = &clock, .missing_key = missing_key};
      got = render(parse("t", shown, functions), inputs).text.value_or("(missing)");
      EXPECT_FALSE(test.contains("fails")) << shown << " is " << got;
    } catch (const Error& error) {
      EXPECT_TRUE(test.contains("fails")) << shown << ": " << error.message();
      continue;
    }
    if (!test.contains("fails")) EXPECT_EQ(got, member(test, "want")) << shown;
  }
}

TEST(Reference, OverlaysAreCuredOfDifferences) {
  check_cured("cured_overlay.json", overlay_functions(), MissingKey::keep);
}
TEST(Reference, JobsAreCuredOfDifferences) { check_cured("cured_job.json", job_functions(), MissingKey::zero); }
TEST(Reference, TheLanguageIsGos) { check("language.json", language_functions(), "t"); }
TEST(Reference, OverlayFunctionsAreSprigs) { check("overlay.json", overlay_functions(), "t"); }
TEST(Reference, JobFunctionsAreConsulTemplates) { check("job.json", job_functions(), ""); }

}  // namespace
}  // namespace underway::gotemplate
