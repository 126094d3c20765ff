#include "mirror/deb.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "openpgp/signing_key.hpp"
#include "os/file.hpp"
#include "rpmmd/compressed.hpp"
#include "suite/release.hpp"
#include "transfer/testing/upstream_site.hpp"

namespace underway::mirror {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;
using transfer::testing::Manners;
using transfer::testing::UpstreamSite;

const TimePoint kNow = *parse_time("2026-11-20T12:00:00Z");

/// A package as the test's upstream has it; what is in its file is nobody's matter here.
struct Made {
  std::string name, version, fields;
  std::string bytes() const { return "the file of " + name + " " + version + std::string(name.size() * 100, '.'); }
  std::string path() const { return fmt::format("pool/main/{}/{}_{}_amd64.deb", name.substr(0, 1), name, version); }
  std::string stanza() const {
    return fmt::format(
        "Package: {}\nVersion: {}\nArchitecture: amd64\nMaintainer: Nobody <n@example.com>\n{}Filename: {}\nSize: "
        "{}\nSHA256: {}\n",
        name, version, fields, path(), bytes().size(), hex(crypto::sha256(bytes())));
  }
};

class DebMirror : public ::testing::Test {
 protected:
  DebMirror() {
    char name[] = "/tmp/underway-mirror-XXXXXX";
    directory_ = ::mkdtemp(name);
    pool_ = std::make_unique<pool::Pool>(directory_ + "/pool", pool::Limits{.reserve = 0});
    key_ = std::make_unique<openpgp::SigningKey>(make_key("upstream"));
    mirror_ = {.name = "debian", .url = site_.url(), .suites = {"bookworm"}, .keys = {"upstream.asc"}};
  }
  ~DebMirror() override { os::remove_tree(directory_); }

  openpgp::SigningKey make_key(const std::string& name) const {
    return openpgp::SigningKey::create(directory_ + "/" + name, {.user_id = name + " <" + name + "@example.com>"},
                                       kNow - hours(24 * 30));
  }
  /// Upstream makes a new state of a suite.
  struct Release {
    std::string suite = "bookworm";
    TimePoint date = kNow - hours(1);
    std::optional<TimePoint> valid_until = std::nullopt;
    bool by_hash = true;
    std::string suffix = ".gz";
  };
  void publish(const std::vector<Made>& packages, const Release& release) {
    std::string text;
    for (const auto& each : packages) {
      text += each.stanza() + "\n";
      site_.put(each.path(), each.bytes());
    }
    publish_text(text, release);
  }
  void publish(const std::vector<Made>& packages) { publish(packages, Release()); }
  void publish_text(const std::string& text, const Release& release) {
    const auto packed =
        rpmmd::pack(text, release.suffix == ".gz" ? rpmmd::Compression::gzip : rpmmd::Compression::zstd);
    const std::string path = "main/binary-amd64/Packages";
    suite::Release head{.origin = "Debian",
                        .label = "Debian",
                        .suite = "stable",
                        .codename = release.suite,
                        .date = release.date,
                        .valid_until = release.valid_until,
                        .acquire_by_hash = release.by_hash,
                        .components = {"main"},
                        .architectures = {"all", "amd64"}};
    head.files = {{path, text.size(), hex(crypto::sha256(text))},
                  {path + release.suffix, packed.size(), hex(crypto::sha256(packed))}};
    const auto dists = "dists/" + release.suite + "/";
    site_.put(dists + path + release.suffix, packed);
    if (release.by_hash) site_.put(dists + "main/binary-amd64/by-hash/SHA256/" + hex(crypto::sha256(packed)), packed);
    site_.put(dists + "InRelease", key_->clearsign(suite::write_release(head), release.date));
  }

  Synchronised synchronise(const View& before = {}, TimePoint now = kNow) {
    const std::vector<std::string> keys{believed_.empty() ? key_->public_key() : believed_};
    const auto keyring = openpgp::Keyring::of_texts(directory_ + "/homes", keys);
    transfer::Transfer upstream({.url = mirror_.url, .proxy = "", .tries = 2, .pause = std::chrono::milliseconds(1)});
    return synchronise_deb(mirror_, before, {keyring, upstream, *pool_}, now);
  }
  std::string refusal(const View& before = {}, TimePoint now = kNow) {
    try {
      synchronise(before, now);
      return "it was taken";
    } catch (const Error& error) {
      return error.one_line();
    }
  }
  /// "name version" of what a view has, after a look whether the pool has the files.
  std::vector<std::string> packages_of(const View& view) const {
    std::vector<std::string> out;
    for (const auto& suite : view.suites) {
      for (const auto& index : suite.indexes) {
        const auto text = os::read_file(pool_->path_of(package::parse_digest(index.list)));
        const auto list = package::PackageList::of_packages_index(std::make_shared<const std::string>(text));
        EXPECT_EQ(static_cast<std::int64_t>(list.size()), index.packages);
        for (const auto& each : list.packages()) {
          out.push_back(each.name + " " + each.version);
          EXPECT_TRUE(pool_->has(each.digest)) << each.name;
        }
      }
    }
    return out;
  }

  std::string directory_, believed_;
  UpstreamSite site_;
  std::unique_ptr<pool::Pool> pool_;
  std::unique_ptr<openpgp::SigningKey> key_;
  releasefile::Mirror mirror_;
  const std::vector<Made> two_ = {{"munge", "0.5.15-2", ""}, {"slurmd", "22.05.8-4", "Depends: munge\n"}};
};

TEST_F(DebMirror, TakesAllOnceAndThenAsksOnceWhetherThereIsMore) {
  publish(two_);
  const auto first = synchronise();
  EXPECT_TRUE(first.changed);
  EXPECT_EQ(first.files, 2U);
  EXPECT_THAT(packages_of(first.view), ElementsAre("munge 0.5.15-2", "slurmd 22.05.8-4"));
  ASSERT_THAT(first.view.suites, SizeIs(1));
  EXPECT_EQ(first.view.suites[0].origin, "Debian");
  EXPECT_EQ(first.view.suites[0].date, unix_seconds(kNow - hours(1)));
  EXPECT_TRUE(pool_->has(package::parse_digest(first.view.suites[0].release)));
  site_.asked();
  const auto again = synchronise(first.view);
  EXPECT_FALSE(again.changed);
  EXPECT_THAT(site_.asked(), ElementsAre("dists/bookworm/InRelease 304"));
  EXPECT_EQ(again.view.suites[0].indexes[0].list, first.view.suites[0].indexes[0].list);
}

TEST_F(DebMirror, FetchesOnlyWhatIsNew) {
  publish(two_);
  const auto first = synchronise();
  auto three = two_;
  three.push_back({"slurmd", "22.05.8-5", ""});
  publish(three, {.date = kNow});
  site_.asked();
  const auto next = synchronise(first.view);
  EXPECT_EQ(next.files, 1U);
  EXPECT_THAT(packages_of(next.view), ElementsAre("munge 0.5.15-2", "slurmd 22.05.8-4", "slurmd 22.05.8-5"));
  EXPECT_THAT(site_.asked(),
              ElementsAre("dists/bookworm/InRelease", StartsWith("dists/bookworm/main/binary-amd64/by-hash/SHA256/"),
                          "pool/main/s/slurmd_22.05.8-5_amd64.deb"));
  EXPECT_THAT(packages_of(first.view), SizeIs(2)) << "the view of before is still whole";
}

TEST_F(DebMirror, TakesNothingThatItsKeysHaveNotSigned) {
  publish(two_);
  const auto stranger = make_key("stranger");
  believed_ = stranger.public_key();
  EXPECT_THAT(refusal(), HasSubstr("key"));
  believed_.clear();
  site_.put("dists/bookworm/InRelease", "Origin: Debian\n");
  EXPECT_NE(refusal(), "it was taken");
  EXPECT_THAT(site_.asked(), Not(Contains(HasSubstr("pool/"))));
}

TEST_F(DebMirror, TakesNothingThatIsOverOrGoesBackInTimeOrIsAnother) {
  publish(two_, {.valid_until = kNow - minutes(1)});
  EXPECT_THAT(refusal(), HasSubstr("it held until"));
  publish(two_, {.date = kNow + hours(1)});
  EXPECT_THAT(refusal(), HasSubstr("is of 2026-11-20T13:00:00Z, and it is 2026-11-20T12:00:00Z"));
  publish(two_, {.date = kNow - hours(24 * 15)});
  EXPECT_THAT(refusal(), HasSubstr("max_age"));
  publish(two_);
  const auto view = synchronise().view;
  publish(two_, {.date = kNow - hours(2)});
  EXPECT_THAT(refusal(view), HasSubstr("goes back in time"));
  mirror_.filter = "munge";
  EXPECT_THAT(refusal(view), HasSubstr("goes back in time")) << "whatever is to be taken of it";
  mirror_.filter.clear();
  mirror_.components = {"main", "contrib"};
  publish(two_);
  EXPECT_THAT(refusal(), HasSubstr("it has no component 'contrib'"));
}

TEST_F(DebMirror, AnIndexThatIsNotWhatWasSignedIsRefusedWhateverIsWrongWithIt) {
  const std::string path = "dists/bookworm/main/binary-amd64/Packages.gz";
  const Release plain{.by_hash = false};
  publish(two_, plain);
  auto packed = rpmmd::pack(two_[0].stanza() + "\n", rpmmd::Compression::gzip);
  site_.put(path, packed);
  EXPECT_THAT(refusal(), HasSubstr("is not what upstream signed"));
  site_.put(path, std::string(10'000, 'x'));
  EXPECT_THAT(refusal(), HasSubstr("is too large"));
  site_.remove(path);
  EXPECT_THAT(refusal(), HasSubstr("it is not there"));
  // Signed, and still: an index that is no index, and one that unpacks to more than it was said to.
  publish_text("Package: x\nno field\n", plain);
  EXPECT_THAT(refusal(), HasSubstr("line 2"));
  publish_text(
      "Package: ../x\nVersion: 1\nArchitecture: amd64\nFilename: x\nSize: 1\nSHA256: " + std::string(64, '0') + "\n",
      plain);
  EXPECT_NE(refusal(), "it was taken");
  EXPECT_THAT(site_.asked(), Each(Not(StartsWith("pool/"))));
}

TEST_F(DebMirror, WhatIsUnderItsOwnNameMayBeTheNextOneAlready) {
  publish(two_);
  site_.put("dists/bookworm/main/binary-amd64/Packages.gz", rpmmd::pack("", rpmmd::Compression::gzip));
  EXPECT_THAT(packages_of(synchronise().view), SizeIs(2));
  publish(two_, {.date = kNow, .suffix = ".zst"});
  EXPECT_THAT(packages_of(synchronise().view), SizeIs(2)) << "however it is compressed";
}

TEST_F(DebMirror, APackageOfOtherBytesIsToldAndTheRestStays) {
  publish(two_);
  site_.put(two_[1].path(), std::string(two_[1].bytes().size(), 'x'));
  EXPECT_THAT(refusal(), HasSubstr("1 of 2 packages could not be fetched"));
  site_.put(two_[1].path(), two_[1].bytes());
  site_.asked();
  EXPECT_THAT(packages_of(synchronise().view), SizeIs(2));
  EXPECT_THAT(site_.asked(), Not(Contains(HasSubstr(two_[0].path())))) << "that one was there";
}

TEST_F(DebMirror, ALineThatBreaksIsGoneOnWith) {
  publish(two_);
  site_.put(two_[0].path(), two_[0].bytes(), {.broken = 1});
  EXPECT_EQ(synchronise().files, 2U);
  EXPECT_THAT(site_.asked(), Contains(HasSubstr(two_[0].path() + " Range=bytes=")));
}

TEST_F(DebMirror, TakesWhatIsAskedForWithWhatThatNeedsAndLeavesTheRest) {
  const std::vector<Made> all = {{"munge", "0.5.15-2", "Depends: libc6\n"},
                                 {"slurmd", "22.05.8-4", "Depends: munge | other\n"},
                                 {"libc6", "2.36-9", ""},
                                 {"games", "1", "Depends: libc6\n"},
                                 {"linux-image-6.1", "6.1.1", "Depends: libc6\n"}};
  publish(all);
  const auto everything = synchronise().view;
  mirror_.filter = "slurmd";
  const auto some = synchronise(everything);
  EXPECT_TRUE(some.changed) << "upstream is as it was, and other packages are wanted of it";
  EXPECT_THAT(packages_of(some.view), ElementsAre("libc6 2.36-9", "munge 0.5.15-2", "slurmd 22.05.8-4"));
  mirror_.with_dependencies = false;
  EXPECT_THAT(packages_of(synchronise().view), ElementsAre("slurmd 22.05.8-4"));
  mirror_.filter.clear();
  mirror_.leave = {"Name (% linux-image-*)", "games"};
  const auto left = synchronise();
  EXPECT_THAT(packages_of(left.view), ElementsAre("libc6 2.36-9", "munge 0.5.15-2", "slurmd 22.05.8-4"));
  EXPECT_THAT(left.left, UnorderedElementsAre("linux-image-6.1_6.1.1_amd64", "games_1_amd64"));
}

TEST_F(DebMirror, ASuiteThatHasNotChangedTakesPartWhereSomethingIsChosen) {
  mirror_.suites = {"bookworm", "bookworm-updates"};
  mirror_.filter = "slurmd";
  publish({{"munge", "0.5.15-2", ""}});
  publish({{"slurmd", "22.05.8-4", "Depends: munge\n"}}, {.suite = "bookworm-updates"});
  const auto first = synchronise();
  EXPECT_THAT(packages_of(first.view), ElementsAre("munge 0.5.15-2", "slurmd 22.05.8-4"));
  publish({{"slurmd", "22.05.8-5", "Depends: munge\n"}}, {.suite = "bookworm-updates", .date = kNow});
  EXPECT_THAT(packages_of(synchronise(first.view).view), ElementsAre("munge 0.5.15-2", "slurmd 22.05.8-5"));
}

TEST_F(DebMirror, WhatThePoolHasLostIsFetchedAgain) {
  publish(two_);
  const auto first = synchronise();
  os::remove_tree(pool_->path_of(package::parse_digest(first.view.suites[0].indexes[0].list)));
  EXPECT_THAT(packages_of(synchronise(first.view).view), SizeIs(2));
}

}  // namespace
}  // namespace underway::mirror
