#include <cstdlib>

#include "api/testing/world.hpp"
#include "image/pack.hpp"
#include "image/verified.hpp"
#include "imageshare/server_images.hpp"
#include "os/file.hpp"

namespace underway::api {
namespace {

using ::testing::HasSubstr;

class ImageApi : public ::testing::Test {
 protected:
  ImageApi() {
    char name[] = "/tmp/underway-test-XXXXXX";
    directory_ = ::mkdtemp(name);
    images_.emplace(world_.server, world_.clock, at("store"));
    world_.api.images = &*images_;
    const auto key = image::generate_key(at("ops.key"), "ops", TimePoint::max());
    trusted_ = json::encode(image::to_record(key));
    key_id_ = key.id;
    os::make_directories(at("tree"));
    os::write_file(at("tree/file"), "hello");
    image::Manifest manifest;
    manifest.name = "web";
    manifest.version = "1";
    const auto signer = image::read_private_key(at("ops.key"));
    digest_ = image::pack(at("tree"), manifest, at("web.capsule"), {.all_root = true, .key = &signer}).digest;
    bytes_ = os::read_file(at("web.capsule"));
  }
  ~ImageApi() override { os::remove_tree(directory_); }

  std::string at(const std::string& name) const { return directory_ + "/" + name; }
  std::string incoming(const std::string& more = {}) const {
    return fmt::format("/v1/underway/incoming-image/{}{}?size={}", http::percent_encode(digest_),
                       more.starts_with('/') ? more : "", bytes_.size()) +
           (more.starts_with('&') ? more : "");
  }

  testing::World world_;
  std::string directory_;
  std::optional<imageshare::ServerImages> images_;
  std::string trusted_, key_id_, digest_, bytes_;
};

TEST_F(ImageApi, TakesAnImageInPartsAndGivesItBack) {
  ASSERT_EQ(world_.put("/v1/underway/capsule-keys", trusted_).status, 200);
  EXPECT_EQ(world_.read(incoming()).at("Offset"), 0);
  EXPECT_EQ(world_.put(incoming("&offset=0"), bytes_.substr(0, 3000)).body, R"({"Offset":3000})");
  EXPECT_EQ(world_.put(incoming("/finish"), "").status, 409) << "bytes are missing";
  EXPECT_EQ(world_.put(incoming("&offset=4000"), "x").status, 409);
  EXPECT_EQ(world_.read(incoming()).at("Offset"), 3000) << "where an interrupted push goes on";
  EXPECT_EQ(world_.put(incoming("&offset=3000"), bytes_.substr(3000)).status, 200);
  EXPECT_EQ(world_.read("/v1/underway/images").as_array().size(), 0U) << "not verified yet";
  EXPECT_EQ(world_.put(incoming("/finish"), "").status, 200);
  EXPECT_EQ(world_.read("/v1/underway/images").at(0).at("Digest"), boost::json::value(digest_));
  EXPECT_EQ(world_.read("/v1/underway/image/web%3A1").at("Manifest").at("Name"), "web");
  EXPECT_EQ(world_.send("DELETE", "/v1/underway/image/web").status, 200);
  EXPECT_EQ(world_.get("/v1/underway/image/web").status, 404);
}

TEST_F(ImageApi, RefusesWhatTheClusterDoesNotTrust) {
  ASSERT_EQ(world_.put(incoming("&offset=0"), bytes_).status, 200);
  const auto refused = world_.put(incoming("/finish"), "");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr(key_id_));
  ASSERT_EQ(world_.put("/v1/underway/capsule-keys", trusted_).status, 200);
  ASSERT_EQ(world_.put("/v1/underway/capsule-key/" + key_id_ + "/revoke", R"({"Reason":"lost"})").status, 200);
  ASSERT_EQ(world_.put(incoming("&offset=0"), bytes_).status, 200);
  EXPECT_THAT(world_.put(incoming("/finish"), "").body, HasSubstr("lost"));
  EXPECT_EQ(world_.read("/v1/underway/capsule-keys").at(0).at("Reason"), "lost");
  EXPECT_EQ(world_.put("/v1/underway/capsule-keys", trusted_).status, 409);
}

TEST_F(ImageApi, RefusesNamesThatAreNone) {
  EXPECT_EQ(world_.get("/v1/underway/image/sha256%3A..%2F..%2Fetc").status, 400);
  EXPECT_EQ(world_.put("/v1/underway/incoming-image/sha256%3Ax?size=1000&offset=0", "x").status, 400);
  EXPECT_EQ(world_.put(incoming("&offset=1"), bytes_).status, 413);
}

}  // namespace
}  // namespace underway::api
