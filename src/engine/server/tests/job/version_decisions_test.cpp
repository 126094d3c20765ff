#include "server/job/version_decisions.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "server/testing/desk.hpp"

namespace underway::server {
namespace {

using testing::Desk;
using testing::make_job;

class Tags : public ::testing::Test {
 protected:
  void register_version(std::int64_t count) { desk.register_job(make_job("web", count)); }
  void tag(const std::string& name, std::optional<std::int64_t> version = {}) {
    desk.run(TagVersion{"default", "web", version, name, "why"});
  }
  void untag(const std::string& name) { desk.run(UntagVersion{"default", "web", name}); }
  std::vector<std::int64_t> versions() const {
    std::vector<std::int64_t> out;
    for (const auto& version : desk.tables.job_versions("default", "web")) out.push_back(version->job.version);
    return out;
  }
  Desk desk;
};

TEST_F(Tags, KeepAVersionFromBeingForgotten) {
  register_version(1);
  tag("golden", 0);
  for (int count = 2; count <= 9; ++count) register_version(count);
  EXPECT_EQ(versions(), (std::vector<std::int64_t>{8, 7, 6, 5, 4, 3, 0}));
  const auto golden = find_tagged(desk.tables, "default", "web", "golden");
  ASSERT_TRUE(golden);
  EXPECT_EQ(golden->job.groups[0].count, 1);
  EXPECT_EQ(golden->job.version_tag->description, "why");
  EXPECT_FALSE(desk.tables.find_job("default", "web")->version_tag);
  // What the store holds is the same.
  tables::Tables again;
  again.load(desk.store);
  EXPECT_TRUE(find_tagged(again, "default", "web", "golden"));
  untag("golden");
  EXPECT_EQ(versions(), (std::vector<std::int64_t>{8, 7, 6, 5, 4, 3}));
}

TEST_F(Tags, OfTheCurrentVersionStayWithItAndAreNotInherited) {
  register_version(1);
  tag("now");
  EXPECT_EQ(desk.tables.find_job("default", "web")->version_tag->name, "now");
  desk.register_job(make_job("web", 1));
  EXPECT_EQ(desk.tables.find_job("default", "web")->version, 0) << "a tag makes no new version";
  EXPECT_TRUE(find_tagged(desk.tables, "default", "web", "now"));
  register_version(2);
  EXPECT_FALSE(desk.tables.find_job("default", "web")->version_tag);
  EXPECT_EQ(find_tagged(desk.tables, "default", "web", "now")->job.version, 0);
}

TEST_F(Tags, AreRefusedWhereTheyWouldMeanTwoVersions) {
  register_version(1);
  register_version(2);
  tag("golden", 0);
  tag("golden", 0);
  EXPECT_THROW(tag("golden", 1), Error);
  EXPECT_THROW(tag("", 1), Error);
  EXPECT_THROW(tag("x", 7), Error);
  EXPECT_THROW(untag("none"), Error);
}

}  // namespace
}  // namespace underway::server
