#pragma once
/// @file
/// A command of the program, as data: parsing, help, completion and man pages are all made from it. One command, one
/// file; commands() lists them.

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace underway::cli {

/// Exit codes. Verbs shared with Nomad keep its codes: `job plan` 0 no change, 1 changes, 255 error.
enum ExitCode : int { kDone = 0, kFailed = 1, kUsage = 2, kUnreachable = 3, kPlanFailed = 255 };

/// Of a flag that takes a whole number.
struct Range {
  std::int64_t least = 0, most = std::numeric_limits<std::int64_t>::max();
};

struct Flag {
  std::string_view name;   ///< without dashes; one or two are accepted
  std::string_view value;  ///< what it takes, in words ("FILE"); empty: a switch
  std::string_view doc;
  bool repeated = false;
  std::optional<Range> number = {};
};

constexpr Flag number_flag(std::string_view name, std::string_view value, std::string_view doc, Range range = {}) {
  return {name, value, doc, false, range};
}

/// What is said of a value that is no number, or none that the flag takes.
using NumberRefusal = Error (*)(const Flag& flag, const std::string& value);
Error no_number(const Flag& flag, const std::string& value);

/// What was typed, taken apart by the command's flags.
class Arguments {
 public:
  bool has(std::string_view flag) const;
  /// The last value given.
  std::optional<std::string> find(std::string_view flag) const;
  std::string get(std::string_view flag, std::string_view otherwise = {}) const;
  std::vector<std::string> all(std::string_view flag) const;
  /// Of a flag that takes a number: the last one given.
  std::optional<std::int64_t> number(std::string_view flag) const;
  const std::vector<std::string>& positional() const { return positional_; }

 private:
  friend Arguments parse(const struct Command&, const std::vector<std::string>&, NumberRefusal);
  std::vector<std::pair<std::string, std::string>> flags_;
  std::vector<std::string> positional_;
};

struct Command {
  std::string_view name;       ///< "job run"
  std::string_view arguments;  ///< "FILE", "[ID]", "HOST -- COMMAND…"
  std::string_view summary;    ///< one line
  std::string_view details;    ///< paragraphs
  std::vector<std::string_view> examples;
  std::vector<Flag> flags;
  std::size_t least = 0, most = 0;  ///< positional arguments
  bool passes_on = false;           ///< flags end at the first positional argument: what follows is another command's
  bool talks_to_server = true;      ///< takes -address and the like
  std::function<int(const Arguments&)> run;
};

/// Every command, in the order of the overview.
const std::vector<const Command*>& commands();

/// Flags that every command which talks to a server has too.
const std::vector<Flag>& server_flags();
/// All flags of a command, its own first.
std::vector<Flag> flags_of(const Command& command);

/// Throws Error(invalid) for an unknown flag (with the nearest), a missing value, what `refusal` says of a wrong
/// number, or too few or too many arguments.
Arguments parse(const Command& command, const std::vector<std::string>& words, NumberRefusal refusal = no_number);

/// `underway -h`, `underway job -h`, `underway job run -h`, for a terminal of so many columns.
std::string overview(std::size_t width);
std::string help(std::string_view noun, std::size_t width);
std::string help(const Command& command, std::size_t width);
/// troff for man(1): section 1, one page per command and one for the program.
std::string man_page(const Command& command);
std::string man_page_of_program();
/// A script for bash or zsh. Throws Error(invalid) for another shell.
std::string completion(std::string_view shell);

/// Runs the program: finds the command, runs it, prints what escapes. Returns the exit code.
int run_program(const std::vector<std::string>& words);

}  // namespace underway::cli
