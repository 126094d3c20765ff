// Renders templates that come as JSON lines on stdin with underway_gotemplate, and answers each with a line: the other
// half of main.go's "compare".
#include <boost/json.hpp>

#include <iostream>

#include "base/error.hpp"
#include "base/text.hpp"
#include "gotemplate/execute.hpp"

namespace {

using namespace underway;
using gotemplate::Value;

/// Whole numbers are ints, as in real.go.
Value data_of(const boost::json::value& json) {
  switch (json.kind()) {
    case boost::json::kind::null:
      return {};
    case boost::json::kind::bool_:
      return json.get_bool();
    case boost::json::kind::string:
      return std::string(json.get_string());
    case boost::json::kind::array: {
      gotemplate::List items;
      for (const auto& item : json.get_array()) items.push_back(data_of(item));
      return Value::list(std::move(items));
    }
    case boost::json::kind::object: {
      gotemplate::Map members;
      for (const auto& member : json.get_object()) members.emplace(member.key(), data_of(member.value()));
      return Value::map(std::move(members));
    }
    default:
      return json.is_double() ? Value(json.get_double()) : Value(json.to_number<std::int64_t>());
  }
}

/// The task's environment and nothing else.
class Environment final : public gotemplate::DataSource {
 public:
  std::optional<std::string> env(const std::string& name) override {
    if (name == "NAME") return "value";
    if (name == "EMPTY") return "";
    return std::nullopt;
  }
  Answer<std::optional<gotemplate::Variable>> variable(const std::string&, const std::string&) override { return {}; }
  Answer<std::vector<gotemplate::VariableMetadata>> variables(const std::string&, const std::string&) override {
    return {};
  }
  Answer<std::vector<gotemplate::ServiceInstance>> service(const std::string&) override { return {}; }
  Answer<std::vector<gotemplate::ServiceSummary>> services() override { return {}; }
  std::string read_file(const std::string& path) override {
    throw Error(Code::not_found, fmt::format("there is no file '{}'", path));
  }
};

std::string text_of(const boost::json::object& object, std::string_view name) {
  const auto* found = object.if_contains(name);
  return found == nullptr ? std::string() : std::string(found->as_string());
}

std::string render(const boost::json::object& test) {
  const std::string set = text_of(test, "set");
  const auto& functions = set == "go"        ? gotemplate::language_functions()
                          : set == "overlay" ? gotemplate::overlay_functions()
                                             : gotemplate::job_functions();
  Environment source;
  const SystemClock clock;
  gotemplate::Inputs inputs{.source = &source, .clock = &clock};
  if (const auto* data = test.if_contains("data")) inputs.data = data_of(*data);
  if (set == "job") inputs.missing_key = gotemplate::MissingKey::zero;
  if (text_of(test, "missing") == "error") inputs.missing_key = gotemplate::MissingKey::error;
  const auto parsed = gotemplate::parse(set == "job" ? "" : "t", text_of(test, "text"), functions);
  auto rendering = gotemplate::render(parsed, inputs);
  if (!rendering.text) throw Error(Code::invalid, "it waits for something that is missing");
  return *std::move(rendering.text);
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  std::string line;
  while (std::getline(std::cin, line)) {
    boost::json::object answer;
    try {
      answer["out"] = base64_encode(render(boost::json::parse(line).as_object()));
    } catch (const Error& error) {
      // What is no UTF-8 is no JSON either.
      answer["err"] = base64_encode(error.message());
    }
    std::cout << boost::json::serialize(answer) << '\n' << std::flush;
  }
}
