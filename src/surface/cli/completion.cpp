#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"

namespace underway::cli {
namespace {

/// "  'job run') echo '-detach -var …' ;;" for every command.
std::string flag_cases() {
  std::string out;
  for (const auto* command : commands()) {
    std::string flags;
    for (const auto& flag : flags_of(*command))
      flags += fmt::format("{}-{}{}", flags.empty() ? "" : " ", flag.name, flag.value.empty() ? "" : "=");
    out += fmt::format("    '{}') words='{}' ;;\n", command->name, flags);
  }
  return out;
}

std::string nouns() {
  std::string out;
  std::string last;
  for (const auto* command : commands()) {
    const std::string noun(command->name.substr(0, command->name.find(' ')));
    if (noun != last) out += (out.empty() ? "" : " ") + noun;
    last = noun;
  }
  return out;
}

std::string verb_cases() {
  std::string out, last, verbs;
  const auto flush = [&] {
    if (!verbs.empty()) out += fmt::format("    '{}') words='{}' ;;\n", last, verbs);
    verbs.clear();
  };
  for (const auto* command : commands()) {
    const std::size_t blank = command->name.find(' ');
    const std::string noun(command->name.substr(0, blank));
    if (noun != last) flush();
    last = noun;
    if (blank != std::string_view::npos)
      verbs += (verbs.empty() ? "" : " ") + std::string(command->name.substr(blank + 1));
  }
  flush();
  return out;
}

std::string bash() {
  return "# bash completion for underway; load with: source <(underway completion bash)\n"
         "_underway() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} words=''\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then words='" +
         nouns() +
         "'\n"
         "  elif [ \"$COMP_CWORD\" -eq 2 ] && [ \"${current#-}\" = \"$current\" ]; then\n"
         "    case \"${COMP_WORDS[1]}\" in\n" +
         verb_cases() +
         "    esac\n"
         "  fi\n"
         "  if [ \"${current#-}\" != \"$current\" ]; then\n"
         "    case \"${COMP_WORDS[1]} ${COMP_WORDS[2]} ${COMP_WORDS[3]}\" in\n" +
         flag_cases() +
         "    esac\n"
         "    if [ -z \"$words\" ]; then case \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n" +
         flag_cases() +
         "    esac; fi\n"
         "    if [ -z \"$words\" ]; then case \"${COMP_WORDS[1]}\" in\n" +
         flag_cases() +
         "    esac; fi\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  [ -n \"$words\" ] || COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "}\n"
         "complete -o nospace -F _underway underway\n";
}

}  // namespace

std::string completion(std::string_view shell) {
  if (shell == "bash") return bash();
  if (shell == "zsh")
    return "# zsh completion for underway; load with: source <(underway completion zsh)\nautoload -U +X bashcompinit "
           "&& bashcompinit\n" +
           bash();
  throw Error(Code::invalid, fmt::format("there is no completion for '{}'", shell)).advise("use bash or zsh");
}

}  // namespace underway::cli
