#include <gtest/gtest.h>

#include "api/testing/world.hpp"
#include "api/tests/access.hpp"
#include "crypto/digest.hpp"

namespace underway::api {
namespace {

using testing::make_job;
using testing::World;

constexpr const char* kSnapshot = "/v1/operator/snapshot";

/// Collects a streamed body.
class Collected final : public http::BodyWriter {
 public:
  awaitable<void> write(std::string data) override {
    text += data;
    co_return;
  }
  std::string text;
};

std::string body_of(World& world, http::Response& response) {
  Collected collected;
  if (response.stream) world.loop.run_until_done(response.stream(collected));
  return collected.text;
}

TEST(SnapshotApi, IsStreamedWithItsDigestAndTakenBack) {
  World world;
  ASSERT_EQ(world.run(make_job("kept")).status, 200);
  auto saved = world.get(kSnapshot);
  ASSERT_EQ(saved.status, 200) << saved.body;
  EXPECT_EQ(saved.headers.find("Content-Type"), "application/x-gzip");
  EXPECT_TRUE(saved.headers.has("X-Nomad-Index"));
  const std::string bytes = body_of(world, saved);
  EXPECT_EQ(saved.headers.find("Digest"), "sha-256=" + base64_encode(crypto::sha256(bytes)));
  EXPECT_TRUE(bytes.starts_with("\x1f\x8b"));

  ASSERT_EQ(world.run(make_job("later")).status, 200);
  const auto restored = world.put(kSnapshot, bytes);
  ASSERT_EQ(restored.status, 200) << restored.body;
  EXPECT_EQ(restored.body, "");
  EXPECT_EQ(world.get("/v1/job/later").status, 404);
  EXPECT_EQ(world.get("/v1/job/kept").status, 200);
}

TEST(SnapshotApi, RefusesWhatIsNone) {
  World world;
  ASSERT_EQ(world.run(make_job("kept")).status, 200);
  EXPECT_EQ(world.put(kSnapshot, "").status, 400);
  EXPECT_EQ(world.put(kSnapshot, "no archive").status, 400);
  auto saved = world.get(kSnapshot);
  const std::string bytes = body_of(world, saved);
  EXPECT_EQ(world.put(kSnapshot, bytes.substr(0, bytes.size() / 2)).status, 400);
  EXPECT_EQ(world.get("/v1/job/kept").status, 200);
}

using SnapshotAccess = testing::AccessTest;

TEST_F(SnapshotAccess, NeedsAManagementToken) {
  make_token("operator", R"(operator { policy = "write" })");
  make_token("root", "");
  EXPECT_EQ(status("GET", kSnapshot), 403);
  world.token = "operator";
  EXPECT_EQ(status("GET", kSnapshot), 403);
  EXPECT_EQ(status("PUT", kSnapshot, "x"), 403);
  world.token = "root";
  EXPECT_EQ(status("GET", kSnapshot), 200);
  EXPECT_EQ(status("PUT", kSnapshot, "x"), 400);
}

}  // namespace
}  // namespace underway::api
