#include "adoption/division/division_html.hpp"

#include <fstream>

#include "adoption/testing/paper_site.hpp"
#include "base/text.hpp"

namespace underway::adoption {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Division paper() { return divide(testing::paper_traffic(), {testing::paper_host()}, {}, ServiceCatalog{}); }

/// Every element that is opened is closed, in order; enough of XML for a page that we write ourselves.
std::string unbalanced(const std::string& html) {
  static const std::set<std::string> kVoid = {"meta", "rect", "line", "path", "!DOCTYPE"};
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const auto end = html.find('>', at);
    if (end == std::string::npos) return "no end";
    std::string tag = html.substr(at + 1, end - at - 1);
    const bool closes = tag[0] == '/';
    tag = tag.substr(closes ? 1 : 0);
    tag = tag.substr(0, tag.find_first_of(" /\n"));
    if (kVoid.contains(tag)) continue;
    if (!closes) {
      open.push_back(tag);
    } else if (open.empty() || open.back() != tag) {
      return "</" + tag + ">";
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : "<" + open.back() + ">";
}

TEST(DivisionHtml, IsOnePageThatLoadsNothing) {
  const std::string page = division_html(paper());
  for (const char* outside : {"http://", "https://", "<script", "src=", "@import", "url(h"})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  EXPECT_THAT(page, HasSubstr("<svg"));
  EXPECT_THAT(page, HasSubstr("Slurm&#39;s accounting"));
  EXPECT_EQ(unbalanced(page), "");
}

TEST(DivisionHtml, WhatWasSeenOnTheWireIsEscaped) {
  Division division = paper();
  Service& service = division.services[0];
  service.name = "x\"><script>alert(1)</script>";
  service.title = service.reason = "<b onload='x'>&";
  service.evidence = {"GET /<img src=x>\x01\xff"};
  division.host = "</title><script>";
  const std::string page = division_html(division);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("<b ")));
  EXPECT_TRUE(is_utf8(page));
  EXPECT_EQ(unbalanced(page), "");
}

TEST(DivisionHtml, EmptyDivisionIsAPageToo) { EXPECT_EQ(unbalanced(division_html({})), ""); }

TEST(DivisionHtml, LongTitlesAreCutBetweenCharacters) {
  Division division = paper();
  division.services[0].title = std::string(31, 'a') + "éééé";
  EXPECT_TRUE(is_utf8(division_html(division)));
}

}  // namespace
}  // namespace underway::adoption
