// What is published, and what the real apt makes of it.
#include "publish/deb.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <map>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "harness/command.hpp"
#include "openpgp/signing_key.hpp"
#include "os/file.hpp"
#include "rpmmd/compressed.hpp"

namespace underway::publish {
namespace {

using std::chrono::hours;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Made {
  std::string name, version, architecture = "amd64", fields = {};
};

class PublishedDebs : public ::testing::Test {
 protected:
  PublishedDebs() {
    char name[] = "/tmp/underway-publish-XXXXXX";
    directory_ = ::mkdtemp(name);
    std::filesystem::permissions(directory_, std::filesystem::perms(0755));  // apt reads as a user of its own
    key_ = std::make_unique<openpgp::SigningKey>(
        openpgp::SigningKey::create(directory_ + "/key", {.user_id = "site <site@example.com>"}, now_ - hours(48)));
    os::write_file(directory_ + "/site.asc", key_->public_key(), 0644);
  }
  ~PublishedDebs() override { os::remove_tree(directory_); }

  /// A real .deb, so that apt and dpkg can be asked; it lies where it is published from.
  std::string make_deb(const Made& made) {
    const auto root = directory_ + "/build";
    os::make_directories(root + "/DEBIAN", 0755);
    os::write_file(root + "/DEBIAN/control",
                   fmt::format("Package: {}\nVersion: {}\nArchitecture: {}\nMaintainer: Nobody <n@example.com>\n{}"
                               "Description: made by a test\n of no use\n",
                               made.name, made.version, made.architecture, made.fields),
                   0644);
    const auto file = fmt::format("{}/{}_{}_{}.deb", directory_, made.name, made.version, made.architecture);
    const auto built = harness::run({.argv = {"dpkg-deb", "--root-owner-group", "--build", root, file}});
    EXPECT_EQ(built.exit_code, 0) << built.err;
    const auto control = harness::run({.argv = {"dpkg-deb", "--field", file}}).out;
    os::remove_tree(root);
    const auto bytes = os::read_file(file);
    debs_[hex(crypto::sha256(bytes))] = bytes;
    return fmt::format("{}Filename: pool/main/x/{}\nSize: {}\nSHA256: {}\n\n", control,
                       file.substr(file.rfind('/') + 1), bytes.size(), hex(crypto::sha256(bytes)));
  }
  package::PackageList list(const std::vector<Made>& all) {
    std::string text;
    for (const auto& each : all) text += make_deb(each);
    return package::PackageList::of_packages_index(std::make_shared<const std::string>(text));
  }
  DebSuite suite(package::PackageList packages, const std::string& origin = "Site") const {
    return {.head = {.origin = origin,
                     .label = origin,
                     .suite = "stable",
                     .codename = "bookworm",
                     .date = now_,
                     .valid_until = now_ + hours(24)},
            .parts = {{"main", "amd64", std::move(packages)}}};
  }
  /// As a plain tree.
  std::string tree(const std::string& name, DebSuite suite) {
    const auto root = directory_ + "/" + name;
    const auto all = suite.parts;
    std::map<std::string, std::string> kept;
    const auto files = publish_deb(std::move(suite),
                                   {[&](auto text) { return key_->clearsign(text, now_); },
                                    [&](auto text) { return key_->detach_sign(text, now_); }},
                                   [&](const File& file, std::string_view bytes) {
                                     kept[package::hex_digest(file.digest)] = bytes;
                                     EXPECT_EQ(file.size, bytes.size());
                                   });
    for (const auto& file : files) put(root + "/" + file.path, kept.at(package::hex_digest(file.digest)));
    for (const auto& part : all) {
      for (const auto& each : part.packages.packages())
        put(root + "/" + path_of(each), debs_.at(package::hex_digest(each.digest)));
    }
    return root;
  }
  static void put(const std::string& path, const std::string& bytes) {
    os::make_directories(std::filesystem::path(path).parent_path(), 0755);
    os::write_file(path, bytes, 0644);
  }

  /// apt-get, which sees nothing of this machine's.
  harness::Finished apt(std::vector<std::string> words, const std::string& program = "apt-get") const {
    const auto root = directory_ + "/apt";
    for (const auto* part : {"/lists/partial", "/archives/partial", "/etc/preferences.d", "/etc/trusted.gpg.d", "/log"})
      os::make_directories(root + part, 0755);
    if (!os::exists(root + "/status")) os::write_file(root + "/status", "", 0644);
    // Before anything else is read: what this machine's administrator has set is not what is tested.
    std::string config;
    for (const auto& [name, value] : std::initializer_list<std::pair<std::string, std::string>>{
             {"Dir::Etc", root + "/etc"},
             {"Dir::Etc::main", "none"},
             {"Dir::Etc::parts", "none"},
             {"Dir::Etc::sourcelist", root + "/etc/sources.list"},
             {"Dir::Etc::sourceparts", "none"},
             {"Dir::State", root},
             {"Dir::State::lists", root + "/lists"},
             {"Dir::State::status", root + "/status"},
             {"Dir::Cache", root},
             {"Dir::Cache::archives", root + "/archives"},
             {"Dir::Log", root + "/log"},
             {"APT::Architecture", "amd64"},
             {"APT::Architectures", "amd64"},
             {"APT::Sandbox::User", "root"},
             {"Acquire::Languages", "none"}})
      config += fmt::format("{} \"{}\";\n", name, value);
    os::write_file(root + "/apt.conf", config, 0644);
    words.insert(words.begin(), program);
    return harness::run({.argv = std::move(words), .env = {{"APT_CONFIG", root + "/apt.conf"}}});
  }
  void sources(const std::vector<std::string>& trees) const {
    std::string text;
    for (const auto& each : trees)
      text += fmt::format("deb [signed-by={}/site.asc] copy:{} bookworm main\n", directory_, each);
    os::make_directories(directory_ + "/apt/etc", 0755);
    os::write_file(directory_ + "/apt/etc/sources.list", text, 0644);
  }

  const TimePoint now_ = std::chrono::floor<std::chrono::seconds>(SystemClock().now());
  std::string directory_;
  std::unique_ptr<openpgp::SigningKey> key_;
  std::map<std::string, std::string> debs_;  ///< by digest
};

TEST_F(PublishedDebs, AreReadFetchedAndInstalledByApt) {
  sources({tree("site", suite(list({{"tool", "1:1.0-1"}, {"tool-data", "1.0-1", "all"}})))});
  const auto update = apt({"update", "--error-on=any"});
  ASSERT_EQ(update.exit_code, 0) << update.out << update.err;
  EXPECT_THAT(apt({"policy", "tool"}, "apt-cache").out, HasSubstr("Candidate: 1:1.0-1"));
  const auto download = apt({"install", "--yes", "--download-only", "tool", "tool-data"});
  ASSERT_EQ(download.exit_code, 0) << download.out << download.err;
  EXPECT_TRUE(os::exists(directory_ + "/apt/archives/tool_1%3a1.0-1_amd64.deb"));
  const auto show = apt({"show", "tool"}, "apt-cache").out;
  EXPECT_THAT(show, AllOf(HasSubstr("Maintainer: Nobody <n@example.com>"), HasSubstr("\n of no use")));
}

TEST_F(PublishedDebs, AreRefusedByAptWhenTheyAreOverOrSomebodyElseSigned) {
  auto old = suite(list({{"tool", "1.0-1"}}));
  old.head.date = now_ - hours(24);
  old.head.valid_until = now_ - hours(1);
  sources({tree("site", old)});
  EXPECT_THAT(apt({"update", "--error-on=any"}).err, HasSubstr("is expired"));
  tree("site", suite(list({{"tool", "1.0-1"}})));
  const auto other =
      openpgp::SigningKey::create(directory_ + "/other", {.user_id = "other <o@example.com>"}, now_ - hours(48));
  os::write_file(directory_ + "/site.asc", other.public_key(), 0644);
  EXPECT_THAT(apt({"update", "--error-on=any"}).err, HasSubstr("NO_PUBKEY"));
  os::write_file(directory_ + "/site.asc", key_->public_key(), 0644);
  EXPECT_EQ(apt({"update", "--error-on=any"}).exit_code, 0);
}

TEST_F(PublishedDebs, OfAnOverlayGoBeforeThoseOfTheBaseWhateverTheirVersions) {
  sources({tree("base", suite(list({{"tool", "2.0-1"}}), "Debian")),
           tree("overlay", suite(list({{"tool", "1.0-1+site1"}}), "Site"))});
  ASSERT_EQ(apt({"update", "--error-on=any"}).exit_code, 0);
  EXPECT_THAT(apt({"policy", "tool"}, "apt-cache").out, HasSubstr("Candidate: 2.0-1"));
  os::write_file(directory_ + "/apt/etc/preferences", "Package: *\nPin: release o=Site\nPin-Priority: 700\n", 0644);
  EXPECT_THAT(apt({"policy", "tool"}, "apt-cache").out, HasSubstr("Candidate: 1.0-1+site1"));
}

TEST_F(PublishedDebs, AreTheSameBytesForTheSamePackagesAndKeepWhatUpstreamSaid) {
  const auto packages = list({{"b", "1"}, {"a", "2", "amd64", "Depends: b (>= 1),\n c\n"}});
  std::vector<std::string> texts;
  const Keep keep = [&](const File& file, std::string_view bytes) {
    texts.push_back(file.path + "\n" + std::string(bytes));
  };
  const DebSigner unsigned_{[](auto text) { return std::string(text); }, [](auto) { return std::string("none"); }};
  const auto files = publish_deb(suite(packages), unsigned_, keep);
  const auto once = std::exchange(texts, {});
  publish_deb(suite(packages), unsigned_, keep);
  EXPECT_EQ(texts, once);
  EXPECT_THAT(
      texts[0],
      HasSubstr(
          "Package: a\nVersion: 2\nArchitecture: amd64\nMaintainer: Nobody <n@example.com>\nDepends: b (>= 1),\n c\n"));
  EXPECT_THAT(texts[0], HasSubstr("\nFilename: pool/"));
  EXPECT_THAT(texts[0], Not(HasSubstr("pool/main/x")));
  std::vector<std::string> paths;
  for (const auto& file : files) paths.push_back(file.path.substr(0, file.path.find("SHA256/")));
  const std::string binary = "dists/bookworm/main/binary-amd64/";
  EXPECT_THAT(paths, ElementsAre(binary + "Packages", binary + "by-hash/", binary + "Packages.gz", binary + "by-hash/",
                                 binary + "Packages.zst", binary + "by-hash/", "dists/bookworm/Release",
                                 "dists/bookworm/Release.gpg", "dists/bookworm/InRelease"));
}

TEST_F(PublishedDebs, APartThatIsThereTwiceIsRefused) {
  auto twice = suite(list({{"a", "1"}}));
  twice.parts.push_back(twice.parts[0]);
  EXPECT_THROW(publish_deb(twice, {}, [](const auto&, auto) {}), Error);
}

}  // namespace
}  // namespace underway::publish
