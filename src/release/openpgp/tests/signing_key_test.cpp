#include "openpgp/signing_key.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "fixture.hpp"

namespace underway::openpgp {
namespace {

using testing::HasSubstr;

class SigningKeys : public OpenPgp {
 protected:
  ~SigningKeys() override { EXPECT_EQ(agents(), 0) << "an agent is left"; }

  /// How many processes have a directory of ours among their arguments.
  int agents() const {
    int found = 0;
    for (const auto& entry : os::list_directory("/proc")) {
      const auto arguments = os::find_file("/proc/" + entry.name + "/cmdline");
      found += arguments && arguments->find(at("ours")) != std::string::npos;
    }
    return found;
  }
  crypto::Secret secret_of(const std::string& mail) const {
    return crypto::Secret(gpg("--export-secret-keys --armor " + mail));
  }
};

TEST_F(SigningKeys, SignWhatGpgvBelieves) {
  const auto key = signing_key();
  EXPECT_THAT(key.public_key(), testing::StartsWith("-----BEGIN PGP PUBLIC KEY BLOCK-----"));
  EXPECT_EQ(key.key().user_id, "ours <ours@example.com>");
  EXPECT_EQ(key.key().primary.created, kNow);
  EXPECT_EQ(key.key().primary.expires, std::nullopt);
  const std::string text = "Origin: x\n- dash\n-----BEGIN\nFrom here\n\n";
  os::write_file(at("InRelease"), key.clearsign(text, kNow + kDay));
  EXPECT_THAT(os::read_file(at("InRelease")), HasSubstr("Hash: SHA512\n"));
  EXPECT_TRUE(gpgv(key.public_key(), "InRelease"));
  os::write_file(at("bytes"), std::string("\0\r\n \n x", 7));
  os::write_file(at("bytes.asc"), key.detach_sign(os::read_file(at("bytes")), kNow));
  EXPECT_TRUE(gpgv(key.public_key(), "bytes.asc bytes"));
  os::write_file(at("bytes"), std::string("\0\n \n x", 6));
  EXPECT_FALSE(gpgv(key.public_key(), "bytes.asc bytes"));

  const auto verified = keyring(key.public_key()).verify_clearsigned(os::read_file(at("InRelease")), kNow + kDay);
  EXPECT_EQ(verified.content, text);
  EXPECT_EQ(verified.signatures.at(0).created, kNow + kDay);
  EXPECT_EQ(verified.signatures.at(0).fingerprint, key.key().primary.fingerprint);
}

TEST_F(SigningKeys, GiveTheSameBytesForTheSameTextAndMoment) {
  const auto key = signing_key();
  EXPECT_EQ(key.clearsign("a\n", kNow), key.clearsign("a\n", kNow));
  EXPECT_EQ(key.detach_sign("a", kNow), SigningKey::open(at("ours")).detach_sign("a", kNow));
  EXPECT_NE(key.detach_sign("a", kNow), key.detach_sign("a", kNow + std::chrono::seconds(1)));
}

TEST_F(SigningKeys, LetNobodyElseReadThemAndLeaveNoAgent) {
  const auto key = signing_key();
  key.detach_sign("a", kNow);
  EXPECT_EQ(agents(), 0);
  int secrets = 0;
  struct stat st{};
  ASSERT_EQ(::stat(at("ours").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0700U);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(at("ours"))) {
    ASSERT_EQ(::stat(entry.path().c_str(), &st), 0);
    EXPECT_FALSE(S_ISSOCK(st.st_mode)) << entry.path();
    if (!entry.path().string().ends_with(".key")) continue;
    ++secrets;
    EXPECT_EQ(st.st_mode & 07777, 0600U) << entry.path();
  }
  EXPECT_EQ(secrets, 1);
  ::chmod(at("ours").c_str(), 0750);
  EXPECT_THAT(failure_of([&] { SigningKey::open(at("ours")); }), HasSubstr("its mode is 0750"));
}

TEST_F(SigningKeys, TakeTheirAgentWithThemWhenTheyAreKilled) {
  const auto key = signing_key();
  const pid_t child = ::fork();
  if (child == 0)
    for (;;) key.detach_sign(std::string(1 << 20, 'a'), kNow);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  const auto wait = [&](auto&& condition) {
    while (!condition() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  };
  wait([&] { return agents() > 0; });
  EXPECT_GT(agents(), 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  wait([&] { return agents() == 0; });
  EXPECT_EQ(agents(), 0);
  EXPECT_TRUE(keyring(key.public_key()).verify_detached("a", key.detach_sign("a", kNow), kNow).signatures[0].good())
      << "what was left is in nobody's way";
}

TEST_F(SigningKeys, DoNotSignOutsideOfTheirTime) {
  const auto key = signing_key("ours", kDay);
  EXPECT_EQ(key.key().primary.expires, kNow + kDay);
  key.clearsign("a\n", kNow + kDay - std::chrono::seconds(1));
  EXPECT_THAT(failure_of([&] { key.clearsign("a\n", kNow + kDay); }), HasSubstr("it expired on"));
  EXPECT_THAT(failure_of([&] { key.detach_sign("a\n", kNow - kDay); }), HasSubstr("it was made on"));
}

TEST_F(SigningKeys, RefuseTextsThatWouldNotComeBack) {
  const auto key = signing_key();
  EXPECT_THAT(failure_of([&] { key.clearsign("a \n", kNow); }), HasSubstr("line 1"));
  EXPECT_THAT(failure_of([&] { key.clearsign("a", kNow); }), HasSubstr("has no end"));
}

TEST_F(SigningKeys, SignForSeveralThreadsOneAfterTheOther) {
  const auto key = signing_key();
  const auto k = keyring(key.public_key());
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      const auto moment = kNow + i * kDay;
      const auto signature = key.detach_sign(std::to_string(i), moment);
      EXPECT_EQ(k.verify_detached(std::to_string(i), signature, moment).signatures.at(0).created, moment);
    });
}

TEST_F(SigningKeys, AreTakenOverFromGpg) {
  gpg("--quick-gen-key 'Old <old@example.com>' rsa2048 sign never");
  const auto key = SigningKey::import(at("ours"), secret_of("old@example.com"), kNow);
  EXPECT_EQ(key.key().user_id, "Old <old@example.com>");
  os::write_file(at("text"), key.clearsign("a\n", kNow));
  EXPECT_TRUE(gpgv(gpg("--export --armor old@example.com"), "text"));
}

TEST_F(SigningKeys, AreNotTakenOverWhenTheyAreOfNoUse) {
  gpg("--quick-gen-key 'a <a@example.com>' ed25519 sign seconds=86400");
  gpg("--quick-gen-key 'b <b@example.com>' ed25519 sign never");
  const auto failure = [&](const crypto::Secret& secret, TimePoint now = kNow) {
    return failure_of([&] { SigningKey::import(at("ours"), secret, now); });
  };
  EXPECT_THAT(failure(secret_of("a@example.com b@example.com")), HasSubstr("there are 2 keys in it"));
  EXPECT_THAT(failure(secret_of("a@example.com"), kNow + kDay), HasSubstr("it expired on"));
  EXPECT_THAT(failure(crypto::Secret(gpg("--export --armor a@example.com"))), HasSubstr("this is no secret key"));
  EXPECT_NE(failure(crypto::Secret("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nAAAA\n")), "no failure");
  os::make_directories(at("home2"), 0700);
  // It would measure for seconds how dear a passphrase can be.
  os::write_file(at("home2/gpg-agent.conf"), "s2k-count 65536\n");
  const auto locked =
      shell("gpg --homedir " + at("home2") +
            " --batch --pinentry-mode loopback --passphrase open "
            "--quick-gen-key 'c <c@example.com>' ed25519 sign never && gpg --homedir " +
            at("home2") + " --batch --pinentry-mode loopback --passphrase open --armor --export-secret-keys");
  ASSERT_TRUE(locked.status.success()) << locked.err;
  EXPECT_THAT(failure(crypto::Secret(locked.out), std::chrono::system_clock::now() + kDay),
              HasSubstr("has no passphrase"));
  EXPECT_TRUE(os::list_directory(at("ours")).empty()) << "what was refused leaves nothing";
}

TEST_F(SigningKeys, AreMadeInEmptyDirectoriesAlone) {
  signing_key();
  EXPECT_THAT(failure_of([&] { signing_key(); }), HasSubstr("there is something in it"));
  EXPECT_THAT(failure_of([&] { SigningKey::open(at("none")); }), HasSubstr("there is no signing key"));
  for (const std::string user_id : {"", "a", "a\nb <a@b>", " a <a@b>"})
    EXPECT_THAT(failure_of([&] { SigningKey::create(at("other"), {.user_id = user_id}, kNow); }),
                HasSubstr("is no user id"));
}

TEST_F(SigningKeys, SayWhenTheirDirectoryHasTooLongAName) {
  const std::string directory = at(std::string(100, 'd'));
  const auto failure = failure_of([&] { SigningKey::create(directory, {.user_id = "a <a@example.com>"}, kNow); });
  if (failure == "no failure") GTEST_SKIP() << "gpg has its sockets below /run/user here";
  EXPECT_THAT(failure, HasSubstr("a shorter path"));
  EXPECT_TRUE(os::list_directory(directory).empty());
}

}  // namespace
}  // namespace underway::openpgp
