// Pulls from registries: Debian's docker-registry, filled by skopeo, and one that misbehaves.

#include "fake_registry.hpp"
#include "fixture.hpp"
#include "harness/places.hpp"
#include "oci/store.hpp"
#include "os/process/process.hpp"
#include "real_registry.hpp"

namespace underway::oci {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

class Registries : public InDirectory {
 protected:
  Registries() {
    options_.patience.attempts = 3;
    options_.patience.back_off = 1ms;
    options_.patience.stall = 1s;
    options_.timeout = 30s;
  }
  Image pull(const std::string& reference) { return store_.pull(parse_reference(reference), options_); }
  Image pull(const FakeRegistry& registry, const std::string& name = "/a/b:v1") { return pull(registry.host() + name); }
  static std::size_t count(const std::vector<std::string>& requests, const std::string& what) {
    return static_cast<std::size_t>(
        std::ranges::count_if(requests, [&](const auto& each) { return each.find(what) != std::string::npos; }));
  }

  const std::string big_ = noise(1 << 20);
  const MadeImage image_ = make_image({tar_of({{"a", AE_IFREG, "a"}}), tar_of({{"big", AE_IFREG, big_}})});
  Store store_{at("store"), binary_dir() + "/bin/underway-pull"};
  PullOptions options_;
};

TEST_F(Registries, ThatWantATokenGiveOneToWhomTheyKnow) {
  const FakeRegistry registry(image_, {.token = "t0ken", .user = "u", .password = "secret"});
  EXPECT_THAT(failure_of([&] { pull(registry); }), HasSubstr("it may need credentials"));
  options_.credentials = Credentials{"u", "wrong", ""};
  EXPECT_THAT(failure_of([&] { pull(registry); }), HasSubstr("UNAUTHORIZED: as the test wants it"));
  options_.credentials.reset();
  os::write_file(at("auth.json"),
                 R"({"auths":{")" + registry.host() + R"(/a":{"auth":")" + base64_encode("u:secret") + "\"}}}");
  options_.auth_file = at("auth.json");
  EXPECT_EQ(os::read_file(pull(registry).layers.at(1) + "/big"), big_);
  EXPECT_EQ(pull(registry).digest, image_.manifest);
  const auto before = registry.seen().size();
  pull(registry);
  EXPECT_EQ(registry.seen().size(), before) << "it is here: nobody is asked";
  options_.force = true;
  pull(registry);
  EXPECT_GT(registry.seen().size(), before);
}

TEST_F(Registries, TakeARefreshToken) {
  const FakeRegistry registry(image_, {.token = "t0ken", .user = "u", .password = "refresh"});
  options_.credentials = Credentials{"", "", "refresh"};
  EXPECT_EQ(pull(registry).layers.size(), 2U);
}

TEST_F(Registries, WithBasicAuthenticationGetIt) {
  const FakeRegistry registry(image_, {.user = "u", .password = "p:w"});
  options_.credentials = Credentials{"u", "p:w", ""};
  EXPECT_EQ(pull(registry).layers.size(), 2U);
}

TEST_F(Registries, ThatSendUsElsewhereDoNotSendOurCredentials) {
  const FakeRegistry storage(image_);
  const FakeRegistry registry(
      image_, {.token = "t0ken", .user = "u", .password = "secret", .redirect_layers = "http://" + storage.host()});
  options_.credentials = Credentials{"u", "secret", ""};
  EXPECT_EQ(os::read_file(pull(registry).layers.at(1) + "/big"), big_);
  EXPECT_EQ(count(storage.seen(), "/blobs/"), 2U);
  EXPECT_THAT(storage.seen(), Each(Not(HasSubstr("Basic"))));
  EXPECT_THAT(storage.seen(), Each(Not(HasSubstr("Bearer"))));
  EXPECT_EQ(count(registry.seen(), "/blobs/"), 3U);
}

TEST_F(Registries, ThatLeadInCirclesAreLeft) {
  const FakeRegistry storage(image_);
  const FakeRegistry first(image_, {.redirect_layers = "/again"});
  EXPECT_NE(failure_of([&] { pull(first); }), "no failure");
}

TEST_F(Registries, ThatAreBusyAreAskedAgain) {
  for (const int status : {429, 500, 503}) {
    SCOPED_TRACE(status);
    const FakeRegistry registry(image_, {.failures = 2, .status = status});
    EXPECT_EQ(pull(registry).layers.size(), 2U);
  }
  const FakeRegistry registry(image_, {.failures = 1000, .status = 502});
  EXPECT_THAT(failure_of([&] { pull(registry); }), HasSubstr("the answer was 502"));
  EXPECT_EQ(count(registry.seen(), "/manifests/"), 3U);
}

TEST_F(Registries, ThatBreakOffGoOnWhereTheyWere) {
  const FakeRegistry registry(image_, {.broken = 6});
  EXPECT_EQ(os::read_file(pull(registry).layers.at(1) + "/big"), big_);
  EXPECT_THAT(registry.seen(), Contains(HasSubstr("Range=bytes=")));
}

TEST_F(Registries, WithoutRangesBeginAgain) {
  const FakeRegistry registry(image_, {.broken = 1, .ranges = false});
  EXPECT_EQ(os::read_file(pull(registry).layers.at(1) + "/big"), big_);
}

TEST_F(Registries, ThatStallAreAskedAgain) {
  const FakeRegistry registry(image_, {.stalled = 1});
  EXPECT_EQ(os::read_file(pull(registry).layers.at(1) + "/big"), big_);
}

TEST_F(Registries, ThatStallForGoodMeetTheTimeLimitAndThePullGoesOnLater) {
  options_.timeout = 2s;
  options_.patience.stall = 1h;
  {
    const FakeRegistry registry(image_, {.stalled = 1000});
    EXPECT_THAT(failure_of([&] { pull(registry); }), HasSubstr("it took longer than 2s"));
  }
  EXPECT_FALSE(os::list_directory(at("store/incoming")).empty());
  const FakeRegistry registry(image_);
  options_.timeout = 30s;
  EXPECT_EQ(os::read_file(pull(registry).layers.at(1) + "/big"), big_);
  EXPECT_THAT(registry.seen(), Contains(HasSubstr("Range=bytes=")));
}

TEST_F(Registries, ThatLieAreFoundOut) {
  const std::string& layer = image_.blobs.at(image_.layers[1]);
  std::string other = layer;
  other[100] = static_cast<char>(other[100] ^ 1);
  struct Case {
    const char* name;
    std::string digest, sent;
    const char* why;
  };
  const std::vector<Case> cases = {
      {"other bytes", image_.layers[1], other, "have another digest than"},
      {"more bytes", image_.layers[1], layer + "x", "more than the"},
      {"another configuration", image_.config, "{}", "something else"},
      {"no manifest", image_.manifest, "<html>", "error: "},
      {"no image", image_.manifest, R"({"schemaVersion":2,"layers":[]})", "names no configuration"},
      {"too large", image_.manifest, std::string(5 << 20, ' '), "is too large"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const FakeRegistry registry(image_, {.lies = {{c.digest, c.sent}}});
    EXPECT_THAT(failure_of([&] { pull(registry); }), HasSubstr(c.why));
    EXPECT_TRUE(store_.list().empty());
  }
  const FakeRegistry registry(image_, {.lies = {{image_.manifest, image_.blobs.at(image_.config)}}});
  EXPECT_THAT(failure_of([&] { pull(registry, "/a/b@" + image_.manifest); }), HasSubstr("its digest is"));
}

TEST_F(Registries, WithoutTheImageSaySo) {
  const FakeRegistry registry(image_);
  EXPECT_THAT(failure_of([&] { pull(registry, "/a/b@" + digest_of("x")); }), HasSubstr("there is no image"));
  EXPECT_THAT(failure_of([&] { pull("127.0.0.1:1/a/b"); }), HasSubstr("cannot get"));
}

TEST_F(Registries, OfDebianAreReadAsSkopeoFilledThem) {
  if (!os::exists("/usr/bin/docker-registry") || !os::exists("/usr/bin/skopeo"))
    GTEST_SKIP() << "docker-registry or skopeo is not installed";
  const RealRegistry registry(at("registry"));
  write_layout(at("image"), image_);
  const auto skopeo = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"skopeo", "--insecure-policy", "copy", "--quiet"});
    const auto out = os::run_program({.argv = arguments, .env = {"PATH=/usr/bin:/bin", "HOME=" + directory_}}, 60s);
    EXPECT_TRUE(out.status.success()) << out.err;
  };
  const std::string from = "oci:" + at("image") + ":v1";
  const std::string to = "docker://" + registry.host() + "/team/tool:";
  skopeo({"--dest-tls-verify=false", from, to + "oci"});
  skopeo({"--dest-tls-verify=false", "--format", "v2s2", from, to + "docker"});
  skopeo({"--dest-tls-verify=false", "--dest-compress-format", "zstd", "--dest-compress", from, to + "zstd"});
  skopeo({from, "oci-archive:" + at("oci.tar") + ":v1"});
  skopeo({from, "docker-archive:" + at("docker.tar") + ":team/tool:1"});
  for (const std::string& reference : {to + "oci", to + "docker", to + "zstd", "oci-archive:" + at("oci.tar") + ":v1",
                                       "docker-archive:" + at("docker.tar") + ":team/tool:1"}) {
    SCOPED_TRACE(reference);
    const Image image = pull(reference);
    ASSERT_EQ(image.layers.size(), 2U);
    EXPECT_EQ(os::read_file(image.layers[1] + "/big"), big_);
    EXPECT_EQ(image.config.cmd, std::vector<std::string>{"/bin/sh"});
  }
  EXPECT_EQ(pull(to + "oci").digest, image_.manifest);
  EXPECT_EQ(store_.collect({}, SystemClock().now()).layers, 0);
  EXPECT_THAT(failure_of([&] { pull(to + "none"); }), HasSubstr("MANIFEST_UNKNOWN"));
}

}  // namespace
}  // namespace underway::oci
