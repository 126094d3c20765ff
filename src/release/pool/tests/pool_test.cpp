#include "pool/pool.hpp"

#include "fixture.hpp"

namespace underway::pool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(PoolDigest, IsWrittenAndReadInHexadecimal) {
  const auto digest = digest_of("abc");
  EXPECT_EQ(to_hex(digest), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(parse_hex(to_hex(digest)), digest);
  for (std::string text : {"", "ba", "BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                           "../816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"})
    EXPECT_FALSE(parse_hex(text)) << text;
}

TEST_F(PoolsOnDisk, KeepFilesByTheirDigests) {
  const auto p = pool();
  const auto added = p.add_bytes("hello");
  EXPECT_EQ(added.digest, digest_of("hello"));
  EXPECT_EQ(added.size, 5U);
  EXPECT_TRUE(added.is_new);
  EXPECT_TRUE(p.has(added.digest));
  EXPECT_EQ(p.size(added.digest), 5U);
  EXPECT_EQ(text_of(p.open(added.digest)), "hello");
  EXPECT_EQ(p.path_of(added.digest), at("pool/sha256/2c/" + to_hex(added.digest)));
  EXPECT_FALSE(p.has(digest_of("other")));
  EXPECT_EQ(p.size(digest_of("other")), std::nullopt);
  EXPECT_THAT(failure_of([&] { p.open(digest_of("other")); }), HasSubstr("ENOENT"));
  struct stat st{};
  ASSERT_EQ(::stat(p.path_of(added.digest).c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0444U);
  EXPECT_EQ(parts(), 0U);
  EXPECT_EQ(text_of(pool().open(added.digest)), "hello") << "another one of the same directory";
}

TEST_F(Pools, KeepEachFileOnce) {
  const auto p = pool();
  const auto digest = p.add_bytes("hello").digest;
  const auto inode = inode_of(p.path_of(digest));
  EXPECT_FALSE(p.add_bytes("hello").is_new);
  os::write_file(at("file"), "hello");
  EXPECT_FALSE(p.add_file(at("file")).is_new);
  EXPECT_FALSE(p.add_file(at("file"), Take::link).is_new);
  EXPECT_EQ(inode_of(p.path_of(digest)), inode);
  EXPECT_EQ(parts(), 0U);
}

TEST_F(Pools, TakeFilesByCopyOrByLink) {
  const auto p = pool();
  const std::string large(3'000'000, 'x');
  os::write_file(at("a"), large);
  const auto a = p.add_file(at("a"));
  EXPECT_EQ(a.digest, digest_of(large));
  EXPECT_EQ(a.size, large.size());
  EXPECT_NE(inode_of(p.path_of(a.digest)), inode_of(at("a")));
  EXPECT_EQ(text_of(p.open(a.digest)), large);
  os::write_file(at("b"), "linked");
  const auto b = p.add_file(at("b"), Take::link);
  EXPECT_TRUE(b.is_new);
  EXPECT_EQ(b.digest, digest_of("linked"));
  EXPECT_EQ(inode_of(p.path_of(b.digest)), inode_of(at("b")));
  EXPECT_EQ(parts(), 0U);
  EXPECT_THAT(failure_of([&] { p.add_file(at("none")); }), HasSubstr("ENOENT"));
  EXPECT_THAT(failure_of([&] { p.add_file(directory_); }), HasSubstr("no regular file"));
}

TEST_F(Pools, RefuseWhatIsTooLargeOrLeavesTooLittleRoom) {
  const auto small = pool({.largest = 10, .reserve = 0});
  small.add_bytes(std::string(10, 'x'));
  os::write_file(at("file"), std::string(11, 'x'));
  EXPECT_THAT(failure_of([&] { small.add_bytes(std::string(11, 'x')); }), HasSubstr("takes files of up to 10 B"));
  EXPECT_THAT(failure_of([&] { small.add_file(at("file")); }), HasSubstr("takes files of up to 10 B"));
  EXPECT_THAT(failure_of([&] { small.receive({.digest = {}, .size = 11}); }), HasSubstr("takes files of up to 10 B"));
  const auto full = pool({.reserve = std::uint64_t{1} << 60});
  for (const auto& failure :
       {failure_of([&] { full.add_bytes("new"); }), failure_of([&] { full.add_file(at("file")); }),
        failure_of([&] { full.receive({.digest = {}, .size = 1}); })})
    EXPECT_THAT(failure, HasSubstr("are to be left"));
  EXPECT_FALSE(full.add_bytes(std::string(10, 'x')).is_new) << "what is there needs no room";
  EXPECT_FALSE(full.has(digest_of("new")));
  // It says that it is empty, and is not.
  EXPECT_THAT(failure_of([&] { small.add_file("/proc/self/status"); }), HasSubstr("takes files of up to 10 B"));
  EXPECT_EQ(parts(), 1U) << "of what was to be received";
}

TEST_F(Pools, SayWhichOfManyAreMissing) {
  const auto p = pool();
  std::vector<Digest> digests;
  for (int i = 0; i < 200; ++i) digests.push_back(digest_of(std::to_string(i)));
  for (int i = 0; i < 200; i += 2) p.add_bytes(std::to_string(i));
  std::vector<Digest> missing;
  for (int i = 1; i < 200; i += 2) missing.push_back(digests[static_cast<std::size_t>(i)]);
  EXPECT_EQ(p.hold(digests), missing) << "in the order in which they were asked for";
  EXPECT_THAT(p.hold(std::span<const Digest>{}), IsEmpty());
}

TEST_F(Pools, MakePlainTreesOfHardLinks) {
  const auto p = pool();
  const auto digest = p.add_bytes("hello").digest;
  os::make_directories(at("tree"));
  p.link_into(digest, at("tree"), "pool/main/h/hello_1.deb");
  p.link_into(digest, at("tree"), "pool/main/h/hello_1.deb");
  p.link_into(digest, at("tree"), "top");
  EXPECT_EQ(inode_of(at("tree/pool/main/h/hello_1.deb")), inode_of(p.path_of(digest)));
  EXPECT_EQ(os::read_file(at("tree/top")), "hello");
  os::write_file(at("tree/taken"), "other");
  EXPECT_THAT(failure_of([&] { p.link_into(digest, at("tree"), "taken"); }), HasSubstr("another file has this name"));
  EXPECT_EQ(os::read_file(at("tree/taken")), "other");
  EXPECT_THAT(failure_of([&] { p.link_into(digest_of("none"), at("tree"), "none"); }), HasSubstr("ENOENT"));
  EXPECT_THAT(failure_of([&] { p.link_into(digest, at("no-tree"), "a"); }), HasSubstr("ENOENT"));
}

TEST_F(Pools, LetNoNameLeadOutOfATree) {
  const auto p = pool();
  const auto digest = p.add_bytes("hello").digest;
  os::make_directories(at("tree"));
  os::make_directories(at("outside"));
  ASSERT_EQ(::symlink(at("outside").c_str(), at("tree/link").c_str()), 0);
  for (const std::string name : {"", "/", "/a", "../a", "a/../../b", "a//b", "./a", "a/", "a/.", "..", "a\nb", "a\x7f"})
    EXPECT_THAT(failure_of([&] { p.link_into(digest, at("tree"), name); }), HasSubstr("is no name of a file")) << name;
  EXPECT_THAT(failure_of([&] { p.link_into(digest, at("tree"), std::string(4001, 'a')); }), HasSubstr("too long"));
  EXPECT_NE(failure_of([&] { p.link_into(digest, at("tree"), "link/a"); }), "no failure");
  EXPECT_THAT(os::list_directory(at("outside")), IsEmpty());
}

TEST_F(PoolsOnDisk, CopyWhereAHardLinkCannotBe) {
  const auto p = pool();
  const auto digest = p.add_bytes("hello").digest;
  char name[] = "/dev/shm/underway-test-XXXXXX";
  const char* other = ::mkdtemp(name);
  struct stat here{}, there{};
  if (!other || ::stat(other, &there) != 0 || ::stat(directory_.c_str(), &here) != 0 || here.st_dev == there.st_dev)
    GTEST_SKIP() << "no second file system at /dev/shm";
  p.link_into(digest, other, "a/b");
  EXPECT_EQ(os::read_file(std::string(other) + "/a/b"), "hello");
  EXPECT_EQ(os::list_directory(std::string(other) + "/a").size(), 1U) << "nothing is left beside it";
  os::write_file(std::string(other) + "/taken", "other");
  EXPECT_NE(failure_of([&] { p.link_into(digest, other, "taken"); }), "no failure");
  EXPECT_EQ(os::read_file(std::string(other) + "/taken"), "other");
  os::write_file(std::string(other) + "/file", "from afar");
  EXPECT_EQ(p.add_file(std::string(other) + "/file", Take::link).digest, digest_of("from afar"));
  EXPECT_EQ(text_of(p.open(digest_of("from afar"))), "from afar");
  os::remove_tree(other);
}

TEST_F(Pools, MoveAwayWhatIsDamagedAndSayWhatItWas) {
  const auto p = pool();
  const auto good = p.add_bytes("good").digest, bad = p.add_bytes("bad").digest;
  os::make_directories(at("tree"));
  p.link_into(bad, at("tree"), "bad");
  ::chmod(p.path_of(bad).c_str(), 0644);
  os::Fd file = os::open_file(p.path_of(bad), O_WRONLY);
  ASSERT_EQ(::pwrite(file.get(), "x", 1, 0), 1);
  os::write_file(at("pool/sha256/00/foreign"), "foreign");
  os::write_file(at("pool/sha256/00/" + to_hex(good)), "good");
  ASSERT_EQ(::symlink("/etc/passwd", at("pool/sha256/01/01" + std::string(62, '0')).c_str()), 0);

  std::uint64_t told = 0;
  const auto findings = p.fsck([&](const Findings& so_far) {
    EXPECT_EQ(so_far.files, ++told);
    return true;
  });
  EXPECT_TRUE(findings.complete);
  EXPECT_EQ(findings.files, 5U);
  EXPECT_EQ(told, 5U);
  EXPECT_EQ(findings.bytes, 7U) << "of the two that are files of a pool";
  ASSERT_EQ(findings.damages.size(), 4U);
  for (const auto& damage : findings.damages)
    EXPECT_TRUE(::access(damage.moved_to.c_str(), F_OK) == 0 || damage.name[1] == '1');
  const auto found = std::ranges::find(findings.damages, to_hex(bad).substr(0, 2) + "/" + to_hex(bad), &Damage::name);
  ASSERT_NE(found, findings.damages.end());
  EXPECT_THAT(found->reason, HasSubstr(to_hex(digest_of("xad"))));
  EXPECT_EQ(found->links, 1U) << "the tree has the same bytes";
  EXPECT_EQ(os::read_file(found->moved_to), "xad");
  EXPECT_FALSE(p.has(bad));
  EXPECT_TRUE(p.has(good));
  EXPECT_THAT(p.fsck().damages, IsEmpty());

  p.add_bytes("bad");
  ASSERT_EQ(::truncate(p.path_of(bad).c_str(), 1), 0);
  EXPECT_TRUE(p.add_bytes("bad").is_new) << "one of another length is replaced";
  ASSERT_EQ(::truncate(p.path_of(bad).c_str(), 1), 0);
  EXPECT_EQ(p.fsck().damages.at(0).moved_to, at("pool/damaged/" + to_hex(bad) + ".2")) << "beside the first";
}

TEST_F(Pools, StopCheckingWhenTold) {
  const auto p = pool();
  for (int i = 0; i < 10; ++i) p.add_bytes(std::to_string(i));
  const auto findings = p.fsck([](const Findings& so_far) { return so_far.files < 3; });
  EXPECT_EQ(findings.files, 3U);
  EXPECT_FALSE(findings.complete);
}

}  // namespace
}  // namespace underway::pool
