// Every command that a page tells a reader to type is there, and takes the flags that the page gives it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "base/error.hpp"
#include "cli/command.hpp"
#include "documents/command_lines.hpp"
#include "nomad/table.hpp"

namespace underway::documents {
namespace {

using cli::Command;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<const Command*> commands_of(const std::string& program) {
  if (program != "nomad") return cli::commands();
  std::vector<const Command*> all;
  for (const auto& command : nomad::commands()) all.push_back(&command);
  return all;
}

const Command* find_command(const std::string& program, const std::string& name) {
  if (program == "nomad") return nomad::find_command(name);  // by another word for it, too
  for (const auto* command : cli::commands()) {
    if (command->name == name) return command;
  }
  return nullptr;
}

struct Found {
  const Command* command = nullptr;
  std::ptrdiff_t words = 0;  ///< how many of them are its name
};

/// The longest name that was typed.
Found find(const std::string& program, const Words& words) {
  Found found;
  std::string name;
  for (std::size_t i = 0; i < words.size(); ++i) {
    name += (i == 0 ? "" : " ") + words[i];
    if (const auto* command = find_command(program, name)) found = {command, static_cast<std::ptrdiff_t>(i) + 1};
  }
  return found;
}

std::string joined(const Words& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// `underway -h`, and of a sentence what only begins a name: `underway capsule keys`, `underway job …`.
bool names_no_command(const CommandLine& line) {
  if (line.words.empty() || line.words[0].starts_with('-') || line.words[0] == "help") return true;
  if (line.whole) return false;
  std::string begin = joined(line.words) + " ";
  begin = begin.substr(0, begin.find("…"));
  const auto all = commands_of(line.program);
  return std::any_of(all.begin(), all.end(), [&](const Command* command) { return command->name.starts_with(begin); });
}

std::string problem_of(const CommandLine& line);

/// NODE, <node>, …
bool is_placeholder(const std::string& word) {
  const auto stands_for = [](unsigned char c) {
    return std::isupper(c) != 0 || std::isdigit(c) != 0 || c == '-' || c >= 0x80;
  };
  return word.starts_with('<') || (!word.starts_with('-') && std::all_of(word.begin(), word.end(), stands_for));
}

std::string problem_of_arguments(Command command, Words words, const CommandLine& line) {
  if (!line.whole) {
    command.least = 0;
    command.most = 1000;
    words.emplace_back("VALUE");                                       // of the last flag
    std::replace_if(words.begin(), words.end(), is_placeholder, "1");  // which may be a number
  }
  std::erase(words, "-h");
  for (auto& word : words) {
    if (word.starts_with("$")) word = "1";  // what only a shell knows: good as a number, too
  }
  const auto arguments = cli::parse(command, words);
  for (const auto& flag : command.flags) {
    if (line.whole && nomad::is_refused(flag.doc) && arguments.find(flag.name))
      return "-" + std::string(flag.name) + " is refused";
  }
  // What is run on a host may be ours again.
  const auto& passed = arguments.positional();
  if (!command.passes_on || passed.size() < 2 || passed[1] != "underway") return "";
  return problem_of({passed[1], {passed.begin() + 2, passed.end()}, line.line, line.whole});
}

/// Of what a sentence may mean as a command of either program, or as something else.
std::string problem_of_either(CommandLine line) {
  std::string problem;
  for (const std::string program : {"nomad", "underway"}) {
    if (find(program, line.words).command == nullptr) continue;
    line.program = program;
    problem = problem_of(line);
    if (problem.empty()) return "";
  }
  return problem;
}

/// Why the program would not take the line; empty when it would.
std::string problem_of(const CommandLine& line) {
  if (line.program.empty()) return problem_of_either(line);
  const auto found = find(line.program, line.words);
  if (found.command == nullptr)
    return names_no_command(line) ? "" : "there is no command '" + line.program + " " + joined(line.words) + "'";
  try {
    return problem_of_arguments(*found.command, {line.words.begin() + found.words, line.words.end()}, line);
  } catch (const Error& error) {
    return error.text();
  }
}

std::vector<std::string> problems_of(const Page& page) {
  std::vector<std::string> problems;
  for (const auto& line : command_lines_of(page)) {
    if (const auto problem = problem_of(line); !problem.empty())
      problems.push_back(page.path + ":" + std::to_string(line.line) + ": " + problem);
  }
  return problems;
}

TEST(Pages, TellCommandsThatAreThereWithFlagsThatTheyTake) {
  const auto pages = find_pages();
  if (!pages) GTEST_SKIP() << "this is no git checkout";
  for (const auto& page : *pages) EXPECT_THAT(problems_of(page), IsEmpty());
}

TEST(Pages, AreToldWhereTheyAreWrong) {
  const auto page =
      parse_page("a.md",
                 "Say `underway node drain -enabel` or\n`underway host exec\nc1 -- ls -l`, or `node purge -al`.\n"
                 "```\n$ sudo underway job stop -purge web |\nunderway is what it answers\n"
                 "$ underway host exec c1 -- underway nodes\n```\n"
                 "```hcl\nunderway nothing\n```\n");
  EXPECT_THAT(problems_of(page),
              ElementsAre("a.md:7: there is no command 'underway nodes'",
                          "a.md:1: error: 'node drain' has no flag -enabel\n  do:    did you mean -enable?",
                          HasSubstr("a.md:3: error: 'node purge' has no flag -al")));
}

TEST(HelpTexts, HaveExamplesThatTheirCommandsTake) {
  for (const auto* command : cli::commands()) {
    for (const auto& example : command->examples) {
      for (const auto& line : command_lines_in(std::string(example))) EXPECT_EQ(problem_of(line), "") << example;
    }
  }
}

TEST(CommandLines, AreThoseThatAShellFinds) {
  struct Case {
    std::string script;
    std::vector<Words> commands;
  };
  const std::vector<Case> cases = {
      {"underway job run a.hcl   # exits 1", {{"underway", "job", "run", "a.hcl"}}},
      {"echo '{}' | underway job dispatch -detach report - >out 2>&1",
       {{"echo", "{}"}, {"underway", "job", "dispatch", "-detach", "report", "-"}}},
      {"a \\\n  -b <node> < file; c && d", {{"a", "-b", "<node>"}, {"c"}, {"d"}}},
      {"to=$(underway status | wc -l) \\\n  x",
       {{"underway", "status"}, {"wc", "-l"}, {"to=$(underway status | wc -l)", "x"}}},
      {"cat > f <<'EOF'\nunderway nothing\nEOF\nb", {{"cat"}, {"b"}}},
      {"alias take='underway status -x'", {{"underway", "status", "-x"}, {"alias", "take=underway status -x"}}},
      {"sh -c \"a \\\"b\\\"; c\"", {{"sh", "-c", "a \"b\"; c"}}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.script);
    std::vector<Words> found;
    for (const auto& command : commands_in(c.script)) found.push_back(command.words);
    EXPECT_EQ(found, c.commands);
  }
}

}  // namespace
}  // namespace underway::documents
