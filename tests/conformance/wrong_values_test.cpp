/// Every field wrong in turn: whatever a file or a client says, the answer is a job or a refusal that names the place.

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "conformance/lines.hpp"
#include "conformance/stanza.hpp"
#include "jobspec/jobspec.hpp"
#include "model/validate/validate.hpp"

#include <gtest/gtest.h>

#include <map>

namespace underway::conformance {
namespace {

using boost::json::value;

const std::vector<value>& wrong_values() {
  static const std::vector<value> kValues = [] {
    std::vector<value> out{nullptr, true, -1,   0,      9'223'372'036'854'775'807, 18'446'744'073'709'551'615U, 1.5e300,
                           "",      "x",  "${", "\x01", boost::json::array{},      boost::json::object{}};
    out.emplace_back(boost::json::array{nullptr});
    out.emplace_back(boost::json::object{{"", nullptr}});
    out.emplace_back(std::string(100'000, 'a'));
    return out;
  }();
  return kValues;
}

/// The places of a document, by the names that lead there; indexes of lists do not count.
using Places = std::map<std::string, std::vector<std::string>>;

void collect(const value& json, const std::string& names, std::vector<std::string>& path, Places& out) {
  out.try_emplace(names, path);
  if (const auto* object = json.if_object()) {
    for (const auto& [key, member] : *object) {
      path.emplace_back(key);
      collect(member, names + "/" + std::string(key), path, out);
      path.pop_back();
    }
  } else if (const auto* array = json.if_array(); array != nullptr && !array->empty()) {
    path.emplace_back("0");
    collect(array->front(), names, path, out);
    path.pop_back();
  }
}

value* at(value& json, const std::vector<std::string>& path) {
  value* here = &json;
  for (const auto& step : path) here = here->is_array() ? &here->as_array().front() : &here->as_object()[step];
  return here;
}

/// A job or a refusal; every other exception, and a crash, fails the test.
bool is_taken(const value& json) {
  try {
    return model::validate(jobspec::job_from_json(json)).empty();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::invalid) << e.what();
    return false;
  }
}

TEST(WrongValues, OfTheWireAreTakenOrRefused) {
  std::map<std::string, std::pair<value, std::vector<std::string>>> places;
  for (const auto& line : read_lines("attributes.txt", 4)) {
    jobspec::Inputs inputs;
    inputs.validate = false;
    const auto parsed = jobspec::parse_job(job_with(line[0], line[1]), "job.hcl", inputs);
    if (!parsed.job) continue;
    const value json = json::to_value(*parsed.job);
    Places found;
    std::vector<std::string> path;
    collect(json, "", path, found);
    for (auto& [names, where] : found) places.try_emplace(names, json, std::move(where));
  }
  std::size_t refused = 0;
  for (const auto& [names, place] : places) {
    SCOPED_TRACE(names);
    for (const auto& wrong : wrong_values()) {
      value json = place.first;
      *at(json, place.second) = wrong;
      refused += is_taken(json) ? 0 : 1;
    }
  }
  EXPECT_GT(places.size(), 300u);
  EXPECT_GT(refused, places.size());
}

TEST(WrongValues, OfFilesAreTakenOrRefusedAtTheirPlace) {
  static constexpr std::string_view kWrong[] = {"true", "-1", "9223372036854775808", "1e400", "\"x\"",  "\"\"", "[]",
                                                "[{}]", "{}", "\"${1/0}\"",          "null",  "nowhere"};
  std::size_t refused = 0;
  for (const auto& line : read_lines("attributes.txt", 4)) {
    const std::string name = name_of(line[1]);
    for (const auto wrong : kWrong) {
      const std::string text = job_with(line[0], fmt::format("{} = {}", name, wrong));
      SCOPED_TRACE(text);
      const auto parsed = jobspec::parse_job(text, "job.hcl");
      EXPECT_NE(parsed.job.has_value(), parsed.diagnostics.has_errors());
      if (parsed.job) continue;
      ++refused;
      EXPECT_NE(parsed.diagnostics.render().find("job.hcl:"), std::string::npos) << parsed.diagnostics.render();
    }
  }
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace underway::conformance
