#include "oci/config.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "fixture.hpp"
#include "oci/document.hpp"
#include "oci/registry/credentials.hpp"
#include "oci/user.hpp"

namespace underway::oci {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kWhole = R"({"architecture":"amd64","os":"linux","created":"2026-01-01T00:00:00Z","config":{
  "User":"web:www","ExposedPorts":{"80/tcp":{},"53/udp":{}},"Env":["PATH=/bin","A=b=c"],"Entrypoint":["/bin/web"],
  "Cmd":["-x"],"Volumes":{"/data":{}},"WorkingDir":"srv","Labels":{"a":"b"},"StopSignal":"SIGINT",
  "Healthcheck":{"Test":["CMD-SHELL","true"],"Interval":30000000000,"Timeout":5000000000,"StartPeriod":0,"Retries":3}},
  "rootfs":{"type":"layers","diff_ids":["sha256:)" +
                           std::string(64, 'b') + R"("]},"history":[{"created_by":"x"}]})";

TEST(Configs, TellHowAnImageIsRun) {
  const auto config = parse_config(kWhole);
  EXPECT_THAT(config.entrypoint, ElementsAre("/bin/web"));
  EXPECT_THAT(config.cmd, ElementsAre("-x"));
  EXPECT_THAT(config.env, ElementsAre("PATH=/bin", "A=b=c"));
  EXPECT_EQ(config.working_dir, "/srv");
  EXPECT_EQ(config.user, "web:www");
  EXPECT_THAT(config.volumes, ElementsAre("/data"));
  EXPECT_THAT(config.exposed_ports, ElementsAre("53/udp", "80/tcp"));
  EXPECT_EQ(config.labels.at("a"), "b");
  EXPECT_EQ(config.stop_signal, "SIGINT");
  ASSERT_TRUE(config.healthcheck);
  EXPECT_EQ(config.healthcheck->interval, std::chrono::seconds(30));
  EXPECT_EQ(config.healthcheck->retries, 3);
  EXPECT_EQ(config.diff_ids.size(), 1U);
}

TEST(Configs, OfOldBuildersHaveNullsAndGaps) {
  const auto config = parse_config(R"({"config":{"Cmd":["sh"],"Entrypoint":null,"Env":null,"Volumes":null,"Labels":null,
      "OnBuild":null,"Healthcheck":null},"rootfs":{"type":"layers","diff_ids":null}})");
  EXPECT_THAT(config.cmd, ElementsAre("sh"));
  EXPECT_FALSE(config.healthcheck);
  EXPECT_TRUE(parse_config("{\"config\":null}").entrypoint.empty());
}

/// Every value of the document in turn becomes one of another kind.
void replace_each(boost::json::value& at, const std::function<void()>& look) {
  static const boost::json::value kOthers[] = {7,
                                               "x",
                                               true,
                                               boost::json::array{1},
                                               boost::json::object{{"a", 1}},
                                               boost::json::array{boost::json::array{}},
                                               -1.5e300};
  for (const auto& other : kOthers) {
    const boost::json::value before = at;
    at = other;
    look();
    at = before;
  }
  if (auto* object = at.if_object())
    for (auto& [key, value] : *object) replace_each(value, look);
  if (auto* array = at.if_array())
    for (auto& value : *array) replace_each(value, look);
}

TEST(Configs, ThatAreWrongInAnyMemberAreRefusedOrRead) {
  boost::json::value document = boost::json::parse(kWhole);
  int refused = 0, read = 0;
  replace_each(document, [&] {
    try {
      parse_config(boost::json::serialize(document));
      ++read;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid) << error.text();
      ++refused;
    }
  });
  EXPECT_GT(refused, 100);
  EXPECT_GT(read, 10) << "members that nobody here reads, and texts for texts";
}

TEST(Configs, SayWhichMemberIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"config":{"Env":["A=b","B"]}})", "config.Env[1]"},
      {R"({"config":{"Env":["=b"]}})", "config.Env[0]"},
      {R"({"config":{"Cmd":"x"}})", "config.Cmd"},
      {R"({"config":{"Entrypoint":["a","b\u0000c"]}})", "config.Entrypoint[1]"},
      {R"({"config":{"User":"a\u0000"}})", "config.User"},
      {R"({"config":{"Healthcheck":{"Interval":"x"}}})", "config.Healthcheck.Interval"},
      {R"({"rootfs":{"type":"layers","diff_ids":["sha256:../x"]}})", "is no digest"},
      {R"({"rootfs":{"type":"base"}})", "rootfs.type"},
      {"[", ""}};
  for (const auto& [text, what] : cases) {
    SCOPED_TRACE(text);
    EXPECT_THAT(failure_of([&written = text] { parse_config(written); }), HasSubstr(what));
  }
}

TEST(Manifests, AreChosenByPlatform) {
  const std::string digest = R"("digest":"sha256:)" + std::string(63, '0');
  const auto index = parse_document(R"({"schemaVersion":2,"manifests":[
    {"size":1,)" + digest + R"(1","platform":{"architecture":"amd64","os":"windows"}},
    {"size":1,)" + digest + R"(2","platform":{"architecture":"arm","os":"linux","variant":"v6"}},
    {"size":1,)" + digest + R"(3","platform":{"architecture":"arm","os":"linux","variant":"v7"}},
    {"size":1,)" + digest + R"(4","platform":{"architecture":"amd64","os":"linux"}},
    {"size":1,)" + digest + R"(5","platform":{"architecture":"unknown","os":"unknown"}}]})");
  EXPECT_TRUE(choose_platform(index, {"amd64", "linux", ""}).digest.ends_with("4"));
  EXPECT_TRUE(choose_platform(index, {"arm", "linux", "v7"}).digest.ends_with("3"));
  EXPECT_TRUE(choose_platform(index, {"arm", "linux", "v6"}).digest.ends_with("2"));
  EXPECT_THAT(failure_of([&] { choose_platform(index, {"s390x", "linux", ""}); }),
              HasSubstr("there are images for windows/amd64, linux/arm/v6"));
  EXPECT_THAT(failure_of([] { parse_document(R"({"schemaVersion":1,"fsLayers":[]})"); }), HasSubstr("schema 1"));
}

TEST(Credentials, AreThoseOfTheMostSpecificKey) {
  const auto encoded = [](const std::string& text) { return base64_encode(text); };
  const std::string file = fmt::format(
      R"({{"auths":{{"https://index.docker.io/v1/":{{"auth":"{}"}},"quay.io":{{"auth":"{}"}},"quay.io/a":{{"auth":"{}"}},
          "gone.io":{{}},"token.io":{{"auth":"{}","identitytoken":"t"}},"bad.io":{{"auth":"%%"}}}},
          "credHelpers":{{"help.io":"secretservice"}}}})",
      encoded("hub:h"), encoded("q:1:2"), encoded("qa:2"), encoded("00:"));
  const auto find = [&](const char* image) { return parse_auth_file(file, parse_reference(image), "auth.json"); };
  EXPECT_EQ(find("busybox")->username, "hub");
  EXPECT_EQ(find("quay.io/b/c")->password, "1:2");
  EXPECT_EQ(find("quay.io/a/c")->username, "qa");
  EXPECT_EQ(find("quay.io/ab/c")->username, "q");
  EXPECT_EQ(find("token.io/a")->identity_token, "t");
  EXPECT_FALSE(find("gone.io/a"));
  EXPECT_FALSE(find("other.io/a"));
  EXPECT_THAT(failure_of([&] { find("bad.io/a"); }), HasSubstr("auths[\"bad.io\"].auth is not user:password"));
  EXPECT_THAT(failure_of([&] { find("help.io/a"); }), HasSubstr("docker-credential-secretservice"));
}

class Users : public InDirectory {
 protected:
  Users() {
    os::make_directories(at("root/etc"));
    os::write_file(at("root/etc/passwd"),
                   "root:x:0:0:root:/root:/bin/sh\nweb:x:33:34:w:/srv:/bin/sh\n#\nbroken\n7:x:8:9::/seven:\n"
                   "minus:x:4294967295:1::/:\n");
    os::write_file(at("root/etc/group"), "root:x:0:\nwww:x:34:web\nlog:x:4:root,web\nbad:x:-1:web\n");
  }
  ImageUser of(std::string_view text) const { return resolve_user(at("root"), text); }
};

TEST_F(Users, AreThoseOfTheImage) {
  EXPECT_EQ(of("").uid, 0U);
  EXPECT_EQ(of("").home, "/root");
  const auto web = of("web");
  EXPECT_EQ(web.uid, 33U);
  EXPECT_EQ(web.gid, 34U);
  EXPECT_THAT(web.groups, ElementsAre(4U));
  EXPECT_EQ(web.home, "/srv");
  EXPECT_EQ(of("33").name, "web");
  EXPECT_EQ(of("33").groups, web.groups);
  EXPECT_EQ(of("web:log").gid, 4U);
  EXPECT_TRUE(of("web:log").groups.empty());
  EXPECT_EQ(of("1234:5678").gid, 5678U);
  EXPECT_EQ(of("1234").gid, 0U);
  EXPECT_EQ(of("7").uid, 8U) << "a name wins over a number";
  EXPECT_THAT(failure_of([&] { of("nobody"); }), HasSubstr("the image has no user 'nobody'"));
  EXPECT_THAT(failure_of([&] { of("web:staff"); }), HasSubstr("the image has no group 'staff'"));
  EXPECT_THAT(failure_of([&] { of("4294967295"); }), HasSubstr("no user"));
  EXPECT_THAT(failure_of([&] { of("minus"); }), HasSubstr("no user"));
  EXPECT_THAT(failure_of([&] { of("a:b:c"); }), HasSubstr("is no user"));
}

TEST_F(Users, AreNotThoseOfThisMachine) {
  os::remove_tree(at("root/etc/passwd"));
  ASSERT_EQ(::symlink("/../../../../../../etc/passwd", at("root/etc/passwd").c_str()), 0);
  EXPECT_THAT(failure_of([&] { of("daemon"); }), HasSubstr("cannot open")) << "the link leads to itself";
  os::remove_tree(at("root/etc"));
  ASSERT_EQ(::symlink("/etc", at("root/etc").c_str()), 0);
  EXPECT_NE(failure_of([&] { of("daemon"); }), "no failure");
  os::remove_tree(at("root/etc"));
  EXPECT_EQ(of("root").uid, 0U);
  EXPECT_EQ(of("12:13").gid, 13U) << "images without any file but a program";
}

}  // namespace
}  // namespace underway::oci
