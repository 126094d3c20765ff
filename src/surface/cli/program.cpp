// Finds the command that was typed, runs it, and prints what escapes from it.
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "cli/command.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

struct Found {
  const Command* command = nullptr;
  std::size_t words = 0;  ///< how many of the words are its name
};

Found find_command(const std::vector<std::string>& words) {
  Found found;
  for (const auto* command : commands()) {
    const auto name = split(command->name, ' ');
    if (name.size() > words.size() || name.size() <= found.words) continue;
    if (std::equal(name.begin(), name.end(), words.begin())) found = {command, name.size()};
  }
  return found;
}

std::size_t width() { return static_cast<std::size_t>(terminal_width()); }

bool is_help(const std::string& word) { return word == "-h" || word == "-help" || word == "--help"; }

int unknown(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const auto* command : commands()) names.emplace_back(command->name);
  const std::string typed = words.size() > 1 && !words[1].starts_with('-') ? words[0] + " " + words[1] : words[0];
  if (const auto verbs = help(words[0], width()); !verbs.empty()) {
    if (words.size() > 1 && !is_help(words[1])) {
      const auto near = nearest(typed, names);
      say(fmt::format("error: there is no command '{}'\n  do:    {}\n", typed,
                      near.empty() ? "use one of these" : fmt::format("did you mean `underway {}`?", near)));
    }
    (words.size() > 1 && is_help(words[1]) ? print : say)(verbs);
    return words.size() > 1 && is_help(words[1]) ? kDone : kUsage;
  }
  const auto near = nearest(typed, names);
  Error error(Code::invalid, fmt::format("there is no command '{}'", typed));
  error.advise(near.empty() ? "see `underway -h`" : fmt::format("did you mean `underway {}`?", near));
  say(error.text());
  return kUsage;
}

bool asks_for_help(const Command& command, const std::vector<std::string>& words) {
  for (const auto& word : words) {
    if (word == "--" || (command.passes_on && !word.starts_with('-'))) return false;
    if (is_help(word)) return true;
  }
  return false;
}

}  // namespace

int run_program(const std::vector<std::string>& words) {
  if (words.empty()) {
    say(overview(width()));
    return kUsage;
  }
  if (is_help(words[0]) || words[0] == "help") {
    print(overview(width()));
    return kDone;
  }
  if (words[0] == "-version" || words[0] == "--version" || words[0] == "-v") {
    print(fmt::format("Underway v{} ({})\n", version(), build_id()));
    return kDone;
  }
  const Found found = find_command(words);
  if (found.command == nullptr) return unknown(words);
  const std::vector<std::string> rest(words.begin() + static_cast<std::ptrdiff_t>(found.words), words.end());
  if (asks_for_help(*found.command, rest)) {
    print(help(*found.command, width()));
    return kDone;
  }
  Arguments arguments;
  try {
    arguments = parse(*found.command, rest);
  } catch (const Error& error) {
    say(error.text());
    return kUsage;
  }
  try {
    return found.command->run(arguments);
  } catch (const Error& error) {
    say(error.text());
    const auto name = found.command->name;
    if (name == "job plan" || name == "plan" || name == "migrate from-nomad") return kPlanFailed;
    return error.code() == Code::unavailable && found.command->talks_to_server ? kUnreachable : kFailed;
  }
}

}  // namespace underway::cli
