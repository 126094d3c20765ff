// Both ends over a link in memory, the node's on a real directory.
#include "tests/extension.hpp"
#include "base/error.hpp"
#include "base/json/json.hpp"

namespace underway::files {
namespace {

using ::testing::HasSubstr;

TEST_F(ExtensionTest, AChangeOfAMasterArrivesAndIsReported) {
  put({file("/etc/motd", "one\n")});
  wait_for("/etc/motd", "one\n");
  put({file("/etc/motd", "two\n")});
  wait_for("/etc/motd", "two\n");
  wait_until_synced();
  EXPECT_EQ(status().files, 1);
  std::string events;
  for (const auto& event : status().events) events += event.what + " ";
  EXPECT_EQ(events, "created replaced ");
}

TEST_F(ExtensionTest, ALocalEditIsPutRightOnTheNextLookAndSaid) {
  put({file("/etc/motd", "master\n")});
  wait_for("/etc/motd", "master\n");
  wait_until_synced();
  os::write_file(base_ + "/root/etc/motd", "edited\n");
  extension_->wake();
  wait_for("/etc/motd", "master\n");
  server::testing::run_until(loop,
                             [&] { return !status().events.empty() && status().events.back().what == "corrected"; });
}

TEST_F(ExtensionTest, WithoutAServerFilesStayAsTheyAre) {
  put({file("/etc/motd", "master\n")});
  wait_for("/etc/motd", "master\n");
  link_up_ = false;
  os::write_file(base_ + "/root/etc/motd", "edited\n");
  extension_->wake();
  stop();
  start();
  for (int i = 0; i < 50; ++i) loop.context().poll();
  EXPECT_EQ(read("/etc/motd"), "edited\n");
  link_up_ = true;
  extension_->linked();
  wait_for("/etc/motd", "master\n");
}

TEST_F(ExtensionTest, AnotherServersManifestIsRefusedAndTheFilesStay) {
  put({file("/etc/motd", "master\n")});
  wait_for("/etc/motd", "master\n");
  wait_until_synced();
  stop();
  os::write_file(base_ + "/data/files/server.key",
                 base64_encode(crypto::SigningKey::generate().verifying().bytes) + "\n");
  start();
  put({file("/etc/motd", "changed\n")});
  server::testing::run_until(loop, [&] { return status().state == TargetState::refused; });
  EXPECT_THAT(status().reason, HasSubstr("signed by a key that this node does not trust"));
  EXPECT_EQ(read("/etc/motd"), "master\n");
}

TEST_F(ExtensionTest, TheKeyThatSignsIsRotatedUnderneathWithoutAWord) {
  put({file("/etc/motd", "one\n")});
  wait_until_synced();
  // As an agent kept it that knew no rotation.
  stop();
  const auto old = keys().trusted.at(0);
  os::write_file(base_ + "/data/files/server.key", old + "\n");
  start();
  loop.run_until_done(service.rotate_key(false));
  server::testing::run_until(loop, [&] { return keys().serial == 2; });
  EXPECT_TRUE(keys().has_withdrawn(old));
  put({file("/etc/motd", "two\n")});
  wait_for("/etc/motd", "two\n");
  wait_until_synced();
  server::testing::run_until(loop, [&] { return key_state(tables())->waiting.empty(); });
}

TEST_F(ExtensionTest, WhatAWithdrawnKeySignedIsNotApplied) {
  put({file("/etc/motd", "master\n")});
  wait_until_synced();
  stop();
  // This server is the one with the old key.
  auto trust = keys();
  trust.withdrawn = {trust.trusted.at(0)};
  trust.trusted = {base64_encode(crypto::SigningKey::generate().verifying().bytes)};
  trust.serial = 2;
  os::write_file(base_ + "/data/files/server.key", json::encode(trust));
  start();
  put({file("/etc/motd", "replayed\n")});
  server::testing::run_until(loop, [&] { return status().state == TargetState::refused; });
  EXPECT_THAT(status().reason, HasSubstr("signed by a key that was withdrawn"));
  EXPECT_EQ(read("/etc/motd"), "master\n");
}

TEST_F(ExtensionTest, TheLastWordOfAKeyThatLeakedDoesNotHoldForEver) {
  put({file("/etc/motd", "master\n")});
  wait_until_synced();
  stop();
  const std::string path = base_ + "/data/files/node/state.json";
  auto state = json::decode_text<Remembered>(os::read_file(path));
  EXPECT_EQ(state.key, keys().trusted.at(0));
  state.manifest.epoch = 1'000'000;  // whoever had the key said so
  os::write_file(path, json::encode(state, json::Encoding::compact));
  start();
  put({file("/etc/motd", "genuine\n")});
  server::testing::run_until(loop, [&] { return status().state == TargetState::refused; });
  loop.run_until_done(service.rotate_key(true));
  wait_for("/etc/motd", "genuine\n");
}

TEST_F(ExtensionTest, AnOlderStoreIsNotFollowedUntilSomebodySaysSo) {
  put({file("/etc/motd", "master\n")});
  wait_for("/etc/motd", "master\n");
  wait_until_synced();
  stop();
  // As if this server's store were one that was restored: the node has seen a newer one.
  const std::string path = base_ + "/data/files/node/state.json";
  auto state = json::decode_text<Remembered>(os::read_file(path));
  state.manifest.revision += 1000;
  os::write_file(path, json::encode(state, json::Encoding::compact));
  start();
  put({file("/etc/motd", "older\n")});
  server::testing::run_until(loop, [&] { return status().state == TargetState::refused; });
  EXPECT_THAT(status().reason, HasSubstr("underway file sync -accept-restored"));
  EXPECT_EQ(read("/etc/motd"), "master\n");
  loop.run_until_done(service.accept_restored());
  wait_for("/etc/motd", "older\n");
}

TEST_F(ExtensionTest, WhatIsOnTheNodeCanBeReadUnlessItIsSecret) {
  auto key = file("/etc/key", "secret");
  key.secret = true;
  put({file("/etc/motd", "master\n"), key});
  wait_for("/etc/key", "secret");
  wait_until_synced();
  const auto ask = [&](const std::string& path) {
    auto body = json::to_value(ReadRequest{"", path});
    return json::decode<FoundFile>(loop.run_until_done(extension_->answer("files.read", std::move(body))));
  };
  EXPECT_EQ(base64_decode(ask("/etc/motd").data), "master\n");
  EXPECT_EQ(ask("/etc/motd").mode, "0644");
  EXPECT_THAT(refusal([&] { ask("/etc/key"); }), HasSubstr("is secret"));
  EXPECT_THAT(refusal([&] { ask("/etc/shadow"); }), HasSubstr("is not synchronised here"));
}

TEST_F(ExtensionTest, AMasterThatLiesHereIsReadWhenItIsNewsAndOnlyFromPlainFiles) {
  const auto ask = [&](const std::string& path, const std::string& have) {
    auto body = json::to_value(MasterRequest{path, have});
    return json::decode<MasterReply>(loop.run_until_done(extension_->answer("files.master", std::move(body)))).data;
  };
  os::write_file(base_ + "/root/etc/passwd", "ann:x:1000\n");
  EXPECT_EQ(ask("/etc/passwd", ""), base64_encode("ann:x:1000\n"));
  EXPECT_EQ(ask("/etc/passwd", hex(crypto::sha256("ann:x:1000\n"))), std::nullopt);
  EXPECT_THAT(refusal([&] { ask("/etc/group", ""); }), HasSubstr("'/etc/group' does not exist"));
  EXPECT_THAT(refusal([&] { ask("/etc", ""); }), HasSubstr("no regular file"));
  EXPECT_THAT(refusal([&] { ask("/etc/../etc/passwd", ""); }), HasSubstr("'..'"));
  std::filesystem::create_symlink("passwd", base_ + "/root/etc/link");
  EXPECT_NE(refusal([&] { ask("/etc/link", ""); }), "no error");
}

}  // namespace
}  // namespace underway::files
