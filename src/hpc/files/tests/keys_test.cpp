// The key that signs manifests, and how another takes its place.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "tests/world.hpp"

namespace underway::files {
namespace {

using model::FileKeyStep;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string name_of(const crypto::SigningKey& key) { return base64_encode(key.verifying().bytes); }

class TrustTest : public ::testing::Test {
 protected:
  static std::string refusal(const Trust& trust, const std::vector<FileKeyStep>& steps) {
    try {
      take_steps(trust, steps);
    } catch (const Error& error) {
      return error.text();
    }
    return "taken";
  }
  const crypto::SigningKey a_ = crypto::SigningKey::generate(), b_ = crypto::SigningKey::generate(),
                           c_ = crypto::SigningKey::generate();
  const Trust first_{0, {name_of(a_)}, {}};
  const std::vector<FileKeyStep> steps_ = {introduce_key(1, a_, b_), withdraw_key(2, name_of(a_), b_),
                                           introduce_key(3, b_, c_), withdraw_key(4, name_of(b_), c_)};
};

TEST_F(TrustTest, GoesFromKeyToKeyStepByStep) {
  const auto both = take_steps(first_, {steps_[0]});
  EXPECT_THAT(both.trusted, ElementsAre(name_of(a_), name_of(b_)));
  const auto second = take_steps(both, {steps_[0], steps_[1]});
  EXPECT_THAT(second.trusted, ElementsAre(name_of(b_)));
  EXPECT_TRUE(second.has_withdrawn(name_of(a_)));
  const auto away = take_steps(first_, steps_);
  EXPECT_THAT(away.trusted, ElementsAre(name_of(c_))) << "who was away for two rotations takes both";
  EXPECT_EQ(away.serial, 4);
  EXPECT_EQ(take_steps(away, steps_).serial, 4) << "and nothing twice";
}

TEST_F(TrustTest, TakesNoStepThatItsKeysHaveNotSigned) {
  auto forged = introduce_key(1, c_, b_);
  forged.from = name_of(a_);
  EXPECT_THAT(refusal(first_, {forged}), HasSubstr("signature of the new key does not fit"));
  forged = introduce_key(1, a_, b_);
  forged.by_from = introduce_key(1, c_, b_).by_from;
  EXPECT_THAT(refusal(first_, {forged}), HasSubstr("signature of the old key does not fit"));
  EXPECT_THAT(refusal(first_, {introduce_key(1, c_, b_)}), HasSubstr("a key that is not believed here"));
  auto renumbered = steps_[0];
  renumbered.serial = 1;
  renumbered.to = name_of(c_);
  EXPECT_THAT(refusal(first_, {renumbered}), HasSubstr("does not fit"));
  auto withdrawal = introduce_key(2, a_, b_);
  withdrawal.action = model::FileKeyAction::withdraw;
  EXPECT_THAT(refusal(take_steps(first_, {steps_[0]}), {withdrawal}), HasSubstr("does not fit"))
      << "an introduction is no withdrawal";
  EXPECT_THAT(refusal(first_, {steps_[1]}), HasSubstr("step 1 of the keys that sign manifests is missing"));
  EXPECT_THAT(refusal(first_, {withdraw_key(1, name_of(a_), c_)}), HasSubstr("the new key is not believed here"));
  auto garbage = steps_[0];
  garbage.by_to = "no base64!";
  EXPECT_THAT(refusal(first_, {garbage}), HasSubstr("does not fit"));
}

TEST_F(TrustTest, AWithdrawnKeyNeverComesBack) {
  const auto second = take_steps(first_, {steps_[0], steps_[1]});
  EXPECT_THAT(refusal(second, {introduce_key(3, a_, c_)}), HasSubstr("a key that is not believed here"));
  EXPECT_THAT(refusal(second, {introduce_key(3, b_, a_)}), HasSubstr("the new key was withdrawn before"));
  EXPECT_THAT(refusal(second, {withdraw_key(3, name_of(b_), a_)}), HasSubstr("the new key is not believed here"))
      << "it does not take its successor's place";
}

TEST_F(TrustTest, IsReadAsOlderAgentsKeptIt) {
  EXPECT_THAT(parse_trust(name_of(a_) + "\n").trusted, ElementsAre(name_of(a_)));
  EXPECT_THAT(parse_trust("\n").trusted, IsEmpty());
  const auto second = take_steps(first_, {steps_[0], steps_[1]});
  EXPECT_TRUE(describe::equal(parse_trust(json::encode(second, json::Encoding::compact)), second));
}

class KeysTest : public FilesWorld {
 protected:
  ManifestReply ask_as(FakeNode& node, const Trust& trust) {
    const ManifestRequest request{"", "", trust.trusted.empty() ? -1 : trust.serial};
    return ask<ManifestReply>(node, "files.manifest", request);
  }
  /// What an agent does when it asks: it takes the steps, and says so.
  void catch_up(FakeNode& node, Trust& trust) {
    const auto reply = ask_as(node, trust);
    if (trust.trusted.empty()) trust = {reply.key_serial, {reply.manifest->key}, {}};
    trust = take_steps(trust, reply.steps);
    if (reply.manifest) open_manifest(*reply.manifest, {.node_id = node.id(), .trust = trust});
    model::FileReport report;
    report.key_serial = trust.serial;
    report.manifest = "any";
    ask<boost::json::value>(node, "files.report", report);
  }
  FileKeyState state() { return key_state(tables()).value(); }
  FileKeyState rotate(bool force = false) { return loop.run_until_done(service.rotate_key(force)); }
  std::string signer(FakeNode& node) { return ask_as(node, {}).manifest->key; }
};

TEST_F(KeysTest, TheNewKeySignsOnceAllWhoAreAliveBelieveIt) {
  auto& c1 = join(1);
  auto& c2 = join(2);
  put({file("/etc/motd", "hello\n")});
  Trust first, second;
  catch_up(c1, first);
  catch_up(c2, second);
  const auto old = signer(c1);
  const auto before = state();
  EXPECT_EQ(before.serial, 0);

  const auto begun = rotate();
  EXPECT_EQ(begun.key, before.key);
  EXPECT_FALSE(begun.next.empty());
  EXPECT_THAT(begun.waiting, ElementsAre("c1", "c2"));
  server::testing::run_until(loop, [&] { return told[1] > 1 && told[2] > 1; });
  EXPECT_THAT(refusal([&] { rotate(); }), HasSubstr("is being rotated already"));
  catch_up(c1, first);
  EXPECT_TRUE(first.believes(old));
  EXPECT_EQ(first.trusted.size(), 2U);
  EXPECT_EQ(signer(c1), old) << "c2 would not believe the new one";
  EXPECT_THAT(state().waiting, ElementsAre("c2"));
  catch_up(c2, second);
  server::testing::run_until(loop, [&] { return state().next.empty(); });
  EXPECT_EQ(state().key, begun.next);
  settle();
  EXPECT_NE(signer(c1), old);
  catch_up(c1, first);
  EXPECT_FALSE(first.believes(old));
  EXPECT_THAT(state().waiting, ElementsAre("c2"));
  catch_up(c2, second);
  EXPECT_THAT(state().waiting, IsEmpty());
}

TEST_F(KeysTest, WhoIsOffIsNotWaitedForAndCatchesUp) {
  auto& c1 = join(1);
  auto& c2 = join(2);
  put({file("/etc/motd", "hello\n")});
  Trust here, away;
  catch_up(c1, here);
  catch_up(c2, away);
  loop.run_until_done(c2.stop());
  auto row = *tables().find_node(c2.id());
  row.status = model::NodeStatus::down;
  change(tables::PutNode{row});
  for (int i = 0; i < 2; ++i) {
    rotate();
    catch_up(c1, here);
    server::testing::run_until(loop, [&] { return state().next.empty(); });
    catch_up(c1, here);
    EXPECT_THAT(state().behind, ElementsAre("c2"));
  }
  EXPECT_EQ(state().serial, 4);
  auto& back = join(2);
  settle();
  catch_up(back, away);
  EXPECT_EQ(away.serial, 4);
  EXPECT_THAT(state().behind, IsEmpty());
  Trust fresh;
  catch_up(join(3), fresh);
  EXPECT_EQ(fresh.trusted, away.trusted) << "a new node begins with the key that signs now";
}

TEST_F(KeysTest, ByForceTheOldKeyIsWithdrawnAtOnce) {
  auto& c1 = join(1);
  put({file("/etc/motd", "hello\n")});
  Trust trust;
  catch_up(c1, trust);
  const auto replayed = *ask_as(c1, {}).manifest;
  const auto forced = rotate(true);
  EXPECT_TRUE(forced.next.empty());
  EXPECT_EQ(forced.serial, 2);
  EXPECT_NE(signer(c1), replayed.key);
  catch_up(c1, trust);
  EXPECT_THAT(refusal([&] { open_manifest(replayed, {.node_id = c1.id(), .trust = trust}); }),
              HasSubstr("signed by a key that was withdrawn"));
  // One that waits for somebody is ended.
  rotate();
  EXPECT_THAT(state().waiting, ElementsAre("c1"));
  EXPECT_TRUE(rotate(true).next.empty());
  EXPECT_EQ(state().serial, 4);
}

TEST_F(KeysTest, ANewNodeBelievesBothWhileOneIsIntroduced) {
  auto& c1 = join(1);
  put({file("/etc/motd", "hello\n")});
  Trust old, fresh;
  catch_up(c1, old);
  rotate();
  auto& c2 = join(2);
  settle();
  catch_up(c2, fresh);
  EXPECT_EQ(fresh.trusted.size(), 2U);
  EXPECT_EQ(fresh.serial, 1);
}

TEST_F(KeysTest, ARotationIsSealedUnderTheRootKeyToo) {
  auto& c1 = join(1);
  put({file("/etc/motd", "hello\n")});
  Trust trust;
  catch_up(c1, trust);
  rotate();
  const std::string old = server.keyring().active_id();
  loop.run_until_done(server.variables().rotate(true));
  EXPECT_THAT(refusal([&] { service.refuse_removal(tables(), old); }), HasSubstr("the key of file manifests"));
  loop.run_until_done(service.seal_own_key_anew());
  EXPECT_EQ(refusal([&] { service.refuse_removal(tables(), old); }), "no error");
  catch_up(c1, trust);
  server::testing::run_until(loop, [&] { return state().next.empty(); });
}

TEST_F(KeysTest, AWaitThatGoesOnIsSaid) {
  auto& c1 = join(1);
  put({file("/etc/motd", "hello\n")});
  Trust trust;
  catch_up(c1, trust);
  rotate();
  EXPECT_TRUE(waiting_rotation(tables(), clock.now()).empty());
  const auto later = waiting_rotation(tables(), clock.now() + std::chrono::minutes(6));
  ASSERT_EQ(later.size(), 1U);
  EXPECT_THAT(later[0].what, HasSubstr("waits to be rotated for c1"));
}

/// Killed after any step: what its successor finds in the store is where it goes on.
TEST_F(KeysTest, ASuccessorGoesOnWhereTheServerWasKilled) {
  auto& c1 = join(1);
  put({file("/etc/motd", "hello\n")});
  Trust trust;
  catch_up(c1, trust);
  const auto begun = rotate();
  loop.run_until_done(service.stop());
  server::Server again_server{loop.executor(), store, clock, ids, {}};
  const auto found = key_state(again_server.writer().tables());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->next, begun.next);
  EXPECT_EQ(found->serial, 1);
  EXPECT_THAT(found->waiting, ElementsAre("c1"));
}

}  // namespace
}  // namespace underway::files
