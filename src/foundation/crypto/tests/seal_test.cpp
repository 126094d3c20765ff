#include "crypto/seal.hpp"

#include "base/text.hpp"
#include "testing.hpp"

namespace underway::crypto {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct SealTest : testing::Test {
  SeededIds ids{1};
  SealingKey key = make_sealing_key(ids);
};

TEST(Gcm, GivesThePublishedAnswers) {
  // McGrew and Viega, "The Galois/Counter Mode of Operation (GCM)", appendix B, test cases 13, 14 and 16.
  struct Case {
    const char *key, *nonce, *plain, *associated, *cipher, *tag;
  };
  const std::string zeros(64, '0');
  const std::vector<Case> cases = {
      {zeros.c_str(), "000000000000000000000000", "", "", "", "530f8afbc74536b9a963b4f1c4cb738b"},
      {zeros.c_str(), "000000000000000000000000", "00000000000000000000000000000000", "",
       "cea7403d4d606b6e074ec5d3baf39d18", "d0d1c8a799996bf0265b98b5d48ab919"},
      {"feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
       "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de65"
       "7"
       "ba637b39",
       "feedfacedeadbeeffeedfacedeadbeefabaddad2",
       "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0"
       "a"
       "bcc9f662",
       "76fc6ece0f4e1768cddf8853bb2d551b"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.tag);
    const std::string sealed = gcm_encrypt(unhex(c.key), unhex(c.nonce), unhex(c.plain), unhex(c.associated));
    EXPECT_EQ(hex(sealed), std::string(c.cipher) + c.tag);
    const auto opened = gcm_decrypt(unhex(c.key), unhex(c.nonce), sealed, unhex(c.associated));
    ASSERT_TRUE(opened);
    EXPECT_EQ(hex(opened->bytes()), c.plain);
  }
}

TEST(Hkdf, GivesThePublishedAnswer) {
  // RFC 5869, test case 3 (no salt, no info): the first 32 bytes.
  const SealingKey from{.id = "k", .bytes = Secret(std::string(22, '\x0b'))};
  EXPECT_EQ(hex(derive_key(from, "").bytes.bytes()),
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d");
}

TEST_F(SealTest, OpensWhatItSealed) {
  for (const std::string& plain : {std::string(), std::string("secret"), std::string(100'000, 'x')}) {
    const Sealed sealed = seal(key, plain, "nomad/jobs/web");
    EXPECT_EQ(sealed.key_id, key.id);
    EXPECT_EQ(open(key, sealed, "nomad/jobs/web").bytes(), plain);
  }
  EXPECT_NE(seal(key, "same", "c").bytes, seal(key, "same", "c").bytes);
}

TEST_F(SealTest, RefusesEveryFlippedBit) {
  const Sealed sealed = seal(key, "munge", "path");
  for (std::size_t bit = 0; bit < sealed.bytes.size() * 8; ++bit) {
    Sealed changed = sealed;
    changed.bytes[bit / 8] = static_cast<char>(changed.bytes[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_THAT(failure_of([&] { open(key, changed, "path"); }), StartsWith("denied: ")) << bit;
  }
}

TEST_F(SealTest, RefusesAnotherKeyAnotherPlaceAndLess) {
  const Sealed sealed = seal(key, "munge", "path");
  SealingKey other = make_sealing_key(ids);
  EXPECT_THAT(failure_of([&] { open(other, sealed, "path"); }), StartsWith("denied: "));
  other.id = key.id;
  EXPECT_THAT(failure_of([&] { open(other, sealed, "path"); }), StartsWith("denied: "));
  EXPECT_THAT(failure_of([&] { open(key, sealed, "elsewhere"); }), HasSubstr("'elsewhere' cannot be opened"));
  for (const std::size_t size : {0u, 11u, 27u, 28u, 32u}) {
    EXPECT_THAT(failure_of([&] { open(key, {.key_id = key.id, .bytes = sealed.bytes.substr(0, size)}, "path"); }),
                StartsWith("denied: "))
        << size;
  }
}

TEST_F(SealTest, DerivesOneKeyPerPurpose) {
  const SealingKey variables = derive_key(key, "variables"), tokens = derive_key(key, "tokens");
  EXPECT_NE(variables.bytes.bytes(), tokens.bytes.bytes());
  EXPECT_EQ(derive_key(key, "variables").bytes.bytes(), variables.bytes.bytes());
}

TEST_F(SealTest, WrapsAKeyForKeeping) {
  const SealingKey root = make_sealing_key(ids);
  const Sealed wrapped = wrap(root, key);
  EXPECT_EQ(unwrap(root, key.id, wrapped).bytes.bytes(), key.bytes.bytes());
  EXPECT_THAT(failure_of([&] { unwrap(root, "another-id", wrapped); }), StartsWith("denied: "));
  EXPECT_THAT(failure_of([&] { unwrap(key, key.id, wrapped); }), StartsWith("denied: "));
}

TEST_F(SealTest, AKeyringSealsWithTheActiveKeyAndOpensWithAll) {
  Keyring ring;
  EXPECT_THAT(failure_of([&] { ring.seal("x", "c"); }), StartsWith("not_found: "));
  ring.add({.id = "old", .bytes = Secret::random(32)});
  const Sealed before = ring.seal("before", "c");
  ring.add({.id = "new", .bytes = Secret::random(32)});
  EXPECT_EQ(ring.active_id(), "old");
  ring.activate("new");
  EXPECT_EQ(ring.seal("after", "c").key_id, "new");
  EXPECT_EQ(ring.open(before, "c").bytes(), "before");
  EXPECT_THAT(ring.ids(), testing::ElementsAre("new", "old"));
  EXPECT_THAT(failure_of([&] { ring.remove("new"); }), StartsWith("conflict: "));
  EXPECT_THAT(failure_of([&] { ring.activate("none"); }), StartsWith("not_found: "));
  ring.remove("old");
  EXPECT_THAT(failure_of([&] { ring.open(before, "c"); }), HasSubstr("no key 'old'"));
}

}  // namespace
}  // namespace underway::crypto
