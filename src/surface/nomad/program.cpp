#include "nomad/program.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "cli/terminal.hpp"
#include "node/fingerprint/fingerprint.hpp"
#include "nomad/exit_codes.hpp"
#include "nomad/table.hpp"
#include "os/file.hpp"

namespace underway::nomad {
namespace {

bool is_help(const std::string& word) { return word == "-h" || word == "-help" || word == "--help"; }
bool is_version(const std::string& word) { return word == "-v" || word == "-version" || word == "--version"; }

std::string lines_of(const std::vector<const Command*>& list) {
  std::size_t width = 0;
  for (const auto* command : list) width = std::max(width, command->name.size());
  std::string out;
  for (const auto* command : list) {
    const std::string name = fmt::format("    {:<{}}  ", command->name, width);
    out += name + cli::wrapped(command->summary, static_cast<std::size_t>(cli::terminal_width()), name.size())
                      .substr(name.size());
  }
  return out;
}

std::vector<const Command*> below(std::string_view noun) {
  const std::string prefix = std::string(noun) + " ";
  std::vector<const Command*> out;
  for (const auto& command : commands()) {
    if (noun.empty() || command.name.starts_with(prefix)) out.push_back(&command);
  }
  return out;
}

std::string overview() {
  return fmt::format("{}\nUsage: nomad [-version] [-help] <command> [options] [arguments]\n\nCommands:\n",
                     version_text()) +
         lines_of(below("")) + "\nOther words for some: " +
         [] {
           std::string out;
           for (const auto& alias : aliases()) out += fmt::format("{}{}", out.empty() ? "" : ", ", alias.name);
           return out;
         }() +
         ".\n";
}

std::string help_of(const Command& command) {
  const auto width = static_cast<std::size_t>(cli::terminal_width());
  std::string out = fmt::format("Usage: nomad {} [options]{}{}\n\n", command.name, command.arguments.empty() ? "" : " ",
                                command.arguments);
  out += cli::wrapped(command.summary, width, 2);
  if (!command.details.empty()) out += "\n" + cli::wrapped(command.details, width);
  const auto flags = cli::flags_of(command);
  if (!flags.empty()) out += "\nOptions:\n";
  for (const auto& flag : flags) {
    out += fmt::format("\n  -{}{}\n", flag.name, flag.value.empty() ? "" : fmt::format("=<{}>", lower(flag.value)));
    out += cli::wrapped(flag.doc, width, 6);
  }
  return out;
}

struct Found {
  const Command* command = nullptr;
  std::size_t words = 0;
};

/// The longest name that was typed.
Found find(const std::vector<std::string>& words) {
  Found found;
  std::string name;
  for (std::size_t i = 0; i < words.size() && i < 4 && !words[i].starts_with('-'); ++i) {
    name += (i == 0 ? "" : " ") + words[i];
    if (const auto* command = find_command(name)) found = {command, i + 1};
  }
  return found;
}

/// `nomad job`, `nomad job -h`, `nomad job rnu`.
int no_command(const std::vector<std::string>& words) {
  std::string noun = words[0];
  for (std::size_t i = 1; i < words.size() && !below(noun + " " + words[i]).empty(); ++i) noun += " " + words[i];
  if (const auto list = below(noun); !list.empty()) {
    const std::string text =
        fmt::format("Usage: nomad {} <subcommand> [options] [args]\n\nSubcommands:\n", noun) + lines_of(list);
    cli::print(text);
    return std::any_of(words.begin(), words.end(), is_help) ? 0 : kFailed;
  }
  std::vector<std::string> names;
  for (const auto& command : commands()) names.emplace_back(command.name);
  for (const auto& alias : aliases()) names.emplace_back(alias.name);
  const auto near = nearest(words[0], names);
  cli::say(fmt::format("nomad: '{}' is no command.{}", words[0],
                       near.empty() ? "" : fmt::format(" Did you mean `nomad {}`?", near)));
  cli::print(overview());
  return kUnknownCommand;
}

bool asks_for_help(const Command& command, const std::vector<std::string>& words) {
  for (const auto& word : words) {
    if (word == "--" || (command.passes_on && !word.starts_with('-'))) return false;
    if (is_help(word)) return true;
  }
  return false;
}

/// Certificates of a directory as one file, which lives as long as the program.
std::string bundle_of(const std::string& directory) {
  std::vector<std::filesystem::path> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failed))
    if (entry.is_regular_file()) files.push_back(entry.path());
  if (failed)
    throw Error(Code::not_found, fmt::format("cannot read the directory of certificates '{}'", directory))
        .because(failed.message());
  std::sort(files.begin(), files.end());
  std::string all;
  for (const auto& file : files) {
    const std::string text = os::read_file(file.string(), 1u << 20);
    if (text.find("-----BEGIN CERTIFICATE-----") != std::string::npos) all += text + "\n";
  }
  if (all.empty()) throw Error(Code::not_found, fmt::format("no certificate is in the directory '{}'", directory));
  const int fd = ::memfd_create("certificates", MFD_CLOEXEC);
  if (fd < 0 || ::write(fd, all.data(), all.size()) != static_cast<ssize_t>(all.size()))
    throw errno_error(errno, "cannot hold the certificates of -ca-path in memory");
  return fmt::format("/proc/self/fd/{}", fd);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

/// Nomad's variables go before ours of the same meaning: that is the name which was called.
void prefer_nomads_environment() {
  for (const char* name : {"ADDR", "TOKEN", "NAMESPACE", "REGION", "CACERT", "CLIENT_CERT", "CLIENT_KEY",
                           "TLS_SERVER_NAME", "SKIP_VERIFY", "HTTP_AUTH"}) {
    if (!variable((std::string("NOMAD_") + name).c_str()).empty())
      ::unsetenv((std::string("UNDERWAY_") + name).c_str());
  }
}

/// Flags and environment that hold for every command, in the form in which cli reads them.
void apply_general(const Command& command, const Arguments& arguments) {
  if (!command.talks_to_server) return;
  prefer_nomads_environment();
  if (arguments.has("no-color") || !variable("NOMAD_CLI_NO_COLOR").empty()) ::setenv("NO_COLOR", "1", 1);
  if (arguments.has("force-color")) ::setenv("NOMAD_CLI_FORCE_COLOR", "1", 1);
  const std::string path = arguments.get("ca-path", variable("NOMAD_CAPATH"));
  const bool has_file = arguments.find("ca-cert") || !variable("NOMAD_CACERT").empty();
  if (!path.empty() && !has_file) ::setenv("NOMAD_CACERT", bundle_of(path).c_str(), 1);
  if (arguments.has("insecure")) ::setenv("NOMAD_SKIP_VERIFY", "true", 1);
  if (arguments.has("ui")) cli::say("there is no web page to open: underway has none yet");
}

void refuse_flags(const Command& command, const Arguments& arguments) {
  for (const auto& flag : command.flags) {
    if (is_refused(flag.doc) && arguments.find(flag.name))
      throw Error(Code::invalid, fmt::format("'{}' does not take -{}", command.name, flag.name))
          .because(std::string(flag.doc));
  }
}

/// What is taken and does nothing is not taken in silence.
void tell_idle_flags(const Command& command, const Arguments& arguments) {
  for (const auto& flag : command.flags) {
    if (is_idle(flag.doc) && arguments.find(flag.name)) cli::say(fmt::format("warning: -{}: {}", flag.name, flag.doc));
  }
}

/// As Nomad words it: an index is read by its commands, other numbers by Go's package of flags.
Error no_number(const Flag& flag, const std::string& value) {
  const bool digits = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
  if (flag.name == "check-index") {
    return Error(Code::invalid, fmt::format("Error parsing check-index value \"{0}\": strconv.ParseUint: parsing "
                                            "\"{0}\": {1}",
                                            value, digits ? "value out of range" : "invalid syntax"));
  }
  return Error(Code::invalid, fmt::format("invalid value \"{}\" for flag -{}: {}", value, flag.name,
                                          digits ? "value out of range" : "parse error"));
}

/// What is refused is refused for its reason, whatever stands behind it.
Arguments understand(const Command& command, const std::vector<std::string>& words) {
  try {
    return cli::parse(command, words, no_number);
  } catch (const Error&) {
    if (!is_refused(command.summary)) throw;
    throw Error(Code::invalid, std::string(command.summary));
  }
}

/// Advice about commands that are here by the name that was called.
std::string in_nomads_name(std::string text) {
  constexpr std::string_view kOurs = "`underway ", kNomads = "`nomad ";
  for (std::size_t at = text.find(kOurs); at != std::string::npos; at = text.find(kOurs, at + 1)) {
    const std::size_t start = at + kOurs.size();
    const auto words = split(std::string_view(text).substr(start, text.find('`', start) - start), ' ');
    if (find(words).command != nullptr) text.replace(at, kOurs.size(), kNomads);
  }
  return text;
}

int run(const Command& command, const std::vector<std::string>& words) {
  const int failed = command.name == "job plan" ? kPlanFailed : kFailed;
  try {
    const auto arguments = understand(command, words);
    refuse_flags(command, arguments);
    tell_idle_flags(command, arguments);
    apply_general(command, arguments);
    return command.run(arguments);
  } catch (const Error& error) {
    cli::say(in_nomads_name(error.text()));
    return failed;
  }
}

}  // namespace

bool is_called(std::string_view argv0) { return argv0.substr(argv0.rfind('/') + 1) == "nomad"; }

cli::Command with_run(cli::Command command, int (*run)(const cli::Arguments&)) {
  command.run = run;
  return command;
}

std::string version_text() {
  // Clients look for the first "v1.2.3" of it.
  return fmt::format("Nomad v{}\nUnderway {} ({})\n", node::kNomadVersion, underway::version(), build_id());
}

int run_program(const std::vector<std::string>& words) {
  if (words.empty()) {
    cli::print(overview());
    return kUnknownCommand;
  }
  if (is_version(words[0]) || words[0] == "version") {
    cli::print(version_text());
    return 0;
  }
  if (words[0].starts_with("-autocomplete-")) {
    cli::say("nothing is written into your shell's files: `underway completion bash` prints the script");
    return kFailed;
  }
  if (is_help(words[0]) || words[0] == "help") {
    cli::print(overview());
    return 0;
  }
  const Found found = find(words);
  if (found.command == nullptr) return no_command(words);
  const std::vector<std::string> rest(words.begin() + static_cast<std::ptrdiff_t>(found.words), words.end());
  if (asks_for_help(*found.command, rest)) {
    cli::print(help_of(*found.command));
    return 0;
  }
  return run(*found.command, rest);
}

}  // namespace underway::nomad
