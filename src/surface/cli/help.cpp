#include "base/text.hpp"
#include "base/version.hpp"
#include "cli/command.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

std::string flag_label(const Flag& flag) {
  return flag.value.empty() ? fmt::format("-{}", flag.name) : fmt::format("-{}={}", flag.name, flag.value);
}

std::string flag_lines(const std::vector<Flag>& flags, std::size_t width) {
  std::string out;
  for (const auto& flag : flags) {
    out += "  " + flag_label(flag) + "\n";
    out += wrapped(std::string(flag.doc) + (flag.repeated ? " May be given several times." : ""), width, 6);
  }
  return out;
}

std::string_view noun_of(const Command& command) { return command.name.substr(0, command.name.find(' ')); }

std::string command_lines(const std::vector<const Command*>& list, std::size_t width) {
  std::size_t longest = 0;
  for (const auto* command : list) longest = std::max(longest, command->name.size());
  std::string out;
  for (const auto* command : list) {
    const std::string name = fmt::format("  {:<{}}  ", command->name, longest);
    out += name + wrapped(command->summary, width, name.size()).substr(name.size());
  }
  return out;
}

/// troff: a leading dot or quote and every backslash and dash are escaped (man(7)).
std::string troff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
      (out += "\\&") += c;
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string overview(std::size_t width) {
  return fmt::format(
             "underway {}: one control plane for an HPC cluster\n\n"
             "Usage: underway COMMAND [FLAGS] [ARGUMENTS]\n\n"
             "Commands:\n",
             version()) +
         command_lines(commands(), width) + "\n`underway COMMAND -h` tells more.\n";
}

std::string help(std::string_view noun, std::size_t width) {
  std::vector<const Command*> own;
  for (const auto* command : commands()) {
    if (noun_of(*command) == noun) own.push_back(command);
  }
  return own.empty() ? std::string()
                     : fmt::format("Usage: underway {} VERB [FLAGS] [ARGUMENTS]\n\n", noun) + command_lines(own, width);
}

std::string help(const Command& command, std::size_t width) {
  std::string out = fmt::format("Usage: underway {} [FLAGS]{}{}\n\n", command.name,
                                command.arguments.empty() ? "" : " ", command.arguments);
  out += wrapped(command.summary, width);
  if (!command.details.empty()) out += "\n" + wrapped(command.details, width);
  if (!command.examples.empty()) {
    out += "\nExamples:\n";
    for (const auto& example : command.examples) out += fmt::format("  {}\n", example);
  }
  if (!command.flags.empty()) out += "\nFlags:\n" + flag_lines(command.flags, width);
  if (command.talks_to_server)
    out += "\nFlags of every command that talks to a server:\n" + flag_lines(server_flags(), width);
  return out;
}

std::string man_page(const Command& command) {
  std::string title = "underway-" + std::string(command.name);
  std::replace(title.begin(), title.end(), ' ', '-');
  std::string out = fmt::format(".TH {} 1 \"\" \"underway {}\"\n.SH NAME\n{} \\- {}\n", upper(title), version(),
                                troff(title), troff(command.summary));
  out += fmt::format(".SH SYNOPSIS\n.B underway {}\n[FLAGS] {}\n", command.name, troff(command.arguments));
  if (!command.details.empty()) out += ".SH DESCRIPTION\n" + troff(command.details) + "\n";
  out += ".SH OPTIONS\n";
  for (const auto& flag : flags_of(command))
    out += fmt::format(".TP\n.B {}\n{}\n", troff(flag_label(flag)), troff(flag.doc));
  if (!command.examples.empty()) {
    out += ".SH EXAMPLES\n.nf\n";
    for (const auto& example : command.examples) out += troff(example) + "\n";
    out += ".fi\n";
  }
  return out + ".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage, 3 the agent cannot be reached.\n";
}

std::string man_page_of_program() {
  std::string out = fmt::format(
      ".TH UNDERWAY 1 \"\" \"underway {}\"\n.SH NAME\nunderway \\- one control plane for an HPC cluster\n.SH "
      "SYNOPSIS\n.B underway\nCOMMAND [FLAGS] [ARGUMENTS]\n.SH COMMANDS\n",
      version());
  for (const auto* command : commands()) out += fmt::format(".TP\n.B {}\n{}\n", command->name, troff(command->summary));
  return out;
}

}  // namespace underway::cli
