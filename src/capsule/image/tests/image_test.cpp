#include "fixture.hpp"
#include "image/verified.hpp"

namespace underway::image {
namespace {

using testing::HasSubstr;

void flip(const std::string& path, off_t offset, unsigned bit = 0) {
  const os::Fd file = os::open_file(path, O_RDWR);
  unsigned char byte = 0;
  ASSERT_EQ(::pread(file.get(), &byte, 1, offset), 1);
  byte = static_cast<unsigned char>(byte ^ (1U << bit));
  ASSERT_EQ(::pwrite(file.get(), &byte, 1, offset), 1);
}

off_t size_of(const std::string& path) {
  struct stat st{};
  EXPECT_EQ(::stat(path.c_str(), &st), 0);
  return st.st_size;
}

TEST_F(Images, ThatAreSignedByATrustedKeyAreVerifiedAndHeldOpen) {
  const std::string path = image();
  const auto verified = open_verified(path, trusted_, kNow);
  EXPECT_EQ(verified.manifest().reference(), "web:1.0");
  EXPECT_EQ(verified.signer().name, "ops");
  EXPECT_TRUE(verified.digest().starts_with("sha256:"));
  EXPECT_EQ(verified.size(), size_of(path));
  ::unlink(path.c_str());
  struct stat st{};
  ASSERT_EQ(::fstat(verified.fd(), &st), 0);
  EXPECT_EQ(st.st_size, verified.size()) << "the file lives as long as it is held";
}

TEST_F(Images, AreTheSameBytesWhereverAndWheneverTheyWerePacked) {
  const auto first = pack(tree("one"), manifest(), at("one.capsule"), {.all_root = true});
  const std::string other = tree("some/other/place");
  const timespec times[2] = {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 2, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (other + "/etc/motd").c_str(), times, 0), 0);
  const auto second = pack(other, manifest(), at("two.capsule"), {.all_root = true});
  EXPECT_EQ(first.digest, second.digest);
  EXPECT_EQ(os::read_file(at("one.capsule")), os::read_file(at("two.capsule")));
}

TEST_F(Images, AreRefusedForOneFlippedBitAnywhere) {
  const std::string path = image();
  const off_t size = size_of(path);
  ASSERT_GT(size, 1 << 20);
  // Every part is hit: spread over the file, and every byte of its last 200.
  std::vector<off_t> offsets{0, 1024, 1072};
  for (int i = 1; i < 40; ++i) offsets.push_back(size / 40 * i);
  for (off_t i = 1; i <= 200; ++i) offsets.push_back(size - i);
  for (const off_t offset : offsets) {
    SCOPED_TRACE(offset);
    const auto bit = static_cast<unsigned>(offset % 8);
    flip(path, offset, bit);
    try {
      open_verified(path, trusted_, kNow);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::denied);
    }
    flip(path, offset, bit);
  }
  EXPECT_NO_THROW(open_verified(path, trusted_, kNow));
}

TEST_F(Images, SayWhereTheyWereChanged) {
  const std::string path = image();
  flip(path, (1 << 20) + 5000);
  EXPECT_THAT(failure_of([&] { open_verified(path, trusted_, kNow); }),
              HasSubstr("it was changed after it was built: the bytes from 1048576 to"));
}

TEST_F(Images, ThatAreTruncatedSayHowMuchIsMissing) {
  const std::string path = image();
  const off_t size = size_of(path);
  for (const off_t left : {off_t{0}, off_t{50}, off_t{1200}, size / 2, size - 4096, size - 1}) {
    SCOPED_TRACE(left);
    ASSERT_EQ(::truncate(path.c_str(), size), 0);
    os::write_file(at("copy"), os::read_file(path));
    ASSERT_EQ(::truncate(at("copy").c_str(), left), 0);
    const std::string text = failure_of([&] { open_verified(at("copy"), trusted_, kNow); });
    EXPECT_THAT(text, HasSubstr(left < 1200 ? "is no capsule image" : "is truncated"));
  }
}

TEST_F(Images, WithBytesBehindThemAreRefused) {
  const std::string path = image();
  os::write_file(path, os::read_file(path) + "x");
  EXPECT_THAT(failure_of([&] { open_verified(path, trusted_, kNow); }), HasSubstr("does not end like one"));
}

TEST_F(Images, WithTheManifestOfAnotherImageAreRefused) {
  const std::string one = image("web");
  const std::string two = image("mail");
  const auto first = ImageFile::open(one);
  const auto second = ImageFile::open(two);
  ASSERT_EQ(first.layout().payload, second.layout().payload);
  const auto cut = static_cast<std::size_t>(first.layout().payload);
  os::write_file(at("mixed"), os::read_file(one).substr(0, cut) + os::read_file(two).substr(cut));
  EXPECT_THAT(failure_of([&] { open_verified(at("mixed"), trusted_, kNow); }),
              HasSubstr("it has the manifest of another image, 'mail:1.0'"));
}

TEST_F(Images, OfOtherKeysAreRefusedNamingTheKey) {
  const auto other = generate_key(at("other.key"), "other", kNow + kYear);
  const std::string path = image();
  const std::string text = failure_of([&] { open_verified(path, {other}, kNow); });
  EXPECT_THAT(text, HasSubstr(trusted_[0].id));
  EXPECT_THAT(text, HasSubstr("is none of the trusted keys"));
  EXPECT_THAT(failure_of([&] { open_verified(path, {}, kNow); }), HasSubstr("no key is trusted at all"));
}

TEST_F(Images, OfAnExpiredKeyAreRefusedWithItsDate) {
  const std::string path = image();
  EXPECT_THAT(failure_of([&] { open_verified(path, trusted_, kNow + kYear); }),
              HasSubstr("expired at " + format_time(kNow + kYear)));
}

TEST_F(Images, OfARevokedKeyAreRefusedWithReasonAndDate) {
  const std::string path = image();
  trusted_[0].revoked = kNow;
  trusted_[0].reason = "laptop stolen";
  EXPECT_THAT(failure_of([&] { open_verified(path, trusted_, kNow); }),
              HasSubstr("was revoked at " + format_time(kNow) + ": laptop stolen"));
}

TEST_F(Images, ThatNobodySignedAreRefusedUntilSomebodyDoes) {
  pack(tree(), manifest(), at("web.capsule"), {.all_root = true});
  EXPECT_THAT(failure_of([&] { open_verified(at("web.capsule"), trusted_, kNow); }), HasSubstr("it is not signed"));
  sign_image(at("web.capsule"), private_key());
  EXPECT_NO_THROW(open_verified(at("web.capsule"), trusted_, kNow));
}

TEST_F(Images, KeepTheirDigestWhenTheyAreSignedAgainAndAreAcceptedForOneGoodSignature) {
  const std::string path = image();
  const std::string digest = ImageFile::open(path).digest();
  const auto second = generate_key(at("second.key"), "second", kNow + 2 * kYear);
  sign_image(path, private_key("second"));
  sign_image(path, private_key("second"));
  const auto file = ImageFile::open(path);
  EXPECT_EQ(file.digest(), digest);
  EXPECT_EQ(file.signatures().size(), 2U);
  trusted_[0].revoked = kNow;
  trusted_.push_back(second);
  EXPECT_EQ(open_verified(path, trusted_, kNow).signer().name, "second");
}

TEST_F(Images, ThatWereChangedAreNotSigned) {
  const std::string path = image();
  flip(path, 9000);
  EXPECT_THAT(failure_of([&] { sign_image(path, private_key()); }), HasSubstr("it was changed after it was built"));
}

TEST_F(Images, LargerThanTheirBudgetAreNotMadeAndTheLargestFilesAreNamed) {
  const std::string text =
      failure_of([&] { pack(tree(), manifest(), at("web.capsule"), {.all_root = true, .size_limit = 64 << 10}); });
  EXPECT_THAT(text, HasSubstr("its size_limit is 64.0 KiB"));
  EXPECT_THAT(text, HasSubstr("/usr/bin/large 1.5 MiB"));
  EXPECT_FALSE(os::exists(at("web.capsule")));
  EXPECT_EQ(os::list_directory(directory_).size(), 2U) << "the key and the tree: no draft is left behind";
}

TEST_F(Images, ListTheirFiles) {
  const auto files = open_verified(image(), trusted_, kNow).files();
  const auto find = [&](const std::string& path) {
    return *std::find_if(files.begin(), files.end(), [&](const auto& file) { return file.path == path; });
  };
  EXPECT_EQ(find("/").kind, FileKind::directory);
  EXPECT_EQ(find("/usr/bin/other").target, "tool");
  EXPECT_EQ(find("/etc/motd").size, 8);
  EXPECT_EQ(find("/usr/bin/tool").mode, 0755);
  EXPECT_EQ(find("/etc/motd").digest.size(), 64U);
}

TEST_F(Images, AreNeitherDirectoriesNorSmallFiles) {
  os::make_directories(at("empty"));
  EXPECT_THAT(failure_of([&] { open_verified(at("empty"), trusted_, kNow); }), HasSubstr("no regular file"));
  EXPECT_THAT(failure_of([&] { open_verified(at("none"), trusted_, kNow); }), HasSubstr("ENOENT"));
  os::write_file(at("text"), std::string(100'000, 'x'));
  EXPECT_THAT(failure_of([&] { open_verified(at("text"), trusted_, kNow); }), HasSubstr("is no capsule image"));
}

}  // namespace
}  // namespace underway::image
