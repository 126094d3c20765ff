/// What of Nomad is here, measured: each attribute in a job, each function evaluated, each operator asked, each path
/// and each flag of the command line looked up. The result is a page of the reference, and a line that was "yes" and is
/// no more fails this test.

#include "api/openapi/openapi.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "conformance/lines.hpp"
#include "conformance/stanza.hpp"
#include "conformance/table.hpp"
#include "gotemplate/functions.hpp"
#include "harness/places.hpp"
#include "hcl/functions.hpp"
#include "jobspec/jobspec.hpp"
#include "model/job/spelled_policies.hpp"
#include "nomad/program.hpp"
#include "nomad/table.hpp"
#include "scheduler/feasibility/constraint.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace underway::conformance {
namespace {

jobspec::Inputs inputs() {
  jobspec::Inputs out;
  out.limits.check_constraint = [](const model::Constraint& constraint) {
    return scheduler::validate(constraint).value_or("");
  };
  return out;
}

/// The place on the wire where two jobs differ first: "TaskGroups.Networks.DNS".
std::string first_difference(const boost::json::value& a, const boost::json::value& b) {
  if (a.is_object() && b.is_object()) {
    for (const auto& [key, value] : b.get_object()) {
      const auto* other = a.get_object().if_contains(key);
      if (other == nullptr) return std::string(key);
      if (*other == value) continue;
      const std::string inner = first_difference(*other, value);
      return inner.empty() ? std::string(key) : std::string(key) + "." + inner;
    }
    return {};
  }
  if (!a.is_array() || !b.is_array()) return {};
  const auto &before = a.get_array(), &after = b.get_array();
  for (std::size_t i = 0; i < after.size() && i < before.size(); ++i) {
    if (before[i] != after[i]) return first_difference(before[i], after[i]);
  }
  return {};
}

/// Names of the wire alone; keys that users chose and places in lists left out.
std::string on_the_wire(const std::string& stanza, const model::Job& with) {
  const auto without = jobspec::parse_job(job_with(stanza, ""), "without.hcl", inputs());
  return without.job ? first_difference(json::to_value(*without.job), json::to_value(with)) : std::string();
}

/// Through HCL and through JSON the job stays what it is; on its way through the API it loses what would hold anyway.
void expect_round_trips(const model::Job& job) {
  const std::string text = jobspec::write_job(job);
  const auto again = jobspec::parse_job(text, "again.hcl", inputs());
  ASSERT_TRUE(again.job) << text << again.diagnostics.render();
  EXPECT_TRUE(describe::equal(*again.job, job)) << text;
  EXPECT_TRUE(describe::equal(jobspec::job_from_json(json::to_value(job)), model::without_policies(job))) << text;
}

Row measure_attribute(const Line& line) {
  const std::string &stanza = line[0], &text = line[1];
  const auto parsed = jobspec::parse_job(job_with(stanza, text), "job.hcl", inputs());
  Row row{{"`" + stanza + "`", "`" + text + "`", ""}, Verdict::supported, line[3]};
  if (parsed.job) {
    EXPECT_EQ(line[2], "accept");
    expect_round_trips(*parsed.job);
    const std::string wire = on_the_wire(stanza, *parsed.job);
    if (!wire.empty()) row.cells[2] = "`" + wire + "`";
    return row;
  }
  const std::string why = parsed.diagnostics.render();
  const bool not_yet = why.find("is not yet supported") != std::string::npos;
  EXPECT_TRUE(not_yet || line[2] == "refuse") << job_with(stanza, text) << why;
  row.verdict = not_yet ? Verdict::not_yet : Verdict::refused;
  if (row.note.empty()) row.note = split(why, '\n').front();
  return row;
}

Section attributes() {
  Section section{"Job files",
                  "An attribute is read, written back as HCL and as JSON, and read again.",
                  {"stanza", "in a file", "on the wire"},
                  {}};
  for (const auto& line : read_lines("attributes.txt", 4)) {
    SCOPED_TRACE(line[0] + ": " + line[1]);
    section.rows.push_back(measure_attribute(line));
  }
  return section;
}

Section functions() {
  Section section{
      "Functions",
      "Each is evaluated in a job file; the value is that of Nomad's documentation, or of its code where they differ.",
      {"expression", "value"},
      {}};
  const auto directory = std::filesystem::temp_directory_path() / fmt::format("underway-conformance-{}", getpid());
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "hello.txt") << "hello\n";
  auto with_files = inputs();
  with_files.base_dir = directory;
  std::string all;
  for (const auto& line : read_lines("functions.txt", 2)) {
    SCOPED_TRACE(line[0]);
    all += line[0] + "\n";
    const auto parsed =
        jobspec::parse_job(job_with("job", "meta = { \"x\" = jsonencode(" + line[0] + ") }"), "f.hcl", with_files);
    EXPECT_TRUE(parsed.job) << parsed.diagnostics.render();
    if (parsed.job) {
      EXPECT_EQ(json::parse(parsed.job->meta.at("x")), json::parse(line[1]));
    }
    section.rows.push_back({{"`" + line[0] + "`", "`" + line[1] + "`"}, Verdict::supported, ""});
  }
  std::filesystem::remove_all(directory);
  for (const auto& name : hcl::file_functions(directory).names()) {
    if (name != "templatefile") EXPECT_NE(all.find(name + "("), std::string::npos) << name << " is not measured";
  }
  return section;
}

Section template_functions() {
  Section section{"Functions of templates",
                  "consul-template's, beside those of Go's language and Sprig's (docs/reference/templates.md).",
                  {"function", "data from"},
                  {}};
  for (const auto& line : read_lines("template_functions.txt", 2)) {
    const auto* function = gotemplate::job_functions().find(line[0]);
    Row row{{"`" + line[0] + "`", line[1]}, Verdict::not_yet, ""};
    if (function != nullptr) {
      const bool refused = function->origin == gotemplate::Origin::refused;
      row.verdict = refused ? Verdict::refused : Verdict::supported;
      if (refused) row.note = function->meaning;
    }
    section.rows.push_back(std::move(row));
  }
  return section;
}

/// A right side that the operator takes.
std::string operand_of(const std::string& name) {
  if (name == "version" || name == "semver") return ">= 1.0";
  if (name == "distinct_property") return "2";
  return name == "distinct_hosts" ? "true" : "linux";
}

Section operators() {
  Section section{"Operators", "Of constraints and affinities.", {"operator", "in"}, {}};
  for (const auto& line : read_lines("operators.txt", 3)) {
    SCOPED_TRACE(line[0] + ": " + line[1]);
    const std::string text = fmt::format("operator = \"{}\"\nvalue = \"{}\"", line[1], operand_of(line[1]));
    const auto parsed = jobspec::parse_job(job_with(line[0], text), "job.hcl", inputs());
    EXPECT_EQ(parsed.job.has_value(), line[2] == "accept") << parsed.diagnostics.render();
    section.rows.push_back({{"`" + line[1] + "`", line[0]},
                            parsed.job ? Verdict::supported : Verdict::refused,
                            line[2] == "refuse" ? "as in Nomad" : ""});
  }
  return section;
}

/// Names of parameters do not matter.
std::string normalized(std::string_view pattern) {
  auto parts = split(pattern, '/');
  for (auto& part : parts) {
    if (part.starts_with(':') || part.starts_with('*')) part = "{}";
  }
  return join(parts, "/");
}

Section paths() {
  Section section{
      "HTTP API", "Whether the path is served with the method; PUT and POST are the same.", {"method", "path"}, {}};
  std::map<std::string, std::string> served;
  for (const auto& route : api::documented_routes()) {
    for (const auto& method : split(route.methods, '|'))
      served[method + " " + normalized(route.pattern)] = std::string(route.summary);
  }
  for (const auto& line : read_lines("paths.txt", 2)) {
    const auto words = split(line[0], ' ');
    const auto found = served.find(words.at(0) + " " + normalized(words.at(1)));
    Row row{{words[0], "`" + words[1] + "`"}, Verdict::not_yet, line[1]};
    if (found != served.end()) {
      row.verdict = found->second.starts_with("Refused") ? Verdict::refused : Verdict::supported;
      if (row.note.empty()) row.note = found->second;
    }
    section.rows.push_back(std::move(row));
  }
  return section;
}

/// Flags of every command that talks to a server, in the one that any of them would do.
Row measure_general(const Line& line) {
  const auto& command = *nomad::find_command("job status");
  for (const auto& flag : cli::flags_of(command)) {
    if ("-" + std::string(flag.name) == line[1])
      return {{"every command", "`" + line[1] + "`"}, Verdict::supported, line[2]};
  }
  return {{"every command", "`" + line[1] + "`"}, Verdict::not_yet, line[2]};
}

Row measure_environment(const Line& line) {
  const auto& heard = nomad::environment();
  const bool found = std::find(heard.begin(), heard.end(), line[1]) != heard.end();
  const bool licence = line[1].starts_with("NOMAD_LICENSE");
  Row row{{"environment", "`" + line[1] + "`"}, found ? Verdict::supported : Verdict::not_yet, line[2]};
  if (licence) row = {row.cells, Verdict::refused, "There is no licence, and one build."};
  return row;
}

/// -version, -h and the like: what is asked of the program itself.
Row measure_program(const Line& line) {
  Row row{{"the program", "`" + line[1] + "`"}, Verdict::not_yet, line[2]};
  if (line[1].starts_with("-autocomplete"))
    return {row.cells, Verdict::refused, "`underway completion bash` prints the script."};
  testing::internal::CaptureStdout();
  if (nomad::run_program({line[1]}) == 0) row.verdict = Verdict::supported;
  EXPECT_FALSE(testing::internal::GetCapturedStdout().empty()) << line[1];
  return row;
}

/// The command by its name, or the one that the note says it is another word for.
Row measure_command(const Line& line) {
  Row row{{"`" + line[0] + "`", ""}, Verdict::not_yet, line[2]};
  const auto* command = nomad::find_command(line[0]);
  if (command == nullptr) return row;
  if (line[2].starts_with("= ")) EXPECT_EQ(command->name, line[2].substr(2));
  row.verdict = nomad::is_refused(command->summary) ? Verdict::refused : Verdict::supported;
  if (row.note.empty()) row.note = std::string(command->summary);
  return row;
}

Row measure_flag(const Line& line) {
  Row row{{"`" + line[0] + "`", "`" + line[1] + "`"}, Verdict::not_yet, line[2]};
  const auto* command = nomad::find_command(line[0]);
  if (command == nullptr) return row;
  if (nomad::is_refused(command->summary)) return {row.cells, Verdict::refused, "With its command."};
  for (const auto& flag : cli::flags_of(*command)) {
    if ("-" + std::string(flag.name) != line[1]) continue;
    row.verdict = nomad::is_refused(flag.doc) ? Verdict::refused : Verdict::supported;
    if (row.note.empty()) row.note = std::string(flag.doc);
  }
  return row;
}

Section flags() {
  Section section{"Command line",
                  "Whether the program, called by the name `nomad`, has the command and the flag.",
                  {"command", "flag"},
                  {}};
  for (const auto& line : read_lines("flags.txt", 3)) {
    SCOPED_TRACE(line[0] + " " + line[1]);
    section.rows.push_back(line[0] == "*"       ? measure_general(line)
                           : line[0] == "$"     ? measure_environment(line)
                           : line[0] == "nomad" ? measure_program(line)
                           : line[1].empty()    ? measure_command(line)
                                                : measure_flag(line));
  }
  return section;
}

/// What the program says to `words`, on standard error.
std::string said_to(const std::vector<std::string>& words) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_NE(nomad::run_program(words), 0);
  testing::internal::GetCapturedStdout();
  return testing::internal::GetCapturedStderr();
}

std::vector<std::string> call_of(const nomad::Command& command, const nomad::Flag& flag) {
  auto words = split(command.name, ' ');
  if (command.talks_to_server) words.emplace_back("-address=unix:///no/such/socket");
  words.push_back(fmt::format("-{}{}", flag.name, flag.value.empty() ? "" : "=x"));
  words.insert(words.end(), command.least, "x");
  return words;
}

TEST(CommandLine, TakesEachFlagOrRefusesIt) {
  for (const auto& row : flags().rows) EXPECT_NE(row.verdict, Verdict::not_yet) << row.cells[0] << " " << row.cells[1];
}

TEST(CommandLine, SwallowsNoFlagInSilence) {
  for (const auto& command : nomad::commands()) {
    if (nomad::is_refused(command.summary)) continue;
    for (const auto& flag : command.flags) {
      if (nomad::is_refused(flag.doc))
        EXPECT_NE(said_to(call_of(command, flag)).find(fmt::format("does not take -{}", flag.name)), std::string::npos)
            << command.name << " -" << flag.name;
      else if (nomad::is_idle(flag.doc) && command.talks_to_server)
        EXPECT_NE(said_to(call_of(command, flag)).find(fmt::format("warning: -{}: Without effect", flag.name)),
                  std::string::npos)
            << command.name << " -" << flag.name;
    }
  }
}

TEST(Conformance, IsWhatThePageSays) {
  std::ifstream differences(source_dir() + "/tests/conformance/differences.md");
  const std::string text{std::istreambuf_iterator<char>(differences), {}};
  const std::string generated =
      page({attributes(), functions(), template_functions(), operators(), paths(), flags()}, text);
  const auto path = std::filesystem::path(source_dir()) / "docs/reference/compatibility.md";
  if (std::getenv("UNDERWAY_ACCEPT") != nullptr) std::ofstream(path) << generated;
  std::ifstream in(path);
  const std::string committed{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(committed, generated) << path << " is out of date: run this test with UNDERWAY_ACCEPT=1";
}

}  // namespace
}  // namespace underway::conformance
