// Whoever follows a link of a page arrives, and whoever begins at docs/README.md finds every page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "documents/pages.hpp"
#include "harness/places.hpp"

namespace underway::documents {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// A piece of docs/reference/compatibility.md, from where its links lead.
constexpr auto kPiece = "tests/conformance/differences.md";

std::vector<std::string> broken_links(const std::vector<Page>& pages) {
  std::map<std::string, std::set<std::string>> anchors;
  for (const auto& page : pages) anchors[page.path] = anchors_of(page);
  std::vector<std::string> broken;
  for (const auto& page : pages) {
    if (page.path == kPiece) continue;
    for (const auto& link : links_of(page)) {
      const auto [path, anchor] = destination_of(page, link);
      const auto target = anchors.find(path);
      const bool there = std::filesystem::exists(source_dir() + "/" + path);
      const bool found = anchor.empty() ? there : target != anchors.end() && target->second.contains(anchor);
      if (!found) broken.push_back(page.path + ":" + std::to_string(link.line) + ": " + link.target);
    }
  }
  return broken;
}

TEST(Links, LeadToWhatIsThere) {
  const auto pages = find_pages();
  if (!pages) GTEST_SKIP() << "this is no git checkout";
  EXPECT_THAT(broken_links(*pages), IsEmpty());
}

TEST(Links, ThatLeadNowhereAreToldWithTheirPlace) {
  const std::vector<Page> pages = {
      parse_page("README.md", "[a](docs/a.md#one-heading) [b\nc](docs/b.md) `[d](e.md)` [web](https://x.org)\n"),
      parse_page("docs/a.md", "# One `heading`!\n```\n# no heading\n```\n[self](#no-heading) [up](../README.md#x)\n")};
  EXPECT_THAT(broken_links(pages),
              ElementsAre("README.md:2: docs/b.md", "docs/a.md:5: #no-heading", "docs/a.md:5: ../README.md#x"));
}

TEST(Index, LeadsToEveryPage) {
  const auto pages = find_pages();
  if (!pages) GTEST_SKIP() << "this is no git checkout";
  std::set<std::string> missing, linked;
  for (const auto& page : *pages) {
    if (page.path.starts_with("docs/")) missing.insert(page.path);
    if (page.path != "docs/README.md") continue;
    for (const auto& link : links_of(page)) linked.insert(destination_of(page, link).first);
  }
  std::erase_if(missing, [&](const std::string& path) { return path == "docs/README.md" || linked.contains(path); });
  EXPECT_THAT(missing, IsEmpty()) << "docs/README.md does not lead there";
}

TEST(Anchors, AreThoseOfHeadings) {
  EXPECT_THAT(anchors_of(parse_page("a.md", "# What's `x_y`, and why\n## Again\ntext\n## Again\n#no\n")),
              UnorderedElementsAre("whats-x_y-and-why", "again", "again-1"));
}

}  // namespace
}  // namespace underway::documents
