#include <algorithm>
#include <vector>

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

struct Noun {
  std::string name;
  std::string verbs;  ///< with blanks between; none for a command of one word
};

/// Each once: commands of a noun need not stand together, as `capsule snapshot` and `capsule move` do not.
std::vector<Noun> nouns() {
  std::vector<Noun> all;
  for (const auto* command : commands()) {
    const std::size_t blank = command->name.find(' ');
    const std::string name(command->name.substr(0, blank));
    auto noun = std::ranges::find(all, name, &Noun::name);
    if (noun == all.end()) noun = all.insert(all.end(), {name, {}});
    if (blank == std::string_view::npos) continue;
    noun->verbs += (noun->verbs.empty() ? "" : " ") + std::string(command->name.substr(blank + 1));
  }
  return all;
}

std::string noun_words() {
  std::vector<std::string> names;
  for (const auto& noun : nouns()) names.push_back(noun.name);
  return join(names, " ");
}

std::string verb_cases() {
  std::string out;
  for (const auto& noun : nouns()) {
    if (!noun.verbs.empty()) out += fmt::format("    '{}') words='{}' ;;\n", noun.name, noun.verbs);
  }
  return out;
}

std::string bash() {
  return "# bash completion for underway; load with: source <(underway completion bash)\n"
         "_underway() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} words=''\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then words='" +
         noun_words() +
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
