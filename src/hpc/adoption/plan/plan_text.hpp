#pragma once
/// @file
/// Markdown with steps and commands, in which nothing that was read on a machine becomes markup or a command.

#include <string>
#include <string_view>
#include <vector>

namespace underway::adoption {

/// One word of a shell's command line.
std::string shell_word(std::string_view text);
/// Text within a line of Markdown: no markup, no line ends.
std::string markdown_text(std::string_view text);
/// `text` as code within a line.
std::string markdown_code(std::string_view text);

struct Step {
  std::string title;
  std::string why;
  std::vector<std::string> notes;     ///< list items
  std::vector<std::string> commands;  ///< lines of shell; a line that begins with "# " says where they are typed
  std::string done_when;
  std::vector<std::string> back;  ///< lines of shell
  std::string back_text;          ///< when there is nothing to type
};
/// "## 3. Title", with commands, when it worked, and the way back.
std::string write_step(std::size_t number, const Step& step);
/// A table; cells are Markdown already.
std::string write_table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows);

}  // namespace underway::adoption
