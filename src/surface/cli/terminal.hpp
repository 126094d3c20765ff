#pragma once
/// @file
/// What goes to the screen: tables that fit it, colours where they are wanted, and progress that overwrites itself on a
/// terminal and is plain lines in a pipe. Data go to standard output, talk to standard error.

#include <string>
#include <string_view>
#include <vector>

namespace underway::cli {

/// Whether the descriptor is a terminal.
bool is_terminal(int fd);
/// Columns of the terminal; 80 when there is none.
int terminal_width(int fd = 1);
std::pair<int, int> terminal_size(int fd = 1);

enum class Colour { red, green, yellow, blue, bold, dim };
/// Wrapped in the colour when the descriptor is a terminal and NO_COLOR is not set.
std::string paint(Colour colour, std::string_view text, int fd = 1);

/// Breaks at blanks; a longer word stands by itself.
std::vector<std::string> wrap(std::string_view text, std::size_t width);
/// Each line broken to `width` columns, with its own blanks and `indent` more before all that becomes of it.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent = 0);
/// Columns that a text takes: UTF-8 characters, without escape sequences.
std::size_t display_width(std::string_view text);

/// Rows under headers, two blanks between columns. On a terminal the widest column is cut (with …) until it fits.
class Table {
 public:
  explicit Table(std::vector<std::string> headers) : headers_(std::move(headers)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  /// `width` 0: as wide as it gets.
  std::string text(std::size_t width) const;
  /// To standard output, fitted if that is a terminal.
  void print() const;

 private:
  std::vector<std::string> headers_;
  std::vector<std::vector<std::string>> rows_;
};

/// "Key = value" lines, aligned, as Nomad prints them.
std::string key_values(const std::vector<std::pair<std::string, std::string>>& pairs);

void say(std::string_view text);    ///< a line of talk, to standard error
void print(std::string_view text);  ///< data, to standard output

/// A few lines of state that are drawn again and again.
class Progress {
 public:
  Progress();
  /// On a terminal: replaces the lines drawn before. Else: prints those lines that were not printed before.
  void draw(const std::vector<std::string>& lines);
  /// Leaves what is drawn and goes on below it.
  void finish();

 private:
  bool terminal_;
  std::size_t drawn_ = 0;
  std::vector<std::string> printed_;
};

/// "[#####.....]".
std::string bar(std::int64_t done, std::int64_t all, std::size_t width = 20);

}  // namespace underway::cli
