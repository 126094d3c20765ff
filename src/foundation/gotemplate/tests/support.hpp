#pragma once
// What the tests of templates share: a source with fixed data, and rendering in one call.
#include "gotemplate/execute.hpp"

#include "base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace underway::gotemplate {

/// Knows a few things; `linked` false: nothing but the environment and files.
class FakeSource final : public DataSource {
 public:
  std::map<std::string, std::string> environment{{"NAME", "value"}, {"EMPTY", ""}};
  std::map<std::string, Variable> known_variables{
      {"nomad/jobs/web", {{"default", "nomad/jobs/web", 7, 9, {}, {}}, {{"user", "ann"}, {"password", "s3cret"}}}}};
  std::map<std::string, std::vector<ServiceInstance>> known_services{
      {"db",
       {{"i1", "db", "n1", "10.0.0.1", 5432, "dc1", {"main"}, "j", "a1"},
        {"i2", "db", "n2", "10.0.0.2", 5433, "dc1", {}, "j", "a2"}}}};
  std::map<std::string, std::string> files{{"local/a.txt", "text of a file"}};
  std::map<ForeignQuery, ForeignReply> foreign_replies;
  bool linked = true;

  std::optional<std::string> env(const std::string& name) override {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  }
  Answer<std::optional<Variable>> variable(const std::string& path, const std::string&) override {
    if (!linked) return std::nullopt;
    const auto found = known_variables.find(path);
    return found == known_variables.end() ? std::optional<Variable>() : std::optional(found->second);
  }
  Answer<std::vector<VariableMetadata>> variables(const std::string& prefix, const std::string&) override {
    if (!linked) return std::nullopt;
    std::vector<VariableMetadata> out;
    for (const auto& [path, variable] : known_variables)
      if (path.starts_with(prefix)) out.push_back(variable.metadata);
    return out;
  }
  Answer<std::vector<ServiceInstance>> service(const std::string& name) override {
    if (!linked) return std::nullopt;
    const auto found = known_services.find(name);
    return found == known_services.end() ? std::vector<ServiceInstance>() : found->second;
  }
  Answer<std::vector<ServiceSummary>> services() override {
    if (!linked) return std::nullopt;
    std::vector<ServiceSummary> out;
    for (const auto& [name, instances] : known_services) out.push_back({name, {"main"}});
    return out;
  }
  ForeignReply foreign(const ForeignQuery& query, Dependencies& used) override {
    used.foreign.insert(query);
    const auto found = foreign_replies.find(query);
    return found == foreign_replies.end() ? ForeignReply() : found->second;
  }
  std::string read_file(const std::string& path) override {
    const auto found = files.find(path);
    if (found == files.end()) throw Error(Code::not_found, "file '" + path + "' does not exist");
    return found->second;
  }
};

inline Rendering render_job(const std::string& text, FakeSource& source, Inputs inputs = {}) {
  static const VirtualClock kClock;
  inputs.source = &source;
  if (inputs.clock == nullptr) inputs.clock = &kClock;
  return render(parse("t", text, job_functions()), inputs);
}

/// The error's message; what was rendered when there is none.
template <class F>
std::string message_of(F run) {
  try {
    return "no error: " + run();
  } catch (const Error& error) {
    return error.message();
  }
}

}  // namespace underway::gotemplate
