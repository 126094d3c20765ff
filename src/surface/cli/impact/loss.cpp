#include "cli/impact/loss.hpp"

#include <iostream>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {

ExitCode ask_before(const Loss& loss, bool yes, const std::function<std::string()>& typed) {
  if (loss.lost.empty() || yes) return kDone;
  if (!typed) {
    Error error(Code::invalid, loss.deed + ", and nobody is here to be asked");
    error.because(loss.lost);
    say(error.advise("type it at a terminal, or add -yes").text());
    return kUsage;
  }
  say(paint(Colour::yellow, "! ", 2) + loss.deed + ":");
  for (const auto& line : loss.lost) say("    " + line);
  std::fprintf(stderr, "Type %s to go on: ", loss.word.c_str());
  if (trim(typed()) == loss.word) return kDone;
  say("nothing was changed");
  return kFailed;
}

ExitCode ask_before(const Loss& loss, const Arguments& arguments) {
  const auto typed = [] {
    std::string line;
    std::getline(std::cin, line);
    return line;
  };
  return ask_before(loss, arguments.has(kYes.name), is_terminal(0) ? std::function<std::string()>(typed) : nullptr);
}

}  // namespace underway::cli
