#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/text.hpp"

namespace underway::cli {

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

std::pair<int, int> terminal_size(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {80, 24};
  return {size.ws_col, size.ws_row};
}

int terminal_width(int fd) { return terminal_size(fd).first; }

std::string paint(Colour colour, std::string_view text, int fd) {
  static const bool unwanted = std::getenv("NO_COLOR") != nullptr;
  static const bool forced = std::getenv("NOMAD_CLI_FORCE_COLOR") != nullptr;
  if (unwanted || (!forced && !is_terminal(fd))) return std::string(text);
  const char* code = "0";
  switch (colour) {
    case Colour::red:
      code = "31";
      break;
    case Colour::green:
      code = "32";
      break;
    case Colour::yellow:
      code = "33";
      break;
    case Colour::blue:
      code = "34";
      break;
    case Colour::bold:
      code = "1";
      break;
    case Colour::dim:
      code = "2";
      break;
  }
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  for (const auto& word : split(text, ' ')) {
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  lines.push_back(std::move(line));
  return lines;
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  constexpr std::size_t kLeast = 20;
  std::string out;
  for (const auto& line : split(text, '\n')) {
    const std::size_t own = std::min(line.find_first_not_of(' '), line.size());
    const std::string before(indent + own, ' ');
    const std::size_t room = std::max(width, before.size() + kLeast) - before.size();
    for (const auto& part : wrap(std::string_view(line).substr(own), room))
      out += (part.empty() ? "" : before) + part + "\n";
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i < text.size() && text[i] != 'm') ++i;
    } else if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) {
      ++width;
    }
  }
  return width;
}

namespace {

/// At most `width` columns, with … for what is missing. Cells with colour are left whole: they are short.
std::string cut(const std::string& text, std::size_t width) {
  if (display_width(text) <= width || text.find('\x1b') != std::string::npos) return text;
  std::string out;
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts = (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
    if (starts && ++columns > width - 1) break;
    out += text[i];
  }
  return out + "…";
}

std::string row_text(const std::vector<std::string>& row, const std::vector<std::size_t>& widths) {
  std::string out;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string cell = cut(row[i], widths[i]);
    out += cell;
    if (i + 1 < row.size()) out += std::string(widths[i] - std::min(widths[i], display_width(cell)) + 2, ' ');
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out + "\n";
}

}  // namespace

std::string Table::text(std::size_t width) const {
  std::vector<std::size_t> widths(headers_.size());
  const auto widen = [&](const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  };
  widen(headers_);
  for (const auto& row : rows_) widen(row);
  if (width > 0) {
    const auto total = [&] {
      std::size_t sum = 2 * (widths.size() - 1);
      for (const auto w : widths) sum += w;
      return sum;
    };
    while (total() > width) {
      auto& widest = *std::max_element(widths.begin(), widths.end());
      if (widest <= 8) break;
      --widest;
    }
  }
  std::string out = row_text(headers_, widths);
  for (const auto& row : rows_) out += row_text(row, widths);
  return out;
}

void Table::print() const { cli::print(text(is_terminal(1) ? static_cast<std::size_t>(terminal_width(1)) : 0)); }

std::string key_values(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::size_t width = 0;
  for (const auto& [key, value] : pairs) width = std::max(width, display_width(key));
  std::string out;
  for (const auto& [key, value] : pairs)
    out += key + std::string(width - display_width(key), ' ') + " = " + value + "\n";
  return out;
}

void say(std::string_view text) { std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data()); }

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

Progress::Progress() : terminal_(is_terminal(2)) {}

void Progress::draw(const std::vector<std::string>& lines) {
  if (!terminal_) {
    for (const auto& line : lines) {
      if (std::find(printed_.begin(), printed_.end(), line) == printed_.end()) say(line);
    }
    printed_ = lines;
    return;
  }
  const auto [width, height] = terminal_size(2);
  const std::size_t room = static_cast<std::size_t>(std::max(height - 1, 1));
  std::string out;
  if (drawn_ > 0) out += fmt::format("\x1b[{}A", drawn_);
  drawn_ = std::min(lines.size(), room);
  for (std::size_t i = 0; i < drawn_; ++i) out += "\r\x1b[K" + cut(lines[i], static_cast<std::size_t>(width)) + "\n";
  out += "\x1b[J";
  std::fwrite(out.data(), 1, out.size(), stderr);
  std::fflush(stderr);
}

void Progress::finish() { drawn_ = 0; }

std::string bar(std::int64_t done, std::int64_t all, std::size_t width) {
  const auto filled =
      all <= 0
          ? width
          : static_cast<std::size_t>(static_cast<std::int64_t>(width) * std::clamp<std::int64_t>(done, 0, all) / all);
  return "[" + std::string(filled, '#') + std::string(width - filled, '.') + "]";
}

}  // namespace underway::cli
