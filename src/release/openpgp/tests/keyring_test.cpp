#include "openpgp/keyring.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "fixture.hpp"
#include "openpgp/clearsigned.hpp"

namespace underway::openpgp {
namespace {

using testing::HasSubstr;

/// What gpg signed, with its keys, as upstream does.
class Keyrings : public OpenPgp {
 protected:
  /// Makes a key; `expiry` as gpg takes it. Returns the public one.
  std::string upstream(const std::string& name = "up", const std::string& expiry = "never",
                       TimePoint when = kNow) const {
    gpg("--quick-gen-key '" + user(name) + "' ed25519 sign " + expiry, when);
    return gpg("--export --armor " + mail(name), when);
  }
  static std::string mail(const std::string& name) { return name + "@example.com"; }
  static std::string user(const std::string& name) { return name + " <" + mail(name) + ">"; }
  std::string clearsigned(const std::string& text, const std::string& more = "-u up@example.com",
                          TimePoint when = kNow) const {
    os::write_file(at("text"), text);
    return gpg(more + " --clearsign -o - text", when);
  }
  std::string detached(const std::string& text, const std::string& more = "", TimePoint when = kNow) const {
    os::write_file(at("text"), text);
    return gpg(more + " -u up@example.com --armor --detach-sign -o - text", when);
  }
  /// The only signature, which is the reason for a refusal.
  static std::string refusal(const Keyring& keyring, const std::string& text, TimePoint now = kNow) {
    return failure_of([&] { keyring.verify_clearsigned(text, now); });
  }
};

TEST_F(Keyrings, BelieveWhatGpgSignedAndSayWhoItWas) {
  const auto k = keyring(upstream("up", "2027-01-01"));
  const std::string text = "Origin: x\n\n-----BEGIN PGP SIGNED MESSAGE-----\n- dash\nFrom here\n";
  const auto verified = k.verify_clearsigned(clearsigned(text), kNow);
  EXPECT_EQ(verified.content, text);
  ASSERT_EQ(verified.signatures.size(), 1U);
  const auto& signature = verified.signatures[0];
  EXPECT_TRUE(signature.good());
  EXPECT_EQ(signature.problem, "");
  EXPECT_EQ(signature.fingerprint, k.keys().at(0).primary.fingerprint);
  EXPECT_EQ(signature.fingerprint.size(), 40U);
  EXPECT_EQ(signature.key_id, signature.fingerprint.substr(24));
  EXPECT_EQ(signature.primary, signature.fingerprint);
  EXPECT_EQ(signature.user_id, user("up"));
  EXPECT_EQ(signature.created, kNow);
  EXPECT_EQ(signature.expires, std::nullopt);
  ASSERT_TRUE(signature.key_expires);
  EXPECT_EQ(format_time(*signature.key_expires).substr(0, 10), "2027-01-01");

  EXPECT_TRUE(k.verify_detached(text, detached(text), kNow).signatures[0].good());
  EXPECT_TRUE(k.verify_detached("a", detached("a", "--textmode"), kNow).signatures[0].good());
}

TEST_F(Keyrings, RefuseEveryChangedByteOfTheText) {
  const auto k = keyring(upstream());
  const std::string good = clearsigned("one\ntwo\n");
  const auto begin = good.find("one"), end = good.find("-----BEGIN PGP SIGNATURE");
  for (std::size_t i = begin; i < end; ++i) {
    std::string changed = good;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    if (i + 1 == end) continue;  // the end of the last line is not signed
    EXPECT_THAT(refusal(k, changed), HasSubstr("is of other bytes than these")) << i;
  }
  const auto signature = detached("one\ntwo\n");
  EXPECT_THAT(failure_of([&] { k.verify_detached("one\ntwo", signature, kNow); }), HasSubstr("of other bytes"));
  EXPECT_THAT(failure_of([&] { k.verify_detached("one\r\ntwo\n", signature, kNow); }), HasSubstr("of other bytes"));
}

TEST_F(Keyrings, RefuseChangedAndCutSignatures) {
  const auto k = keyring(upstream());
  os::write_file(at("text"), "text");
  gpg("-u up@example.com --detach-sign -o sig text");
  const std::string good = os::read_file(at("sig"));
  EXPECT_TRUE(k.verify_detached("text", good, kNow).signatures[0].good()) << "binary";
  for (std::size_t i = 0; i < good.size(); i += 5) {
    std::string changed = good;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    // Parts that are not hashed name the key once more: the change of one is none of what it says.
    try {
      const auto verified = k.verify_detached("text", changed, kNow);
      EXPECT_EQ(verified.signatures[0].fingerprint, k.keys()[0].primary.fingerprint) << i;
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == Code::denied || error.code() == Code::invalid) << error.text();
    }
    EXPECT_NE(failure_of([&] { k.verify_detached("text", good.substr(0, i), kNow); }), "no failure") << i;
  }
}

TEST_F(Keyrings, RefuseWhatOthersSigned) {
  upstream();
  const auto k = keyring(upstream("other"));
  EXPECT_THAT(refusal(k, clearsigned("a\n")), HasSubstr("is not in the keyring"));
}

TEST_F(Keyrings, TakeOneGoodSignatureOfSeveral) {
  const auto up = upstream(), other = upstream("other");
  const auto text = clearsigned("a\n", "-u up@example.com -u other@example.com");
  const auto verified = keyring(other).verify_clearsigned(text, kNow);
  ASSERT_EQ(verified.signatures.size(), 2U);
  EXPECT_EQ(verified.signatures[0].standing, Standing::unknown_key);
  EXPECT_THAT(verified.signatures[0].problem, HasSubstr(verified.signatures[0].key_id));
  EXPECT_TRUE(verified.signatures[1].good());
  EXPECT_EQ(verified.signatures[1].user_id, user("other"));
  for (const auto& signature : keyring(up + other).verify_clearsigned(text, kNow).signatures)
    EXPECT_TRUE(signature.good()) << signature.problem;
}

TEST_F(Keyrings, GoByTheTimeTheyAreTold) {
  const auto day = [](int n) { return kNow + n * kDay; };
  const auto k = keyring(upstream("up", "seconds=864000"));
  const auto text = clearsigned("a\n", "-u up@example.com --default-sig-expire 2", day(3));
  EXPECT_TRUE(k.verify_clearsigned(text, day(3)).signatures[0].good())
      << "although this machine's clock shows another day";
  EXPECT_EQ(k.verify_clearsigned(text, day(4)).signatures[0].expires, day(5));
  EXPECT_TRUE(k.verify_clearsigned(text, day(3) - kClockTolerance).signatures[0].good());
  EXPECT_THAT(refusal(k, text, day(3) - kClockTolerance - std::chrono::seconds(1)),
              HasSubstr("is of " + format_time(day(3)) + ", and it is"));
  EXPECT_THAT(refusal(k, text, day(5)), HasSubstr("expired on " + format_time(day(5))));
  EXPECT_THAT(refusal(k, text, day(10)), HasSubstr("the key"));
  EXPECT_THAT(refusal(k, text, day(10)), HasSubstr("expired on " + format_time(day(10))));
}

TEST_F(Keyrings, RefuseWhatIsOlderThanItsKey) {
  const auto k = keyring(upstream("up", "never"));
  const auto text = clearsigned("a\n", "-u up@example.com --ignore-time-conflict --ignore-valid-from", kNow - kDay);
  EXPECT_THAT(refusal(k, text), HasSubstr("and the key was made on " + format_time(kNow)));
}

TEST_F(Keyrings, RefuseARevokedKeyAlsoForWhatItSignedBefore) {
  upstream();
  const auto text = clearsigned("a\n");
  const auto expiring = clearsigned("a\n", "-u up@example.com --default-sig-expire 1");
  shell("sed 's/^:-----BEGIN/-----BEGIN/' home/openpgp-revocs.d/*.rev > revocation");
  gpg("--import revocation");
  const auto k = keyring(gpg("--export --armor up@example.com"));
  EXPECT_TRUE(k.keys().at(0).primary.revoked);
  EXPECT_THAT(refusal(k, text), HasSubstr("was revoked by its owner"));
  EXPECT_THAT(refusal(k, expiring, kNow + 2 * kDay), HasSubstr("was revoked by its owner"))
      << "gpg says that it expired";
}

TEST_F(Keyrings, KnowWhichSubkeySignedAndWhenItEnds) {
  const auto old = upstream();
  gpg("--quick-add-key " + keyring(old).keys()[0].primary.fingerprint + " ed25519 sign seconds=864000");
  const auto k = keyring(gpg("--export --armor up@example.com"));
  const auto text = clearsigned("a\n");
  const auto signature = k.verify_clearsigned(text, kNow).signatures.at(0);
  EXPECT_EQ(signature.primary, k.keys()[0].primary.fingerprint);
  EXPECT_EQ(signature.fingerprint, k.keys()[0].subkeys.at(0).fingerprint);
  EXPECT_EQ(signature.key_expires, kNow + 10 * kDay);
  EXPECT_THAT(refusal(k, text, kNow + 10 * kDay), HasSubstr("expired on"));
  EXPECT_THAT(refusal(keyring(old), text), HasSubstr("is not in the keyring")) << "the key of before does not know it";
}

TEST_F(Keyrings, RefuseWeakDigests) {
  const auto k = keyring(upstream());
  for (const auto* digest : {"SHA1", "RIPEMD160", "SHA224"})
    EXPECT_THAT(
        refusal(k,
                clearsigned("a\n", std::string("-u up@example.com --allow-weak-digest-algos --digest-algo ") + digest)),
        HasSubstr("is of a digest by "))
        << digest;
  EXPECT_TRUE(
      k.verify_clearsigned(clearsigned("a\n", "-u up@example.com --digest-algo SHA256"), kNow).signatures[0].good());
}

TEST_F(Keyrings, RefuseTextBesidesTheSignedOne) {
  const auto k = keyring(upstream());
  const auto good = clearsigned("a\n");
  EXPECT_THAT(refusal(k, "x\n" + good), HasSubstr("cannot be in a signed text"));
  EXPECT_THAT(refusal(k, good + "x\n"), HasSubstr("cannot be in a signed text"));
  EXPECT_THAT(refusal(k, good + good), HasSubstr("cannot be in a signed text"));
}

TEST_F(Keyrings, TakeLinesThatEndOtherwiseAndGiveThemAsTheyWereSigned) {
  const auto k = keyring(upstream());
  std::string text = clearsigned("a\nb\n");
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.insert(at, "\r");
  EXPECT_EQ(k.verify_clearsigned(text, kNow).content, "a\nb\n");
  const auto signature = detached("a\nb\n", "--textmode");
  EXPECT_THAT(failure_of([&] { k.verify_detached("a\r\nb\r\n", signature, kNow); }), HasSubstr("carriage returns"));
  EXPECT_THAT(failure_of([&] { k.verify_detached("a \nb\n", signature, kNow); }), HasSubstr("blanks at their ends"));
}

TEST_F(Keyrings, RefuseAHundredSignatures) {
  const auto k = keyring(upstream());
  os::write_file(at("text"), "text");
  gpg("-u up@example.com --detach-sign -o sig text");
  std::string many;
  for (int i = 0; i < 100; ++i) many += os::read_file(at("sig"));
  EXPECT_THAT(failure_of([&] { k.verify_detached("text", many, kNow); }), HasSubstr("more than 32"));
}

TEST_F(Keyrings, AreOfSeveralFilesArmoredOrBinary) {
  os::write_file(at("a.asc"), upstream("a") + upstream("b"));
  upstream("c");
  gpg("--export -o c.gpg c@example.com");
  const std::vector<std::string> paths = {at("a.asc"), at("c.gpg")};
  const auto k = Keyring::of_files(at("keyrings"), paths);
  EXPECT_EQ(k.keys().size(), 3U);
  EXPECT_EQ(Keyring::of_files(at("keyrings"), paths).home(), k.home()) << "the same keys have the same home";
  EXPECT_EQ(os::list_directory(at("keyrings")).size(), 1U);
  struct stat st{};
  for (const auto& path : {at("keyrings"), k.home()}) {
    ASSERT_EQ(::stat(path.c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 0700U) << path;
  }
}

TEST_F(Keyrings, RefuseWhatIsNoPublicKey) {
  const auto good = upstream();
  const auto failure = [&](const std::string& text) { return failure_of([&] { keyring(text); }); };
  EXPECT_THAT(failure("hello\n"), HasSubstr("there is no OpenPGP key in it"));
  EXPECT_THAT(failure(""), HasSubstr("there is no OpenPGP key in it"));
  EXPECT_NE(failure(good.substr(0, good.size() / 2)), "no failure");
  EXPECT_THAT(failure(gpg("--export-secret-keys --armor up@example.com")), HasSubstr("there is a secret key in it"));
  gpg("--export-secret-keys -o secret up@example.com");
  EXPECT_THAT(failure(os::read_file(at("secret"))), HasSubstr("there is a secret key in it"));
  EXPECT_THAT(failure(std::string(kLargestKeys + 1, 'x')), HasSubstr("4.0 MiB are taken"));
  EXPECT_THAT(failure_of([&] { Keyring::of_files(at("keyrings"), {}); }), HasSubstr("no file of keys"));
  for (const auto& entry : os::list_directory(at("keyrings"))) ADD_FAILURE() << entry.name << " is left";
  os::make_directories(at("open"), 0755);
  const std::vector<std::string> texts = {good};
  EXPECT_THAT(failure_of([&] { Keyring::of_texts(at("open"), texts); }), HasSubstr("its mode is 0755"));
}

TEST_F(Keyrings, AreMadeAnewAfterADeathInBetween) {
  const auto keys = upstream();
  os::make_directories(at("keyrings/making"), 0700);
  os::make_directories(at("keyrings"), 0700);
  ::chmod(at("keyrings").c_str(), 0700);
  os::write_file(at("keyrings/making/pubring.kbx"), "half");
  EXPECT_EQ(keyring(keys).keys().size(), 1U);
  EXPECT_FALSE(os::exists(at("keyrings/making")));
}

TEST_F(Keyrings, VerifyInSeveralThreadsAtOnce) {
  const auto keys = upstream();
  const auto good = clearsigned("a\n");
  std::vector<std::jthread> threads;
  std::atomic<int> verified = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const auto k = keyring(keys);
      for (int j = 0; j < 5; ++j) verified += k.verify_clearsigned(good, kNow).signatures[0].good();
    });
  threads.clear();
  EXPECT_EQ(verified, 20);
}

TEST_F(Keyrings, KnowDebiansKeysAndItsSubkeys) {
  const std::string path = "/usr/share/keyrings/debian-archive-keyring.gpg";
  if (!os::exists(path)) GTEST_SKIP() << "no debian-archive-keyring here";
  const std::vector<std::string> paths = {path};
  const auto k = Keyring::of_files(at("keyrings"), paths);
  EXPECT_GE(k.keys().size(), 6U);
  const auto with_subkey = std::ranges::find_if(k.keys(), [](const Key& key) { return !key.subkeys.empty(); });
  EXPECT_NE(with_subkey, k.keys().end());
  for (const auto& entry : os::list_directory("/var/lib/apt/lists")) {
    if (!entry.name.ends_with("_dists_bookworm_InRelease")) continue;
    const std::string file = "/var/lib/apt/lists/" + entry.name;
    struct stat st{};
    ASSERT_EQ(::stat(file.c_str(), &st), 0);
    // apt gives it the date of the mirror's.
    const auto verified =
        k.verify_clearsigned(os::read_file(file), from_unix_nanos(st.st_mtim.tv_sec * 1'000'000'000) + kDay);
    EXPECT_THAT(verified.content, HasSubstr("Codename: bookworm\n"));
    for (const auto& signature : verified.signatures) EXPECT_TRUE(signature.good()) << signature.problem;
  }
}

}  // namespace
}  // namespace underway::openpgp
