// Executes docs/tutorial.md and the other tutorials as a reader does: every ```sh block, command by command, and holds
// what it printed against the ```text block that follows. CONTRIBUTING.md has the convention.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "harness/command.hpp"
#include "harness/examples.hpp"
#include "harness/places.hpp"

namespace underway {
namespace {

constexpr auto kLimit = std::chrono::seconds(180);
// What the text calls them; in the test they have names of their own.
const std::string kStateInText = "/var/lib/underway";
// The cluster of each example.
const std::vector<std::pair<std::string, std::string>> kExamples = {
    {"slurm", "demo"}, {"decoupled", "apart"}, {"elastic", "tide"}, {"urgent", "ebb"}};

struct Command {
  std::string text;
  int line = 0;
  int exit_code = 0;
};

/// One ```sh block, and what the ```text block after it shows.
struct Step {
  std::vector<Command> commands;
  std::vector<std::string> shown;
  int line = 0;
};

std::string squeezed(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (blank && (out.empty() || out.back() == ' ')) continue;
    out += blank ? ' ' : c;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

/// "…EOF" of "cat > file <<'EOF'"; empty when the line opens no here-document.
std::string here_document_end(const std::string& line) {
  const auto at = line.find("<<'");
  if (at == std::string::npos) return {};
  const auto end = line.find('\'', at + 3);
  return end == std::string::npos ? std::string() : line.substr(at + 3, end - at - 3);
}

/// "command   # exits 1".
Command command_of(const std::string& line, int number) {
  const std::string mark = "# exits ";
  Command command{line, number, 0};
  if (const auto at = line.rfind(mark); at != std::string::npos)
    command.exit_code = std::stoi(line.substr(at + mark.size()));
  return command;
}

std::vector<Command> commands_of(const std::vector<std::pair<int, std::string>>& lines) {
  std::vector<Command> commands;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Command command = command_of(lines[i].second, lines[i].first);
    if (const auto end = here_document_end(lines[i].second); !end.empty()) {
      do {
        command.text += "\n" + lines.at(++i).second;
      } while (lines[i].second != end);
    }
    while (command.text.ends_with('\\')) command.text += "\n" + lines.at(++i).second;
    commands.push_back(std::move(command));
  }
  return commands;
}

std::vector<Step> steps_of(const std::string& markdown) {
  std::vector<Step> steps;
  std::istringstream in(markdown);
  std::string fence;
  std::vector<std::pair<int, std::string>> block;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (!line.starts_with("```")) {
      if (!fence.empty()) block.emplace_back(number, line);
      continue;
    }
    if (fence.empty()) {
      fence = line == "```" ? "plain" : line.substr(3);
      block.clear();
      continue;
    }
    if (fence == "sh") steps.push_back({commands_of(block), {}, number});
    if (fence == "text" && !steps.empty()) {
      for (const auto& [at, text] : block) steps.back().shown.push_back(text);
    }
    fence.clear();
  }
  return steps;
}

/// Where in `out` the pieces of `shown` (between its …) are found after `from`; npos when they are not. Pieces of one
/// line are sought within one line of the output.
std::size_t find_shown(const std::string& out, const std::string& shown, std::size_t from) {
  std::vector<std::string> pieces;
  std::string rest = shown;
  const std::string gap = "…";
  for (std::size_t at = rest.find(gap); at != std::string::npos; at = rest.find(gap)) {
    pieces.push_back(squeezed(rest.substr(0, at)));
    rest = rest.substr(at + gap.size());
  }
  pieces.push_back(squeezed(rest));
  while (from < out.size()) {
    const std::size_t end = std::min(out.find('\n', from), out.size());
    const std::string line = out.substr(from, end - from);
    std::size_t at = 0;
    bool all = true;
    for (const auto& piece : pieces) {
      const std::size_t found = line.find(piece, at);
      all = all && found != std::string::npos;
      if (!all) break;
      at = found + piece.size();
    }
    from = end + 1;
    if (all) return from;
  }
  return std::string::npos;
}

/// The output with each run of blanks as one.
std::string squeezed_lines(const std::string& text) {
  std::string out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out += squeezed(line) + "\n";
  return out;
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
}

class Tutorial : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "hosts are made of namespaces: needs root";
    harness::copy_examples(work_.path() + "/examples");
    // A name of its own: another cluster may be up on this machine.
    for (const auto& [example, name] : kExamples) {
      const std::string file = work_.path() + "/examples/" + example + "/cluster.hcl";
      std::string text = harness::read_text(file);
      replace_all(text, "cluster \"" + name + "\"", "cluster \"" + name_of(name) + "\"");
      harness::write_text(file, text);
    }
  }
  void TearDown() override {
    if (::geteuid() != 0) return;
    const auto down = run("underway down -all -purge -no-trash -yes");
    EXPECT_EQ(down.exit_code, 0) << down.out << down.err;
    EXPECT_TRUE(harness::eventually(std::chrono::seconds(10), [&] { return left().empty(); }))
        << testing::PrintToString(left());
  }

  std::vector<std::string> left() const {
    std::vector<std::string> out;
    for (const auto& [_, name] : kExamples) {
      for (auto& what : harness::leftovers(state_.path(), name_of(name))) out.push_back(std::move(what));
    }
    return out;
  }
  /// What examples/urgent boots.
  static std::string images() { return binary_dir() + "/slurm-node-image"; }
  static std::string name_of(const std::string& in_text) { return in_text + "-" + std::to_string(::getpid()); }

  harness::Finished run(std::string text) const {
    replace_all(text, kStateInText, state_.path());
    for (const auto& [_, name] : kExamples) replace_all(text, "-cluster=" + name, "-cluster=" + name_of(name));
    const char* path = std::getenv("PATH");
    return harness::run({.argv = {"/bin/sh", "-c", text},
                         .env = {{"PATH", std::string(binary_dir() + "/bin:") + (path != nullptr ? path : "")},
                                 {"UNDERWAY_STATE", state_.path()},
                                 {"NOMAD_VAR_images", images()},
                                 {"LC_ALL", "C.UTF-8"}},
                         .directory = work_.path(),
                         .limit = kLimit});
  }

  void execute(const std::string& tutorial);

  harness::TemporaryDirectory work_, state_;
};

void Tutorial::execute(const std::string& tutorial) {
  const auto steps = steps_of(harness::read_text(source_dir() + "/docs/" + tutorial));
  ASSERT_GT(steps.size(), 10U);
  for (const auto& step : steps) {
    std::string out;
    for (const auto& command : step.commands) {
      std::cout << tutorial << ":" << command.line << ": " << command.text.substr(0, command.text.find('\n'))
                << std::endl;
      const auto finished = run(command.text);
      out += finished.out + finished.err;
      ASSERT_FALSE(finished.timed_out) << tutorial << ":" << command.line << ": " << command.text;
      ASSERT_EQ(finished.exit_code, command.exit_code)
          << tutorial << ":" << command.line << ": " << command.text << "\n"
          << finished.out << finished.err;
    }
    const std::string printed = squeezed_lines(out);
    std::size_t at = 0;
    for (std::string line : step.shown) {
      for (const auto& [_, name] : kExamples) replace_all(line, name, name_of(name));
      const std::size_t next = find_shown(printed, line, at);
      ASSERT_NE(next, std::string::npos) << tutorial << ":" << step.line << ": '" << line << "' is not shown in\n"
                                         << out;
      at = next;
    }
  }
}

TEST_F(Tutorial, EveryCommandDoesWhatItSays) { execute("tutorial.md"); }

TEST_F(Tutorial, TheManagementServerIsTakenApartAsItSays) { execute("tutorial-decoupling.md"); }

TEST_F(Tutorial, HostsComeAndGoAsItSays) { execute("tutorial-elastic.md"); }

TEST_F(Tutorial, UrgentWorkGoesFirstAsItSays) {
  if (harness::shell("test -e " + images() + "/root.erofs").exit_code != 0)
    GTEST_SKIP() << "there is no root for virtual machines, see " << images();
  execute("tutorial-urgent.md");
}

TEST(TutorialConvention, HereDocumentsExitCodesAndBlocksAreUnderstood) {
  const auto steps = steps_of(
      "```\nmake up\n```\n```sh\nfalse   # exits 1\ncat > x <<'EOF'\na\nb\nEOF\n```\n\n```text\none … "
      "three\n```\n```sh\ntrue\n```\n");
  ASSERT_EQ(steps.size(), 2U);
  ASSERT_EQ(steps[0].commands.size(), 2U);
  EXPECT_EQ(steps[0].commands[0].exit_code, 1);
  EXPECT_EQ(steps[0].commands[1].text, "cat > x <<'EOF'\na\nb\nEOF");
  EXPECT_EQ(steps[0].shown, std::vector<std::string>{"one … three"});
  EXPECT_TRUE(steps[1].shown.empty());
}

TEST(TutorialConvention, ShownLinesAreFoundInOrderWithAnythingInTheGaps) {
  const std::string out = squeezed_lines("zero\n one   two  three\nfour\n");
  const auto first = find_shown(out, "one … three", 0);
  ASSERT_NE(first, std::string::npos);
  EXPECT_NE(find_shown(out, "four", first), std::string::npos);
  EXPECT_EQ(find_shown(out, "zero", first), std::string::npos);
  EXPECT_EQ(find_shown(out, "one … four", 0), std::string::npos);
}

}  // namespace
}  // namespace underway
