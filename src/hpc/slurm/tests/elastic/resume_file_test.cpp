#include "slurm/elastic/resume_file.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "harness/places.hpp"
#include "os/file.hpp"

namespace underway::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// As slurmctld wrote them: the corpus has them too.
std::string captured(const std::string& name) { return test_dir() + "/../fuzz/corpus/resume_file_fuzz/" + name; }

std::vector<std::string> problems(std::string_view text) {
  try {
    parse_resume_file(text);
  } catch (const Error& e) {
    auto out = e.reasons();
    out.insert(out.begin(), std::string(to_string(e.code())));
    return out;
  }
  return {};
}

TEST(SlurmResumeFile, OfAnOlderSlurmTellsJobsAndNodes) {
  const auto request = parse_resume_file(os::read_file(captured("slurm-22.05")));
  EXPECT_THAT(request.nodes, ElementsAre("e1", "e2", "e3", "e4", "e5", "e6"));
  ASSERT_EQ(request.jobs.size(), 5U);
  EXPECT_TRUE(describe::equal(request.jobs[0], ResumeJob{.id = 1, .nodes = {"e1", "e2"}, .resume = {"e1", "e2"}}));
  EXPECT_EQ(request.jobs[1].id, 5);
}

TEST(SlurmResumeFile, OfALaterSlurmTellsWhatEachJobAskedFor) {
  const auto request = parse_resume_file(os::read_file(captured("slurm-24.11")));
  EXPECT_THAT(request.nodes, ElementsAre("e1", "e2", "e3", "e4"));
  ASSERT_EQ(request.jobs.size(), 3U);
  EXPECT_TRUE(describe::equal(
      request.jobs[2],
      ResumeJob{
          .id = 2, .nodes = {"e4"}, .resume = {"e4"}, .features = "big", .partition = "burst", .oversubscribe = "NO"}));
  // A part of its nodes is there already.
  const auto part = parse_resume_file(
      R"({"all_nodes_resume":"e2","jobs":[{"job_id":9,"nodes_alloc":"e[1-2]","nodes_resume":"e2","reservation":"r"}]})");
  EXPECT_THAT(part.jobs.at(0).nodes, ElementsAre("e1", "e2"));
  EXPECT_THAT(part.jobs.at(0).resume, ElementsAre("e2"));
  EXPECT_EQ(part.jobs.at(0).reservation, "r");
}

TEST(SlurmResumeFile, ThatMakesNoSenseIsRefusedWithAllThatIsWrong) {
  EXPECT_THAT(problems(R"({"jobs":[{"job_id":"1","nodes":"e["},7,{"job_id":0,"nodes":3}]})"),
              ElementsAre("invalid", "all_nodes is not there", "jobs[0].job_id is no number of a job",
                          HasSubstr("jobs[0].nodes: 'e[' is no host list"), "jobs[1] is no object",
                          "jobs[2].job_id is no number of a job", "jobs[2].nodes is no text"));
  EXPECT_THAT(problems("[]"), ElementsAre("invalid"));
  EXPECT_EQ(problems("{").at(0), "invalid");
  EXPECT_THAT(problems(R"({"all_nodes":"e1","jobs":{}})"), ElementsAre("invalid", "jobs is no list"));
}

TEST(SlurmResumeFile, IsBounded) {
  EXPECT_EQ(problems(std::string(kLargestResumeFile + 1, ' ')).at(0), "too_large");
  std::string many = R"({"all_nodes":"e1","jobs":[)";
  for (int i = 1; i <= 12; ++i) many += fmt::format(R"({}{{"job_id":{},"nodes":"e[1-99999]"}})", i > 1 ? "," : "", i);
  EXPECT_EQ(problems(many + "]}").at(0), "too_large");
}

TEST(SlurmResumeFile, ThatIsGoneLeavesTheWords) {
  const auto request = read_resume_request(captured("none"), "e[1-2]");
  EXPECT_THAT(request.nodes, ElementsAre("e1", "e2"));
  EXPECT_THAT(request.jobs, IsEmpty());
  EXPECT_THAT(read_resume_request("", "e7").nodes, ElementsAre("e7"));
  // What the words have and the file has not is asked for too.
  const auto both = read_resume_request(captured("slurm-24.11"), "e[3-5]");
  EXPECT_THAT(both.nodes, ElementsAre("e1", "e2", "e3", "e4", "e5"));
  EXPECT_EQ(both.jobs.size(), 3U);
}

TEST(SlurmResumeFile, TravelsAsDescribed) {
  const auto request = parse_resume_file(os::read_file(captured("slurm-24.11")));
  EXPECT_TRUE(describe::equal(json::decode_text<ResumeRequest>(json::encode(request)), request));
}

}  // namespace
}  // namespace underway::slurm
