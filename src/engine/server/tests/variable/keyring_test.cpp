#include "server/variable/keyring.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "os/file.hpp"

namespace underway::server {
namespace {

const TimePoint kNow{std::chrono::seconds{1'700'000'000}};

struct Directory {
  Directory() {
    char name[] = "/tmp/underway-keyring-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Directory() { std::filesystem::remove_all(path); }
  std::string keyring() const { return path + "/keyring"; }
  std::string path;
};

mode_t mode_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

/// To make one takes some hundred milliseconds: it serves all tests.
const Keyring::Rsa& rsa() {
  static const Keyring::Rsa key = crypto::PrivateKey::generate_rsa();
  return key;
}

TEST(Keyring, OpensAfterAStartWhatItSealedBefore) {
  const Directory directory;
  crypto::Sealed sealed;
  std::string signs;
  {
    const Keyring keyring(directory.keyring(), "", kNow);
    sealed = keyring.seal("the secret", "here");
    signs = keyring.signing().id();
  }
  const Keyring again(directory.keyring(), "", kNow);
  EXPECT_EQ(again.open(sealed, "here").bytes(), "the secret");
  EXPECT_EQ(again.signing().id(), signs);
  EXPECT_EQ(again.signing().algorithm(), "RS256");
  EXPECT_THROW(again.open(sealed, "elsewhere"), Error);
}

TEST(Keyring, IsForItsOwnerAlone) {
  const Directory directory;
  const Keyring keyring(directory.keyring(), "", kNow);
  EXPECT_EQ(mode_of(directory.keyring()), 0700U);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory.keyring())) {
    EXPECT_EQ(mode_of(entry.path()), 0600U) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 3);  // a key, the active one's id, the wrapping key
}

TEST(Keyring, RotatesAndGoesOnOpeningAndVerifyingWithOldKeys) {
  const Directory directory;
  Keyring keyring(directory.keyring(), "", kNow);
  const auto old = keyring.active_id();
  const auto sealed = keyring.seal("the secret", "here");
  const auto fresh = keyring.rotate(kNow + std::chrono::hours(1), rsa());
  EXPECT_NE(fresh, old);
  EXPECT_EQ(keyring.seal("more", "here").key_id, fresh);
  EXPECT_EQ(keyring.verifying().size(), 4U) << "two of each";
  const Keyring again(directory.keyring(), "", kNow);
  EXPECT_EQ(again.active_id(), fresh);
  EXPECT_EQ(again.open(sealed, "here").bytes(), "the secret");
  ASSERT_EQ(again.keys().size(), 2U);
  EXPECT_EQ(again.keys().front().id, old);
  EXPECT_FALSE(again.keys().front().active);
}

TEST(Keyring, ShowsAPrepublishedKeyBeforeItSigns) {
  const Directory directory;
  Keyring keyring(directory.keyring(), "", kNow);
  const auto first = keyring.active_id();
  const auto later = keyring.prepublish(kNow, kNow + std::chrono::hours(2), std::nullopt);
  const auto sooner = keyring.prepublish(kNow, kNow + std::chrono::hours(1), std::nullopt);
  EXPECT_EQ(keyring.active_id(), first);
  EXPECT_EQ(keyring.verifying().size(), 4U) << "the first has one of RSA as well";
  EXPECT_EQ(keyring.promote(kNow + std::chrono::minutes(59)), "");
  {
    Keyring again(directory.keyring(), "", kNow);
    ASSERT_NE(again.next_prepublished(), nullptr);
    EXPECT_EQ(again.next_prepublished()->id, sooner);
    EXPECT_EQ(again.promote(kNow + std::chrono::hours(1)), sooner);
    EXPECT_EQ(again.active().active_since(), unix_nanos(kNow + std::chrono::hours(1)));
  }
  // A server that was away while two became active.
  Keyring last(directory.keyring(), "", kNow);
  EXPECT_EQ(last.active_id(), sooner);
  EXPECT_EQ(last.promote(kNow + std::chrono::hours(3)), later);
  EXPECT_EQ(last.next_prepublished(), nullptr);
  last.rotate(kNow + std::chrono::hours(3), std::nullopt);
  EXPECT_EQ(Keyring(directory.keyring(), "", kNow).promote(kNow + std::chrono::hours(9)), "") << "they had their time";
}

TEST(Keyring, EndsTheWaitOfAKeyThatWasMadeActiveBeforeAPowerCut) {
  const Directory directory;
  std::string waiting;
  {
    Keyring keyring(directory.keyring(), "", kNow);
    waiting = keyring.prepublish(kNow, kNow + std::chrono::hours(1), std::nullopt);
  }
  os::write_file(directory.keyring() + "/active", waiting + "\n", 0600);
  {
    Keyring keyring(directory.keyring(), "", kNow);
    EXPECT_EQ(keyring.active_id(), waiting);
    EXPECT_EQ(keyring.next_prepublished(), nullptr);
  }
  EXPECT_EQ(Keyring(directory.keyring(), "", kNow).next_prepublished(), nullptr);
}

TEST(Keyring, RemovesOldKeysAndNeverTheActiveOne) {
  const Directory directory;
  Keyring keyring(directory.keyring(), "", kNow);
  const auto old = keyring.active_id();
  EXPECT_THROW(keyring.remove(old), Error);
  keyring.rotate(kNow, std::nullopt);
  keyring.remove(old);
  EXPECT_THROW(keyring.remove(old), Error);
  EXPECT_EQ(Keyring(directory.keyring(), "", kNow).keys().size(), 1U);
}

TEST(Keyring, WrappedElsewhereSaysNothingByItself) {
  const Directory directory;
  const std::string wrapping = directory.path + "/credential";
  os::write_file(wrapping, std::string(32, 'w'), 0600);
  {
    const Keyring keyring(directory.keyring(), wrapping, kNow);
  }
  EXPECT_FALSE(os::exists(directory.keyring() + "/wrapping.key"));
  os::write_file(wrapping, std::string(32, 'x'), 0600);
  EXPECT_THROW(Keyring(directory.keyring(), wrapping, kNow), Error);
  os::write_file(wrapping, "short", 0600);
  EXPECT_THROW(Keyring(directory.keyring(), wrapping, kNow), Error);
}

TEST(Keyring, RefusesToBeginAnewWhenItsActiveKeyIsLost) {
  const Directory directory;
  std::string id;
  {
    const Keyring keyring(directory.keyring(), "", kNow);
    id = keyring.active_id();
  }
  std::filesystem::remove(directory.keyring() + "/" + id + ".key");
  EXPECT_THROW(Keyring(directory.keyring(), "", kNow), Error);
}

const boost::json::object kClaims{{"sub", "t"}, {"exp", 1'700'003'600}};

TEST(Keyring, SignsWithRs256AndVerifiesWhatAnOldKeySignedByEdDsa) {
  const Directory directory;
  // As a server left it that knew no RSA.
  std::string old;
  {
    Keyring keyring(directory.keyring(), "", kNow);
    keyring.rotate(kNow, std::nullopt);
    EXPECT_EQ(keyring.signing().algorithm(), "EdDSA") << "it has no other";
    old = keyring.signing().sign(kClaims);
  }
  Keyring keyring(directory.keyring(), "", kNow);
  EXPECT_EQ(crypto::verify_jwt(old, keyring.verifying(), {.now = kNow}), kClaims);
  keyring.rotate(kNow + std::chrono::hours(1), rsa());
  EXPECT_EQ(keyring.signing().algorithm(), "RS256");
  EXPECT_EQ(keyring.signing("EdDSA").algorithm(), "EdDSA");
  EXPECT_EQ(crypto::verify_jwt(old, keyring.verifying(), {.now = kNow}), kClaims);
  for (const char* algorithm : {"RS256", "EdDSA"}) {
    const std::string token = keyring.signing(algorithm).sign(kClaims);
    EXPECT_EQ(crypto::verify_jwt(token, Keyring(directory.keyring(), "", kNow).verifying(), {.now = kNow}), kClaims);
  }
  keyring.prefer("EdDSA");
  EXPECT_EQ(keyring.signing().algorithm(), "EdDSA") << "as the site wants it";
}

TEST(Keyring, PublishesTheNewestKeyFirstAndEachWithItsKind) {
  Keyring keyring("", "", kNow);
  keyring.rotate(kNow + std::chrono::hours(1), rsa());
  const auto jwks = keyring.jwks();
  const auto& keys = jwks.at("keys").as_array();
  ASSERT_EQ(keys.size(), 3U);
  EXPECT_EQ(keys[0].at("kty").as_string(), "RSA");
  EXPECT_EQ(keys[0].at("kid").as_string(), keyring.signing().id());
  EXPECT_EQ(keys[1].at("kty").as_string(), "OKP");
  EXPECT_EQ(keys[2].at("kty").as_string(), "OKP");
  for (const char* secret : {"d", "p", "q"}) EXPECT_FALSE(keys[0].as_object().contains(secret)) << secret;
}

TEST(Keyring, KeepsNoRsaKeyInTheOpen) {
  const Directory directory;
  const Keyring keyring(directory.keyring(), "", kNow);
  const std::string file = os::read_file(directory.keyring() + "/" + keyring.active_id() + ".key");
  EXPECT_NE(file.find("RSAWrapped"), std::string::npos);
  EXPECT_EQ(file.find("PRIVATE KEY"), std::string::npos);
  // That of another root key does not open in its place.
  Keyring other(directory.path + "/other", directory.keyring() + "/wrapping.key", kNow);
  auto stolen = keyring.wrapped();
  ASSERT_EQ(stolen.size(), 1U);
  ASSERT_FALSE(stolen[0].rsa_wrapped.empty());
  stolen[0].rsa_wrapped = other.wrapped()[0].rsa_wrapped;
  EXPECT_THROW(other.missing(stolen), Error);
}

TEST(Keyring, TakesOverTheRsaKeysOfASnapshot) {
  const Directory directory;
  const Keyring there(directory.keyring(), "", kNow);
  const std::string token = there.signing().sign(kClaims);
  Keyring here(directory.path + "/other", directory.keyring() + "/wrapping.key", kNow);
  EXPECT_THROW(crypto::verify_jwt(token, here.verifying(), {.now = kNow}), Error);
  here.adopt(there.wrapped());
  EXPECT_EQ(crypto::verify_jwt(token, here.verifying(), {.now = kNow}), kClaims);
}

}  // namespace
}  // namespace underway::server
