#include "documents/pages.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <sstream>

#include "harness/command.hpp"
#include "harness/places.hpp"

namespace underway::documents {
namespace {

/// The prose as one text, so that what goes on in the next line is found: a code span or a link's words may.
std::string text_of(const Page& page) {
  std::string text;
  for (const auto& line : page.prose) text += line + "\n";
  return text;
}

/// Counts lines of a text from front to back: a page has some thousand places to be told.
class LineCounter {
 public:
  explicit LineCounter(const std::string& text) : text_(text) {}
  /// `at` is never before what was asked last.
  int line_at(std::size_t at) {
    const auto begin = text_.begin();
    line_ += static_cast<int>(
        std::count(begin + static_cast<std::ptrdiff_t>(counted_), begin + static_cast<std::ptrdiff_t>(at), '\n'));
    counted_ = at;
    return line_;
  }

 private:
  const std::string& text_;
  std::size_t counted_ = 0;
  int line_ = 1;
};

/// Begin and end of each code span's content, in order. One ends with as many backquotes as it began with, and with its
/// paragraph.
std::vector<std::pair<std::size_t, std::size_t>> code_in(const std::string& text) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  std::size_t paragraph_end = 0;
  for (std::size_t at = 0; (at = text.find('`', at)) != std::string::npos;) {
    const std::size_t begin = std::min(text.find_first_not_of('`', at), text.size());
    const std::string mark(begin - at, '`');
    // Looked for once a paragraph: a table is one, and may be all of a page.
    if (paragraph_end <= begin) paragraph_end = std::min(text.find("\n\n", begin), text.size());
    const std::size_t end = text.find(mark, begin);
    if (end == std::string::npos || paragraph_end < end) {
      at = begin;
      continue;
    }
    found.emplace_back(begin, end);
    at = end + mark.size();
  }
  return found;
}

/// As GitHub makes it of a heading.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == ' ') anchor += '-';
    if (std::isalnum(byte) != 0 || c == '-' || c == '_') anchor += static_cast<char>(std::tolower(byte));
  }
  return anchor;
}

}  // namespace

Page parse_page(std::string path, const std::string& text) {
  Page page{std::move(path), {}, {}};
  std::istringstream in(text);
  bool within = false;
  for (std::string line; std::getline(in, line);) {
    const std::size_t start = std::min(line.find_first_not_of(' '), line.size());
    const bool fence = line.compare(start, 3, "```") == 0;
    if (fence && !within) page.blocks.push_back({line.substr(start + 3), static_cast<int>(page.prose.size()) + 2, {}});
    if (!fence && within) page.blocks.back().lines.push_back(line);
    page.prose.push_back(fence || within ? "" : line);
    within = within != fence;
  }
  return page;
}

std::optional<std::vector<Page>> find_pages() {
  // Root asks about a checkout that may be another's.
  const auto listed = harness::run({.argv = {"git", "-c", "safe.directory=*", "-C", source_dir(), "ls-files", "*.md"}});
  if (listed.exit_code != 0) return std::nullopt;
  std::vector<Page> pages;
  std::istringstream paths(listed.out);
  for (std::string path; std::getline(paths, path);)
    pages.push_back(parse_page(path, harness::read_text(source_dir() + "/" + path)));
  return pages;
}

std::set<std::string> anchors_of(const Page& page) {
  std::set<std::string> anchors;
  std::map<std::string, int> seen;
  for (const auto& line : page.prose) {
    const std::size_t level = line.find_first_not_of('#');
    if (level == 0 || level == std::string::npos || line[level] != ' ') continue;
    const std::string anchor = anchor_of(line.substr(level + 1));
    const int before = seen[anchor]++;
    anchors.insert(before == 0 ? anchor : anchor + "-" + std::to_string(before));
  }
  return anchors;
}

std::vector<Link> links_of(const Page& page) {
  std::string text = text_of(page);
  for (const auto& [begin, end] : code_in(text)) std::fill(&text[begin], &text[end], ' ');
  std::vector<Link> links;
  LineCounter lines(text);
  for (std::size_t at = 0; (at = text.find("](", at)) != std::string::npos;) {
    at += 2;
    const std::string target = text.substr(at, text.find(')', at) - at);
    if (target.find(':') == std::string::npos) links.push_back({target, lines.line_at(at)});
  }
  return links;
}

std::vector<Span> spans_of(const Page& page) {
  const std::string text = text_of(page);
  std::vector<Span> spans;
  LineCounter lines(text);
  for (const auto& [begin, end] : code_in(text))
    spans.push_back({text.substr(begin, end - begin), lines.line_at(begin)});
  return spans;
}

std::pair<std::string, std::string> destination_of(const Page& page, const Link& link) {
  const std::size_t hash = std::min(link.target.find('#'), link.target.size());
  const std::string path = link.target.substr(0, hash);
  const std::string anchor = hash < link.target.size() ? link.target.substr(hash + 1) : "";
  if (path.empty()) return {page.path, anchor};
  const auto below = std::filesystem::path(page.path).parent_path() / path;
  return {below.lexically_normal().string(), anchor};
}

}  // namespace underway::documents
