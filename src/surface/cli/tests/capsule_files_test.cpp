#include "cli/capsule/files.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"

namespace underway::cli {
namespace {

class CapsuleFiles : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(directory_ + "/images"); }
  void TearDown() override {
    std::filesystem::remove_all(directory_);
    std::filesystem::remove_all(state_);
  }

  static wire::ClusterBody asking_for(const std::string& driver, const std::string& image) {
    model::Task task;
    task.driver = driver;
    task.config = boost::json::object{{"image", image}};
    model::TaskGroup group;
    group.tasks.push_back(task);
    wire::JobWithSource job;
    job.job.groups.push_back(group);
    wire::ClusterBody body;
    body.jobs.push_back(job);
    return body;
  }
  static std::string image_in(const wire::ClusterBody& body) {
    return std::string(body.jobs[0].job.groups[0].tasks[0].config.at("image").as_string());
  }
  std::string state_ = testing::TempDir() + "capsule-files-state-" + std::to_string(::getpid());
  std::string directory_ = testing::TempDir() + "capsule-files-" + std::to_string(::getpid());
};

TEST_F(CapsuleFiles, WhatNamesNoFileOfTheDirectoryStaysAsItIs) {
  for (const char* image : {"chrony", "chrony:4.3", "sha256:00", "/srv/chrony.capsule", "local/chrony.capsule",
                            "${NOMAD_META_image}", "chrony-4.3.capsule"}) {
    SCOPED_TRACE(image);
    auto body = asking_for("capsule", image);
    EXPECT_THAT(name_images_by_digest(body, directory_, state_), testing::IsEmpty());
    EXPECT_EQ(image_in(body), image);
  }
}

TEST_F(CapsuleFiles, ImagesOfOtherDriversAreNoneOfOurs) {
  auto body = asking_for("podman", "images/chrony.capsule");
  EXPECT_THAT(name_images_by_digest(body, directory_, state_), testing::IsEmpty());
}

TEST_F(CapsuleFiles, AFileThatIsMissingIsToldWithTheProgramThatBuildsIt) {
  std::ofstream(directory_ + "/images/build") << "#!/bin/sh\n";
  auto body = asking_for("capsule", "images/chrony.capsule");
  try {
    name_images_by_digest(body, directory_, state_);
    FAIL() << "a missing image was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::not_found);
    EXPECT_THAT(error.text(), testing::HasSubstr("/images/chrony.capsule"));
    EXPECT_THAT(error.text(), testing::HasSubstr("build it: " + directory_ + "/images/build"));
  }
}

TEST_F(CapsuleFiles, WhatWasBuiltInTheStateDirectoryIsFoundByTheSamePath) {
  const auto built = state_ + "/built" + std::filesystem::canonical(directory_).string() + "/images";
  std::filesystem::create_directories(built);
  std::ofstream(built + "/chrony.capsule") << "no image";
  auto body = asking_for("capsule", "images/chrony.capsule");
  try {
    name_images_by_digest(body, directory_, state_);
    FAIL() << "it is no image";
  } catch (const Error& error) {
    EXPECT_NE(error.code(), Code::not_found) << error.text();
    EXPECT_THAT(error.text(), testing::HasSubstr(built + "/chrony.capsule"));
  }
}

TEST_F(CapsuleFiles, AFileThatIsNoImageIsRefused) {
  std::ofstream(directory_ + "/images/chrony.capsule") << "no image";
  auto body = asking_for("capsule", "images/chrony.capsule");
  EXPECT_THROW(name_images_by_digest(body, directory_, state_), Error);
}

}  // namespace
}  // namespace underway::cli
