#include "adoption/plan/plan_text.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace underway::adoption {
namespace {

std::string one_line(std::string_view text) {
  std::string out(text);
  for (auto& c : out)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return is_utf8(out) ? out : hex(out);
}

std::string fenced(const std::vector<std::string>& lines) {
  std::string out = "```\n";
  for (const auto& line : lines) out += line + "\n";
  return out + "```\n";
}

}  // namespace

std::string shell_word(std::string_view text) {
  std::string line = one_line(text);
  const bool plain = !line.empty() && line.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                          "_-./:,@%+=[]") == std::string::npos;
  if (plain && line.front() != '[') return line;
  std::string out = "'";
  for (const char c : line) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : one_line(text)) {
    if (std::string_view("\\`*_{}[]<>#|!").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string markdown_code(std::string_view text) {
  std::string line = one_line(text);
  for (auto& c : line)
    if (c == '`' || c == '|') c = ' ';
  return "`" + line + "`";
}

std::string write_step(std::size_t number, const Step& step) {
  std::string out = fmt::format("\n## {}. {}\n\n", number, step.title);
  if (!step.why.empty()) out += step.why + "\n\n";
  for (const auto& note : step.notes) out += "- " + note + "\n";
  if (!step.notes.empty()) out += "\n";
  if (!step.commands.empty()) out += fenced(step.commands) + "\n";
  if (!step.done_when.empty()) out += "**It worked when** " + step.done_when + "\n\n";
  out += "**The way back:** " + (step.back_text.empty() ? std::string("these commands.") : step.back_text) + "\n";
  if (!step.back.empty()) out += "\n" + fenced(step.back);
  return out;
}

std::string write_table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows) {
  std::string out = "|";
  for (const auto& cell : head) out += " " + cell + " |";
  out += "\n|";
  for (std::size_t i = 0; i < head.size(); ++i) out += " --- |";
  out += "\n";
  for (const auto& row : rows) {
    out += "|";
    for (const auto& cell : row) out += " " + cell + " |";
    out += "\n";
  }
  return out;
}

}  // namespace underway::adoption
