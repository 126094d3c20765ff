#pragma once
/// @file
/// The terminal's side of a session with a remote command: raw mode, window changes, and putting it all back.

#include <functional>
#include <optional>

#include "cli/command.hpp"
#include "sdk/client.hpp"

namespace underway::cli {

inline constexpr Flag kEscape{
    "e", "CHARACTER",
    "Typed at the beginning of a line and followed by a dot, it ends a session in a terminal; "
    "~. `none`: nothing does."};
/// What -e says. Throws invalid.
std::optional<char> escape_of(const Arguments& arguments);

/// Finds in what is typed the two characters that end a session, as ssh(1) has them: at the beginning of a line the
/// escape character and a dot. Twice the escape character is that character.
class EscapeFilter {
 public:
  explicit EscapeFilter(char escape) : escape_(escape) {}
  /// What is to be sent of `typed`; nothing when it ends the session.
  std::optional<std::string> pass(std::string_view typed);

 private:
  enum class Indexed { beginning, escaped, within };
  char escape_;
  Indexed at_ = Indexed::beginning;
};

/// What is to be sent of `typed` to a console: nothing once Ctrl-] is in it, which leaves it, as of virsh(1) and
/// telnet(1). What ssh(1) has would end the session of who comes through one.
std::optional<std::string> typed_to_console(std::string_view typed);

/// A session on our own descriptors. `tty`: a terminal on the other side too; by default when ours is one.
/// Runs `start` and restores the terminal whatever happens. Returns the command's exit code; kFailed when `escape` was
/// typed.
int run_in_terminal(sdk::ExecSession session, bool interactive, std::optional<char> escape,
                    const std::function<int(const sdk::ExecSession&)>& start);

}  // namespace underway::cli
