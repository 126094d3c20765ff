#include "documents/command_lines.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace underway::documents {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

/// Takes a script apart. What only a shell knows, a variable or the output of a command, stands as it was written.
class Script {
 public:
  explicit Script(std::string text, int line = 1) : text_(std::move(text)), line_(line) {}

  std::vector<Typed> parse() {
    while (at_ < text_.size()) step();
    end_command();
    return std::move(commands_);
  }

 private:
  bool is(std::string_view what) const { return text_.compare(at_, what.size(), what) == 0; }
  char next() {
    if (at_ >= text_.size()) return '\0';
    line_ += text_[at_] == '\n' ? 1 : 0;
    return text_[at_++];
  }
  /// To where this stands next, or to the end.
  void skip_to(std::string_view what) {
    const std::size_t end = std::min(text_.find(what, at_), text_.size());
    while (at_ < end) next();
  }

  void step() {
    if (!word_ && is("#")) return skip_to("\n");
    if (is("$(")) return substitute();
    if (is("<<")) return open_here_document();
    if (is("<") && is_placeholder()) return add(text_.substr(at_, placeholder_end() - at_));
    if (is("'") || is("\"")) return quoted();
    if (is("\\")) return escaped();
    if (is("<") || is(">")) return redirect();
    if (std::string_view(" \t\n;|&()").find(text_[at_]) == std::string_view::npos) return add(text_.substr(at_, 1));
    if (is("\n")) return end_line();
    if (const char end = next(); end == ' ' || end == '\t') return end_word();
    end_command();
  }

  /// To the word: what comes next in the script.
  void add(const std::string& piece) {
    begin_word();
    *word_ += piece;
    for (std::size_t i = 0; i < piece.size(); ++i) next();
  }
  void begin_word() {
    if (word_) return;
    word_ = "";
    if (command_.words.empty()) command_.line = line_;
  }
  void end_word() {
    if (!word_) return;
    if (!target_follows_) command_.words.push_back(*word_);
    target_follows_ = false;
    word_.reset();
  }
  void end_command() {
    end_word();
    if (command_.words.empty()) return;
    // alias take='underway migrate …'
    if (command_.words[0] == "alias" && command_.words.size() > 1)
      read_nested(command_.words[1].substr(command_.words[1].find('=') + 1), command_.line);
    commands_.push_back(std::move(command_));
    command_ = {};
  }
  void end_line() {
    end_command();
    if (!here_end_.empty()) skip_to("\n" + here_end_);
    next();
    if (!here_end_.empty()) skip_to("\n");
    here_end_.clear();
  }
  void read_nested(const std::string& script, int line) {
    for (auto& command : Script(script, line).parse()) commands_.push_back(std::move(command));
  }

  void quoted() {
    begin_word();
    const char mark = next();
    while (at_ < text_.size() && text_[at_] != mark) {
      if (mark == '"' && is("$(")) {
        substitute();
      } else {
        if (mark == '"' && is("\\")) next();
        add(text_.substr(at_, 1));
      }
    }
    next();
  }
  /// At the end of a line: the command goes on in the next one.
  void escaped() {
    next();
    if (is("\n"))
      next();
    else
      add(text_.substr(at_, 1));
  }
  void substitute() {
    const int line = line_;
    const std::size_t begin = at_ + 2;
    std::size_t end = begin;
    for (int open = 1; end < text_.size() && open > 0; ++end)
      open += text_[end] == '(' ? 1 : text_[end] == ')' ? -1 : 0;
    read_nested(text_.substr(begin, end - begin - 1), line);
    add(text_.substr(at_, end - at_));
  }
  /// 2>&1, >>file, < file
  void redirect() {
    if (word_ && std::all_of(word_->begin(), word_->end(), is_digit)) word_.reset();
    end_word();
    while (is("<") || is(">") || is("&")) next();
    target_follows_ = true;
  }
  void open_here_document() {
    while (is("<") || is("-") || is("'")) next();
    for (; at_ < text_.size() && is_letter(text_[at_]); next()) here_end_ += text_[at_];
    while (is("'")) next();
  }
  /// <node>, which stands for one word.
  std::size_t placeholder_end() const { return text_.find('>', at_) + 1; }
  bool is_placeholder() const {
    const std::size_t end = placeholder_end();
    return end > at_ + 2 && std::all_of(text_.begin() + static_cast<std::ptrdiff_t>(at_) + 1,
                                        text_.begin() + static_cast<std::ptrdiff_t>(end) - 1,
                                        [](char c) { return is_letter(c) || c == '-'; });
  }

  std::string text_;
  std::size_t at_ = 0;
  int line_;
  std::vector<Typed> commands_;
  Typed command_;
  std::optional<std::string> word_;
  std::string here_end_;  ///< what ends the here-document that begins with the next line
  bool target_follows_ = false;
};

std::string name_of(const std::string& program) { return program.substr(program.rfind('/') + 1); }

/// What may stand before a command: values of variables, and words that run it.
bool leads_in(const std::string& word) {
  static const std::set<std::string> words = {"!",    "do",   "else",  "env",   "exec", "if",
                                              "sudo", "then", "until", "watch", "while"};
  return words.contains(word) || word.starts_with('-') || word.find('=') != std::string::npos;
}

bool is_prompted(const std::string& line) {
  const std::size_t start = line.find_first_not_of(' ');
  return start != std::string::npos &&
         (line.compare(start, 2, "$ ") == 0 || line.compare(start, 11, "# underway ") == 0);
}

/// A block that shows answers has its commands behind prompts; else every line is one. Lines keep their numbers.
std::string script_of(const Block& block) {
  const bool answers = std::any_of(block.lines.begin(), block.lines.end(), is_prompted);
  std::string script;
  bool goes_on = false;
  for (const auto& line : block.lines) {
    if (is_prompted(line))
      script += line.substr(line.find_first_not_of(' ') + 2);
    else if (goes_on || !answers)
      script += line;
    script += "\n";
    goes_on = script.ends_with("\\\n");
  }
  return script;
}

}  // namespace

std::vector<Typed> commands_in(const std::string& script) { return Script(script).parse(); }

std::vector<CommandLine> command_lines_in(const std::string& script) {
  std::vector<CommandLine> found;
  for (const auto& [words, line] : commands_in(script)) {
    const auto program = std::find_if_not(words.begin(), words.end(), leads_in);
    if (program == words.end()) continue;
    const std::string name = name_of(*program);
    if (name == "underway" || name == "nomad") found.push_back({name, {program + 1, words.end()}, line});
  }
  return found;
}

std::vector<CommandLine> command_lines_of(const Page& page) {
  std::vector<CommandLine> found;
  for (const auto& block : page.blocks) {
    if (!block.kind.empty() && block.kind != "sh" && block.kind != "console") continue;
    for (auto& command : command_lines_in(script_of(block))) {
      command.line += block.line - 1;
      command.whole = std::none_of(command.words.begin(), command.words.end(),
                                   [](const std::string& word) { return word.find("…") != std::string::npos; });
      found.push_back(std::move(command));
    }
  }
  for (const auto& span : spans_of(page)) {
    std::string text = span.text;
    std::replace(text.begin(), text.end(), '\n', ' ');
    auto named = command_lines_in(text);
    if (named.empty() && text.find(" -") != std::string::npos) {
      for (const auto& [words, line] : commands_in(text)) named.push_back({"", words, line});
    }
    for (auto& command : named) {
      command.line = span.line;
      command.whole = false;
      found.push_back(std::move(command));
    }
  }
  return found;
}

}  // namespace underway::documents
