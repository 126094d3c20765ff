#pragma once
/// @file
/// The repository's pages of Markdown, taken apart as the programs do that show them.

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace underway::documents {

/// What stands between two lines of three backquotes.
struct Block {
  std::string kind;  ///< "sh"; often nothing
  int line = 0;      ///< of its first line, from 1
  std::vector<std::string> lines;
};

/// To something in the repository: "../adr/0005-two-sockets.md", "loop.md#the-watchdog", "#units".
struct Link {
  std::string target;
  int line = 0;
};

/// `underway status`, within a sentence.
struct Span {
  std::string text;
  int line = 0;
};

struct Page {
  std::string path;                ///< from the repository's root
  std::vector<std::string> prose;  ///< its lines; those of blocks are empty
  std::vector<Block> blocks;
};

Page parse_page(std::string path, const std::string& text);
/// All that git knows, by path; none when this is no git checkout.
std::optional<std::vector<Page>> find_pages();

/// What its headings are called in links: "what-asks".
std::set<std::string> anchors_of(const Page& page);
std::vector<Link> links_of(const Page& page);
std::vector<Span> spans_of(const Page& page);
/// Where a link leads, from the repository's root: a path, and an anchor or nothing.
std::pair<std::string, std::string> destination_of(const Page& page, const Link& link);

}  // namespace underway::documents
