#include "cli/wire.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "base/json/json.hpp"

namespace underway::cli {
namespace {

TEST(Refusals, HaveTheStatusAndKeepTheAdvice) {
  EXPECT_EQ(refusal_of(404, "capsule 'db' not found: no record\ndo: see `underway capsule list`").text(),
            "error: Unexpected response code: 404 (capsule 'db' not found: no record)\n"
            "  do:    see `underway capsule list`");
  EXPECT_EQ(refusal_of(404, "job not found").text(), "error: Unexpected response code: 404 (job not found)");
}

TEST(Members, AreFoundByAPathAndMissingOnesAreNothing) {
  const auto value =
      json::parse(R"({"Job": {"ID": "web", "Priority": 50, "Stop": true, "Groups": [1, 2]}, "Nil": null})");
  EXPECT_EQ(text(value, "Job.ID"), "web");
  EXPECT_EQ(text(value, "Job.Priority"), "50");
  EXPECT_EQ(number(value, "Job.Priority"), 50);
  EXPECT_TRUE(truth(value, "Job.Stop"));
  EXPECT_EQ(elements(value, "Job.Groups").size(), 2u);
  EXPECT_EQ(text(value, "Nil"), "");
  EXPECT_EQ(text(value, "Job.ID.Deeper"), "") << "a text has no members";
  EXPECT_EQ(number(value, "Nowhere"), 0);
  EXPECT_TRUE(elements(value, "Nil").empty());
  EXPECT_TRUE(members(value, "Job.ID").empty());
}

TEST(Members, OfAnAnswerThatNobodyKeepsOutliveIt) {
  std::int64_t sum = 0;
  for (const auto& number : elements(json::parse("[1, 2, 3]"))) sum += number.as_int64();
  for (const auto& number : elements(json::parse(R"({"a": [4, 5]})"), "a")) sum += number.as_int64();
  for (const auto& [name, value] : members(json::parse(R"({"a": {"b": 6}})"), "a")) sum += value.as_int64();
  EXPECT_EQ(sum, 21);
}

TEST(Instants, AreInTheZoneOfTheMachine) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  EXPECT_EQ(moment(1500998400000000000), "2017-07-25T16:00:00Z");
  ::setenv("TZ", "IST-5:30", 1);  // POSIX counts westwards
  ::tzset();
  EXPECT_EQ(moment(1500998400000000000), "2017-07-25T21:30:00+05:30");
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  EXPECT_EQ(moment(0), "");
  EXPECT_EQ(moment_of("0001-01-01T00:00:00Z"), "") << "Go's zero time";
  EXPECT_EQ(moment_of("2021-06-09T15:20:27Z"), "2021-06-09T15:20:27Z");
  EXPECT_EQ(moment_of(nullptr), "");
}

TEST(Sizes, HaveADecimalBelowTen) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(4096), "4.0 KiB");
  EXPECT_EQ(size_text(300 << 20), "300 MiB");
  EXPECT_EQ(size_text(std::int64_t{2} << 30), "2.0 GiB");
}

TEST(Tables, SayWhereNothingIs) {
  EXPECT_EQ(table_text({"ID", "Class"}, {{"a", ""}, {"b", "gpu"}}), "ID  Class\na   <none>\nb   gpu\n");
  EXPECT_EQ(facts_text({{"ID", "a"}, {"Description", ""}}), "ID          = a\nDescription = <none>\n");
}

}  // namespace
}  // namespace underway::cli
