#include "fixture.hpp"

namespace underway::image {
namespace {

using testing::HasSubstr;

TEST_F(Images, KeysAreWrittenForTheirOwnerAlone) {
  struct stat st{};
  ASSERT_EQ(::stat(at("ops.key").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0600U);
  EXPECT_EQ(private_key().key.verifying(), trusted_[0].key);
  EXPECT_EQ(private_key().expires, kNow + kYear);
  EXPECT_THROW(generate_key(at("ops.key"), "ops", kNow), Error) << "a key is never overwritten";
}

TEST_F(Images, KeysThatOthersCanReadAreNotUsed) {
  ASSERT_EQ(::chmod(at("ops.key").c_str(), 0640), 0);
  EXPECT_THAT(failure_of([&] { private_key(); }), HasSubstr("its mode is 0640"));
}

TEST_F(Images, PublicKeysKeepWhatIsKnownOfThem) {
  auto key = trusted_[0];
  key.revoked = kNow;
  key.reason = "lost";
  const auto read = parse_public_key(write_public_key(key));
  EXPECT_EQ(read.id, key.id);
  EXPECT_EQ(read.key, key.key);
  EXPECT_EQ(read.expires, key.expires);
  EXPECT_EQ(read.revoked, key.revoked);
  EXPECT_EQ(read.reason, "lost");
}

TEST_F(Images, PublicKeysAreWhatTheirIdSays) {
  auto record = to_record(trusted_[0]);
  record.id = "another";
  EXPECT_THAT(failure_of([&] { to_trusted(record); }), HasSubstr("is not what it says"));
  record = to_record(trusted_[0]);
  record.key = "AAAA";
  EXPECT_THAT(failure_of([&] { to_trusted(record); }), HasSubstr("it has 3 bytes, not 32"));
}

TEST_F(Images, TrustedKeysOfADirectoryAreRead) {
  EXPECT_TRUE(read_trusted_keys(at("nowhere")).empty());
  os::make_directories(at("keys"));
  os::write_file(at("keys/ops.pub"), write_public_key(trusted_[0]));
  os::write_file(at("keys/README"), "no key");
  ASSERT_EQ(read_trusted_keys(at("keys")).size(), 1U);
  os::write_file(at("keys/broken.pub"), "{");
  EXPECT_THAT(failure_of([&] { read_trusted_keys(at("keys")); }), HasSubstr("broken.pub"));
}

}  // namespace
}  // namespace underway::image
