#include "cli/list_flags.hpp"

#include "base/error.hpp"
#include "base/json/json.hpp"

namespace underway::cli {
namespace {

Command listing() { return {.name = "job status", .flags = with_list_flags()}; }

TEST(ListFlags, BecomeTheQuery) {
  const auto query = list_query(parse(listing(), {"-filter", "Status == dead", "-per-page=3", "-page-token", "a.b"}));
  EXPECT_EQ(query.filter, "Status == dead");
  EXPECT_EQ(query.per_page, 3);
  EXPECT_EQ(query.page_token, "a.b");
  EXPECT_THROW(list_query(parse(listing(), {"-per-page", "many"})), Error);
  EXPECT_THROW(list_query(parse(listing(), {"-per-page", "-1"})), Error);
}

TEST(ListFlags, FormatByTemplateOrAsJson) {
  const auto value = json::parse(R"([{"ID":"web","Count":2},{"ID":"db","Count":1}])");
  ::testing::internal::CaptureStdout();
  EXPECT_TRUE(print_formatted(parse(listing(), {"-t", "{{range .}}{{.ID}}={{.Count}} {{end}}"}), value));
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "web=2 db=1 \n");
  ::testing::internal::CaptureStdout();
  EXPECT_TRUE(print_formatted(parse(listing(), {"-json"}), value));
  EXPECT_EQ(json::parse(::testing::internal::GetCapturedStdout()), value);
  EXPECT_FALSE(print_formatted(parse(listing(), {}), value));
  EXPECT_THROW(print_formatted(parse(listing(), {"-json", "-t", "x"}), value), Error);
  EXPECT_THROW(print_formatted(parse(listing(), {"-t", "{{.x"}), value), Error);
}

}  // namespace
}  // namespace underway::cli
