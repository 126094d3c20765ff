#include "cli/command.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/terminal.hpp"

#include <algorithm>
#include <set>

namespace underway::cli {
namespace {

Command sample() {
  return {.name = "job run",
          .arguments = "FILE",
          .summary = "Runs.",
          .flags = {{"detach", "", "Returns at once."}, {"var", "NAME=VALUE", "A value.", true}},
          .least = 1,
          .most = 1};
}

TEST(Parse, AcceptsOneAndTwoDashesAndValuesBothWays) {
  const auto command = sample();
  const auto a = parse(command, {"-var", "x=1", "--var=y=2", "-detach", "file.hcl", "-address=http://a"});
  EXPECT_EQ(a.all("var"), (std::vector<std::string>{"x=1", "y=2"}));
  EXPECT_TRUE(a.has("detach"));
  EXPECT_EQ(a.get("address"), "http://a");
  EXPECT_EQ(a.positional(), std::vector<std::string>{"file.hcl"});
  EXPECT_FALSE(parse(command, {"-detach=false", "f"}).has("detach"));
}

TEST(Parse, TakesTheNameOfAKeyForNoFlag) {
  const std::string id = "-Adwcr0TStAap-4Uqc3GDcawjTRI4IDMki0YlQ7U_Ts";
  EXPECT_EQ(parse(sample(), {id, "-detach"}).positional(), std::vector<std::string>{id});
  EXPECT_EQ(parse(sample(), {"--" + id.substr(2)}).positional(), std::vector<std::string>{"--" + id.substr(2)});
  EXPECT_THROW(parse(sample(), {id + "x"}), Error);
  EXPECT_THROW(parse(sample(), {id.substr(1) + "-x", "-" + id}), Error);
}

TEST(Parse, SuggestsTheNearestFlag) {
  try {
    parse(sample(), {"-detatch", "f"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.text(), "error: 'job run' has no flag -detatch\n  do:    did you mean -detach?");
  }
}

TEST(Parse, RefusesMissingValuesAndWrongCounts) {
  EXPECT_THROW(parse(sample(), {"f", "-var"}), Error);
  EXPECT_THROW(parse(sample(), {}), Error);
  EXPECT_THROW(parse(sample(), {"a", "b"}), Error);
}

TEST(Parse, LeavesTheFlagsOfAPassedOnCommandAlone) {
  Command command = sample();
  command.passes_on = true;
  command.most = 10;
  for (const auto& words :
       {std::vector<std::string>{"login", "--", "ls", "-l"}, {"login", "ls", "-l"}, {"--", "login", "ls", "-l"}}) {
    EXPECT_EQ(parse(command, words).positional(), (std::vector<std::string>{"login", "ls", "-l"}));
  }
}

TEST(Commands, AreCompleteAndUnique) {
  std::set<std::string_view> names;
  for (const auto* command : commands()) {
    EXPECT_TRUE(names.insert(command->name).second) << command->name;
    EXPECT_FALSE(command->summary.empty()) << command->name;
    EXPECT_TRUE(command->run) << command->name;
    EXPECT_LE(command->least, command->most) << command->name;
    std::set<std::string_view> flags;
    for (const auto& flag : flags_of(*command)) {
      EXPECT_TRUE(flags.insert(flag.name).second) << command->name << " -" << flag.name;
      EXPECT_FALSE(flag.doc.empty()) << command->name << " -" << flag.name;
    }
  }
}

/// As many positional arguments as the command needs.
std::vector<std::string> with_arguments(const Command& command, const std::string& flag) {
  std::vector<std::string> words{flag};
  words.resize(1 + command.least, "x");
  return words;
}

TEST(Numbers, AreWholeInEveryFlagThatTakesOne) {
  const std::set<std::string_view> kNumbers = {"DAYS",  "MIB",   "PERCENT", "N",     "INDEX",   "NUMBER",
                                               "LINES", "BYTES", "PID",     "MBITS", "SECONDS", "MHZ"};
  std::size_t seen = 0;
  for (const auto* command : commands()) {
    for (const auto& flag : flags_of(*command)) {
      const std::string name = fmt::format("-{}=", flag.name);
      SCOPED_TRACE(fmt::format("{} {}", command->name, name));
      EXPECT_EQ(flag.number.has_value(), kNumbers.contains(flag.value)) << "declared with number_flag()";
      if (!flag.number) continue;
      ++seen;
      for (const auto good : {flag.number->least, flag.number->most}) {
        const auto arguments = parse(*command, with_arguments(*command, name + std::to_string(good)));
        EXPECT_EQ(arguments.number(flag.name), good);
      }
      for (const char* bad : {"", "x", "0abc", "1 ", " 1", "+1", "-1", "1.5", "0x10", "99999999999999999999"}) {
        try {
          parse(*command, with_arguments(*command, name + bad));
          ADD_FAILURE() << "took '" << bad << "'";
        } catch (const Error& error) {
          EXPECT_EQ(error.message(), fmt::format("-{} '{}' is no number that it takes", flag.name, bad));
        }
      }
      if (flag.number->least > 0) {
        EXPECT_THROW(parse(*command, with_arguments(*command, name + "0")), Error);
      }
    }
  }
  EXPECT_GT(seen, 20u);
}

TEST(Numbers, ThatAreWrongAreToldWithWhatIsWanted) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_program({"survey", "host", "-samples", "0abc"}), kUsage);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "error: -samples '0abc' is no number that it takes\n  why:   a whole number from 1 to 100000 is wanted\n");
}

TEST(Help, NamesUsageFlagsAndExamples) {
  for (const auto* command : commands()) {
    SCOPED_TRACE(command->name);
    const auto text = help(*command, 80);
    EXPECT_TRUE(text.starts_with("Usage: underway " + std::string(command->name)));
    for (const auto& flag : command->flags)
      EXPECT_NE(text.find("-" + std::string(flag.name)), std::string::npos) << flag.name;
    EXPECT_TRUE(man_page(*command).starts_with(".TH UNDERWAY\\-") || man_page(*command).starts_with(".TH UNDERWAY-"));
  }
  EXPECT_NE(help("job", 80).find("job plan"), std::string::npos);
}

std::string one_line(std::string_view text) {
  std::string out;
  for (const auto& word : split(text, ' '))
    for (const auto& part : split(word, '\n'))
      if (!part.empty()) out += part + " ";
  return out;
}

TEST(Help, FitsTheTerminal) {
  for (const std::size_t width : {60, 80, 132}) {
    for (const auto* command : commands()) {
      SCOPED_TRACE(fmt::format("{} in {} columns", command->name, width));
      const auto text = help(*command, width);
      EXPECT_NE(one_line(text).find(one_line(command->details)), std::string::npos) << "every word is there, in order";
      for (const auto& line : split(text, '\n')) {
        const bool is_typed =
            line.starts_with("Usage:") || line.starts_with("  -") ||
            std::ranges::any_of(command->examples, [&](const auto& example) { return trim(line) == example; });
        const bool is_word = trim(line).find(' ') == std::string_view::npos;
        EXPECT_TRUE(is_typed || is_word || display_width(line) <= width) << line;
      }
    }
    for (const auto& line : split(overview(width), '\n'))
      EXPECT_LE(display_width(line), std::max<std::size_t>(width, 70)) << line;
  }
}

TEST(Wrapped, KeepsLinesAndTheirIndentation) {
  EXPECT_EQ(wrapped("one two three four five six\n\n  indented as a list is", 20),
            "one two three four\nfive six\n\n  indented as a list\n  is\n");
  EXPECT_EQ(wrapped("a b", 20, 4), "    a b\n");
  EXPECT_EQ(wrapped("grüße aus der stadt x", 20), "grüße aus der stadt\nx\n") << "columns, not bytes";
}

TEST(Completion, KnowsEveryCommand) {
  const auto script = completion("bash");
  for (const auto* command : commands())
    EXPECT_NE(script.find("'" + std::string(command->name) + "')"), std::string::npos) << command->name;
  EXPECT_THROW(completion("fish"), Error);
}

TEST(Completion, OffersEachNounOnceAndAllOfItsVerbsTogether) {
  const auto lines = split(completion("bash"), '\n');
  const auto begins = [&](std::string_view text) {
    return std::ranges::find_if(lines, [&](const auto& line) { return line.find(text) != std::string::npos; });
  };
  const std::string& first = *begins("\"$COMP_CWORD\" -eq 1");
  const std::size_t quote = first.find("words='") + 7;
  auto nouns = split(first.substr(quote, first.rfind('\'') - quote), ' ');
  std::vector<std::string> labels;  // a second of the same name would never be reached
  for (auto line = begins("case \"${COMP_WORDS[1]}\" in"); trim(*line) != "esac"; ++line) {
    if (line->starts_with("    '")) labels.push_back(line->substr(5, line->find('\'', 5) - 5));
  }
  for (const auto* words : {&nouns, &labels}) {
    EXPECT_GT(words->size(), 10U);
    EXPECT_EQ(std::set<std::string>(words->begin(), words->end()).size(), words->size()) << join(*words, " ");
  }
}

TEST(Program, HasTheExitCodesThatTheReferenceNames) {
  EXPECT_EQ(run_program({}), kUsage);
  EXPECT_EQ(run_program({"version"}), kDone);
  EXPECT_EQ(run_program({"jobb"}), kUsage);
  EXPECT_EQ(run_program({"job", "rum", "x"}), kUsage);
  EXPECT_EQ(run_program({"job", "validate", "/no/such/file.hcl"}), kFailed);
  EXPECT_EQ(run_program({"status", "-address=unix:///no/such/socket"}), kUnreachable);
  EXPECT_EQ(run_program({"job", "plan", "/no/such/file.hcl"}), kPlanFailed);
}

TEST(Program, TakesTheTaskOfAMachineByItsFlagAlone) {
  for (const char* verb : {"pause", "resume", "checkpoint"}) {
    SCOPED_TRACE(verb);
    EXPECT_EQ(run_program({"alloc", verb}), kUsage);
    EXPECT_EQ(run_program({"alloc", verb, "3b1c", "db"}), kUsage);
    EXPECT_EQ(run_program({"alloc", verb, "-task", "db", "3b1c", "-address=unix:///no/such/socket"}), kUnreachable);
  }
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_program({"alloc", "checkpoint", "-help"}), kDone);
  const auto help = testing::internal::GetCapturedStdout();
  EXPECT_NE(help.find("Keeps a virtual machine as it is now"), std::string::npos) << help;
  EXPECT_NE(help.find("all tasks that run when not given"), std::string::npos) << help;
}

TEST(Table, AlignsColumnsAndFitsTheWidth) {
  Table table({"ID", "Name", "Note"});
  table.add({"1", "grüße", "short"});
  table.add({"22", "x", "a very long note that has to be cut somewhere"});
  EXPECT_EQ(table.text(0),
            "ID  Name   Note\n1   grüße  short\n22  x      a very long note that has to be cut somewhere\n");
  const auto narrow = table.text(30);
  EXPECT_NE(narrow.find("…"), std::string::npos);
  std::size_t start = 0;
  for (std::size_t end; (end = narrow.find('\n', start)) != std::string::npos; start = end + 1) {
    EXPECT_LE(display_width(narrow.substr(start, end - start)), 30u);
  }
}

TEST(Bar, ShowsWhatIsDone) {
  EXPECT_EQ(bar(0, 4, 4), "[....]");
  EXPECT_EQ(bar(2, 4, 4), "[##..]");
  EXPECT_EQ(bar(0, 0, 4), "[####]");
}

TEST(Wrap, BreaksAtBlanks) { EXPECT_EQ(wrap("one two three", 7), (std::vector<std::string>{"one two", "three"})); }

}  // namespace
}  // namespace underway::cli
