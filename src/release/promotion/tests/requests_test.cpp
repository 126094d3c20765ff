// What becomes a release, which tier is given it, and what is refused.
#include "promotion/requests.hpp"

#include <gmock/gmock.h>

#include "server/testing/desk.hpp"

namespace underway::promotion {
namespace {

using server::testing::Desk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Promotions : public ::testing::Test {
 protected:
  Promotions() {
    Declared declared{.cluster = "site", .releases = {}, .keys = {{"debian.asc", "a key"}}};
    declared.releases.mirrors = {{.name = "debian"}};
    declared.releases.repositories = {{.name = "local", .priority = 700}};
    declared.releases.tiers = {{.name = "build", .sources = {"debian"}},
                               {.name = "test", .from = "build"},
                               {.name = "production", .from = "test", .keep = 2}};
    declare(declared);
  }
  void declare(const Declared& declared) {
    desk_.run(DeclareReleases{declared});
    declared_ = declared;
  }
  static mirror::View view(const std::string& list) {
    return {.selection = "all",
            .suites = {{.suite = "bookworm",
                        .release = "signed-" + list,
                        .codename = "bookworm",
                        .indexes = {{.component = "main", .architecture = "amd64", .list = list}}}}};
  }
  void synchronise(const std::string& list) {
    desk_.run(NoteSynchronised{
        .cluster = "site", .source = "debian", .view = view(list), .changed = true, .files = 3, .bytes = 100});
  }
  std::string make(const std::string& name = {}) {
    return desk_.run(MakeRelease{.cluster = "site", .name = name, .note = "november", .by = "ada"}).release.name;
  }
  std::string promote(const std::string& release, const std::string& tier) {
    return desk_.run(Promote{"site", tier, release, "ada", "tried"}).release();
  }
  std::string roll_back(const std::string& tier, const std::string& release = {}) {
    return desk_.run(RollBack{"site", tier, release, "ada", "it broke"}).release();
  }
  template <class Do>
  std::string refusal(Do what) {
    const auto before = desk_.store.revision();
    try {
      what();
    } catch (const Error& error) {
      EXPECT_EQ(desk_.store.revision(), before);
      return std::string(to_string(error.code())) + ": " + error.one_line();
    }
    return "it was done";
  }
  Desk desk_;
  Declared declared_;
};

TEST_F(Promotions, AReleaseIsWhatTheSourcesOfTheFirstTierHave) {
  EXPECT_THAT(refusal([&] { make(); }), HasSubstr("conflict: 'debian' has nothing yet: it was never synchronised"));
  synchronise("one");
  const auto name = make();
  const auto release = get_release(desk_.tables, "site", name);
  EXPECT_EQ(release.by, "ada");
  EXPECT_EQ(release.note, "november");
  ASSERT_THAT(release.parts, SizeIs(1));
  EXPECT_EQ(release.parts[0].source, "debian");
  EXPECT_EQ(release.parts[0].priority, 500);
  EXPECT_EQ(release.parts[0].view.suites[0].indexes[0].list, "one");
  EXPECT_THAT(name, ::testing::MatchesRegex("[0-9]{4}[.][0-9]{2}[.][0-9]{2}-1"));
  // Where nothing has changed there is nothing to freeze; with a name of its own it is a release.
  EXPECT_EQ(make(), name);
  EXPECT_THAT(releases_of(desk_.tables, "site"), SizeIs(1));
  EXPECT_EQ(make("gold"), "gold");
  EXPECT_EQ(get_release(desk_.tables, "site", "gold").digest, release.digest);
  EXPECT_EQ(make("gold"), "gold") << "the same again";
  synchronise("two");
  EXPECT_THAT(refusal([&] { make("gold"); }),
              HasSubstr("conflict: there is a release 'gold' already, and it is another"));
  EXPECT_EQ(make(), name.substr(0, name.size() - 1) + "2");
}

TEST_F(Promotions, ALookThatFailsLeavesWhatThereIs) {
  synchronise("one");
  const auto failed =
      desk_.run(NoteSynchronised{.cluster = "site", .source = "debian", .view = {}, .failure = "it is expired"});
  EXPECT_EQ(failed.view.suites[0].indexes[0].list, "one");
  EXPECT_EQ(failed.failure, "it is expired");
  EXPECT_NE(failed.failing_since, 0);
  const auto again =
      desk_.run(NoteSynchronised{.cluster = "site", .source = "debian", .view = {}, .failure = "it is away"});
  EXPECT_EQ(again.failing_since, failed.failing_since) << "since it began";
  const auto good = desk_.run(NoteSynchronised{.cluster = "site", .source = "debian", .view = view("one")});
  EXPECT_EQ(good.failing_since, 0);
  EXPECT_EQ(good.failure, "");
  EXPECT_EQ(good.files, 3) << "of the last change";
  desk_.run(NoteSynchronised{.cluster = "site", .source = "nobody", .view = view("x")});
  EXPECT_FALSE(tables::find_record<SourceState>(desk_.tables, "site/nobody"));
}

TEST_F(Promotions, ATierHasWhatTheOneBeforeItHad) {
  synchronise("one");
  const auto one = make("one");
  EXPECT_THAT(refusal([&] { promote(one, "test"); }),
              HasSubstr("denied: release 'one' is not given to tier 'test': tier 'build' never had it"));
  EXPECT_THAT(refusal([&] { promote(one, "production"); }), HasSubstr("denied"));
  EXPECT_EQ(promote(one, "build"), one);
  EXPECT_THAT(refusal([&] { promote(one, "production"); }), HasSubstr("tier 'test' never had it"));
  EXPECT_EQ(promote(one, "test"), one);
  EXPECT_EQ(promote(one, "production"), one);
  const auto revision = desk_.store.revision();
  EXPECT_EQ(promote(one, "production"), one);
  EXPECT_EQ(desk_.store.revision(), revision) << "it has it";
  // The one before it may be further meanwhile.
  synchronise("two");
  const auto two = make("two");
  promote(two, "build");
  promote(two, "test");
  synchronise("three");
  promote(make("three"), "build");
  promote("three", "test");
  EXPECT_EQ(promote(two, "production"), two);
  EXPECT_THAT(refusal([&] { promote("four", "build"); }), HasSubstr("not_found: there is no release 'four'"));
  EXPECT_THAT(refusal([&] { promote(two, "prod"); }),
              HasSubstr("not_found: there is no tier 'prod': declared are build, test, production"));
}

TEST_F(Promotions, ATierGoesBackToWhatItHadAsFarAsItKeeps) {
  EXPECT_THAT(refusal([&] { roll_back("production"); }),
              HasSubstr("conflict: tier 'production' has nothing to go back to: it has had no release"));
  for (const auto* name : {"one", "two", "three", "four"}) {
    synchronise(name);
    make(name);
    for (const auto* tier : {"build", "test", "production"}) promote(name, tier);
  }
  EXPECT_THAT(refusal([&] { roll_back("production", "one"); }),
              HasSubstr("does not go back to 'one': it keeps four, three, two"));
  EXPECT_EQ(roll_back("production"), "three");
  EXPECT_EQ(roll_back("production"), "four") << "the one before";
  EXPECT_EQ(roll_back("production", "two"), "two");
  const auto state = tier_state(desk_.tables, "site", "production");
  EXPECT_EQ(state.steps.back().move, Move::rolled_back);
  EXPECT_EQ(state.steps.back().by, "ada");
  EXPECT_EQ(state.steps.back().why, "it broke");
  EXPECT_THAT(state.steps, SizeIs(7));
}

TEST_F(Promotions, AReleaseIsForgottenWhenNobodyMayGoBackToIt) {
  for (const auto* name : {"one", "two", "three", "four", "five", "six"}) {
    synchronise(name);
    make(name);
    for (const auto* tier : {"build", "test", "production"}) promote(name, tier);
  }
  const auto forget = [&](const std::string& name) { desk_.run(ForgetRelease{"site", name}); };
  EXPECT_THAT(refusal([&] { forget("six"); }),
              HasSubstr("conflict: release 'six' is not forgotten: tier 'build' has it"));
  EXPECT_THAT(refusal([&] { forget("one"); }), HasSubstr("tier 'build' may go back to it"));
  auto fewer = declared_;
  for (auto& tier : fewer.releases.tiers) tier.keep = 2;
  declare(fewer);
  forget("one");
  EXPECT_THAT(refusal([&] { forget("one"); }), HasSubstr("not_found"));
  EXPECT_THAT(lists_in_use(desk_.tables), ElementsAre("five", "four", "signed-five", "signed-four", "signed-six",
                                                      "signed-three", "signed-two", "six", "three", "two"));
}

TEST_F(Promotions, WhatIsDeclaredOtherwiseKeepsWhatThereIs) {
  synchronise("one");
  make("one");
  promote("one", "build");
  auto other = declared_;
  other.releases.mirrors[0].format = releasefile::Format::rpm;
  EXPECT_THAT(refusal([&] { declare(other); }), HasSubstr("conflict: 'debian' cannot have another format"));
  other = declared_;
  other.releases.tiers.erase(other.releases.tiers.begin() + 1, other.releases.tiers.end());
  other.releases.tiers.push_back({.name = "lab", .sources = {"debian"}});
  declare(other);
  EXPECT_EQ(tier_state(desk_.tables, "site", "build").release(), "one");
  EXPECT_THAT(refusal([&] { make("two"); }),
              HasSubstr("invalid: more than one tier takes its sources as they are: 'build' and 'lab' do"));
  EXPECT_EQ(desk_.run(MakeRelease{.cluster = "site", .name = "two", .tier = "lab"}).release.name, "two");
}

TEST_F(Promotions, NamesAndTextsAreChecked) {
  synchronise("one");
  for (const auto* name : {"../up", "a/b", ".hidden", "with blank"})
    EXPECT_THAT(refusal([&] { make(name); }), HasSubstr("is no name of a release")) << name;
  EXPECT_THAT(refusal([&] { make(std::string(64, 'a')); }), HasSubstr("is no name of a release"));
  EXPECT_THAT(refusal([&] { desk_.run(MakeRelease{.cluster = "site", .note = std::string(5000, 'x')}); }),
              HasSubstr("the note is no text"));
  EXPECT_THAT(refusal([&] { desk_.run(MakeRelease{.cluster = "nowhere"}); }),
              HasSubstr("not_found: cluster 'nowhere' declares no releases"));
}

}  // namespace
}  // namespace underway::promotion
