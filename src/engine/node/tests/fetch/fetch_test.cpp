// underway-fetch, run as the agent runs it, on archives that mean well and on others.
#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/json/json.hpp"
#include "harness/places.hpp"
#include "node/artifact/fetch_request.hpp"
#include "os/process/process.hpp"
#include "tests/fixture.hpp"

namespace underway::node {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Entry {
  std::string path;
  unsigned type = AE_IFREG;
  std::string content;  ///< or the link's target
  bool hard = false;
  unsigned mode = 0644;
};

void pack(const std::string& file, const std::string& kind, const std::vector<Entry>& entries) {
  archive* out = archive_write_new();
  if (kind == "zip") {
    archive_write_set_format_zip(out);
  } else if (kind == "raw.gz") {
    archive_write_set_format_raw(out);
    archive_write_add_filter_gzip(out);
  } else {
    archive_write_set_format_pax_restricted(out);
    if (kind == "tar.gz") archive_write_add_filter_gzip(out);
    if (kind == "tar.xz") archive_write_add_filter_xz(out);
    if (kind == "tar.zst") archive_write_add_filter_zstd(out);
    if (kind == "tar.bz2") archive_write_add_filter_bzip2(out);
  }
  ASSERT_EQ(archive_write_open_filename(out, file.c_str()), ARCHIVE_OK);
  for (const auto& e : entries) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, e.path.c_str());
    archive_entry_set_perm(entry, e.mode);
    archive_entry_set_filetype(entry, e.type);
    if (e.hard)
      archive_entry_set_hardlink(entry, e.content.c_str());
    else if (e.type == AE_IFLNK)
      archive_entry_set_symlink(entry, e.content.c_str());
    else
      archive_entry_set_size(entry, static_cast<la_int64_t>(e.content.size()));
    ASSERT_GE(archive_write_header(out, entry), ARCHIVE_WARN) << archive_error_string(out);
    if (!e.hard && e.type == AE_IFREG) archive_write_data(out, e.content.data(), e.content.size());
    archive_entry_free(entry);
  }
  archive_write_close(out);
  archive_write_free(out);
}

class FetchTest : public ::testing::Test {
 protected:
  FetchTest() {
    os::make_directories(root + "/main/local");
    os::make_directories(root + "/main/private");
    request.allocation_root = root;
    request.destination = "main/local";
    request.staging = "main/private";
  }
  /// What it says; empty when it succeeds.
  std::string fetch() {
    os::SpawnSpec spec;
    spec.argv = {binary_dir() + "/bin/underway-fetch"};
    const os::Fd input = os::sealed_memory("request", json::encode(request, json::Encoding::compact));
    ::lseek(input.get(), 0, SEEK_SET);
    os::Pipe out = os::open_pipe();
    spec.in = input.get();
    spec.out = spec.err = out.write.get();
    os::Child child = os::spawn(spec);
    out.write.reset();
    std::string said = os::read_all(out.read, 1U << 20, "underway-fetch");
    EXPECT_EQ(child.wait().code, said.empty() ? 0 : 1) << said;
    return said;
  }
  std::string unpack(const std::string& kind, const std::vector<Entry>& entries) {
    request.source = directory.path() + "/a." + (kind == "raw.gz" ? "txt.gz" : kind);
    pack(request.source, kind, entries);
    return fetch();
  }
  std::string local(const std::string& name) { return os::read_file(root + "/main/local/" + name); }

  TemporaryDirectory directory;
  std::string root = directory.path() + "/id";
  FetchRequest request;
};

TEST_F(FetchTest, EveryKindOfArchiveIsUnpacked) {
  for (const char* kind : {"tar", "tar.gz", "tar.xz", "tar.zst", "tar.bz2", "zip"}) {
    SCOPED_TRACE(kind);
    EXPECT_EQ(unpack(kind, {{"d", AE_IFDIR, "", false, 0755}, {"d/run", AE_IFREG, kind, false, 04755}}), "");
    EXPECT_EQ(local("d/run"), kind);
    struct stat status{};
    ASSERT_EQ(::stat((root + "/main/local/d/run").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0755u) << "set-user-id bits are dropped";
  }
  EXPECT_EQ(unpack("raw.gz", {{"x", AE_IFREG, "plain"}}), "");
  EXPECT_EQ(local("a.txt"), "plain");
}

TEST_F(FetchTest, LinksThatStayInsideAreKept) {
  EXPECT_EQ(unpack("tar", {{"d", AE_IFDIR, "", false, 0755},
                           {"f", AE_IFREG, "x"},
                           {"d/up", AE_IFLNK, "../f"},
                           {"hard", AE_IFREG, "f", true}}),
            "");
  EXPECT_EQ(local("d/up"), "x");
  EXPECT_EQ(local("hard"), "x");
}

TEST_F(FetchTest, NothingLeadsOutside) {
  std::ofstream(directory.path() + "/victim") << "safe";
  const std::string victim = directory.path() + "/victim";
  const std::vector<std::pair<const char*, std::vector<Entry>>> cases = {
      {"an absolute path", {{victim, AE_IFREG, "bad"}}},
      {"a path that climbs", {{"../../../victim", AE_IFREG, "bad"}}},
      {"an absolute link", {{"l", AE_IFLNK, victim}}},
      {"a link that climbs", {{"d/l", AE_IFLNK, "../../../../victim"}}},
      {"a way through a link of its own", {{"l", AE_IFLNK, ".."}, {"l/x", AE_IFREG, "bad"}}},
      {"a hard link outside", {{"l", AE_IFREG, victim, true}}},
      {"a device", {{"null", AE_IFCHR, ""}}},
      {"a fifo", {{"pipe", AE_IFIFO, ""}}}};
  for (const auto& [name, entries] : cases) {
    SCOPED_TRACE(name);
    EXPECT_NE(unpack("tar", entries), "");
  }
  EXPECT_EQ(os::read_file(victim), "safe");
  EXPECT_FALSE(os::exists(root + "/main/x"));
}

TEST_F(FetchTest, ADiskIsPackedAndUnpackedAsItWasWithoutWhatMeansNothingElsewhere) {
  const std::string from = directory.path() + "/before", to = directory.path() + "/after";
  os::make_directories(from + "/alloc/data/deep");
  os::make_directories(from + "/main/secrets");
  os::make_directories(to);
  std::ofstream(from + "/alloc/data/deep/db") << "rows";
  std::ofstream(from + "/main/secrets/token") << "not to be carried";
  ASSERT_EQ(::symlink("deep/db", (from + "/alloc/data/inside").c_str()), 0);
  ASSERT_EQ(::symlink("/etc/passwd", (from + "/alloc/data/outside").c_str()), 0);
  ASSERT_EQ(::mkfifo((from + "/alloc/data/pipe").c_str(), 0600), 0);
  ASSERT_EQ(::chmod((from + "/alloc/data/deep/db").c_str(), 0640), 0);
  ASSERT_EQ(::chown((from + "/alloc/data/deep/db").c_str(), 1234, 1234), ::geteuid() == 0 ? 0 : -1);
  const std::string program = binary_dir() + "/bin/underway-fetch";
  const std::string line = program + " pack " + from + " alloc/data main/local | " + program + " unpack " + to;
  ASSERT_EQ(::system(line.c_str()), 0);
  EXPECT_EQ(os::read_file(to + "/alloc/data/inside"), "rows");
  for (const char* gone : {"/alloc/data/outside", "/alloc/data/pipe", "/main"})
    EXPECT_FALSE(os::exists(to + gone)) << gone;
  struct stat status{};
  ASSERT_EQ(::stat((to + "/alloc/data/deep/db").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
  if (::geteuid() == 0) {
    EXPECT_EQ(status.st_uid, 1234u);
  }
}

TEST_F(FetchTest, ADiskThatLeadsOutsideIsRefused) {
  const std::string archive = directory.path() + "/disk.tar", to = directory.path() + "/after";
  os::make_directories(to);
  pack(archive, "tar", {{"alloc/data/l", AE_IFLNK, "../../../victim"}});
  const std::string line = binary_dir() + "/bin/underway-fetch unpack " + to + " < " + archive;
  EXPECT_NE(::system((line + " 2>/dev/null").c_str()), 0);
  EXPECT_FALSE(os::exists(to + "/alloc/data/l"));
}

TEST_F(FetchTest, ALinkThatWasThereBeforeIsReplacedNotFollowed) {
  os::make_directories(directory.path() + "/outside");
  ASSERT_EQ(::symlink((directory.path() + "/outside").c_str(), (root + "/main/local/d").c_str()), 0);
  (void)unpack("tar", {{"d/f", AE_IFREG, "x"}});
  EXPECT_FALSE(os::exists(directory.path() + "/outside/f"));
  request.destination = "main/local/d/deeper";
  EXPECT_NE(
      unpack("tar", {{"f", AE_IFREG, "x"}}) + (os::exists(directory.path() + "/outside/deeper") ? "" : "kept inside"),
      "");
  EXPECT_FALSE(os::exists(directory.path() + "/outside/deeper"));
}

TEST_F(FetchTest, LimitsHold) {
  request.max_unpacked_bytes = 10;
  EXPECT_THAT(unpack("tar.gz", {{"f", AE_IFREG, std::string(1 << 20, '0')}}), HasSubstr("more than is allowed"));
  request.max_unpacked_bytes = 1 << 30;
  request.max_files = 2;
  EXPECT_THAT(unpack("tar", {{"a", AE_IFREG, ""}, {"b", AE_IFREG, ""}, {"c", AE_IFREG, ""}}),
              HasSubstr("too many files"));
}

/// Names of what lies in the task's directory.
std::vector<std::string> files_below(const std::string& path) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) out.push_back(entry.path());
  return out;
}

TEST_F(FetchTest, AnArchiveIsBoundedByTheDiskOfItsGroupAndLeavesNothingBehind) {
  request.disk_bytes = 4 << 20;
  const std::string zeros(3 << 20, '0');
  for (const char* kind : {"tar.gz", "tar.xz", "tar.zst", "tar.bz2", "zip"}) {
    SCOPED_TRACE(kind);
    const std::string said =
        unpack(kind, {{"d", AE_IFDIR, "", false, 0755}, {"d/first", AE_IFREG, zeros}, {"d/e/second", AE_IFREG, zeros}});
    EXPECT_THAT(said, HasSubstr("unpacks to more than is allowed"));
    EXPECT_THAT(said, HasSubstr("ephemeral_disk has 4.0 MiB"));
    EXPECT_THAT(files_below(root + "/main/local"), IsEmpty());
  }
  EXPECT_THAT(unpack("raw.gz", {{"f", AE_IFREG, zeros + zeros}}), HasSubstr("ephemeral_disk has 4.0 MiB"));
  EXPECT_THAT(files_below(root + "/main/local"), IsEmpty());
  for (int start = 0; start < 3; ++start)
    EXPECT_EQ(unpack("tar.gz", {{"f", AE_IFREG, zeros}}), "") << "a task that starts again replaces what is there";
  EXPECT_THAT(unpack("tar.gz", {{"g", AE_IFREG, zeros}}), HasSubstr("ephemeral_disk")) << "what is there counts";
}

TEST_F(FetchTest, AFullDiskTakesNothingMore) {
  request.disk_bytes = 1 << 20;
  std::ofstream(root + "/main/local/data") << std::string(2 << 20, '0');
  request.source = directory.path() + "/plain.conf";
  std::ofstream(request.source) << "text";
  EXPECT_THAT(fetch(), HasSubstr("ephemeral_disk has 1.0 MiB"));
}

TEST_F(FetchTest, ADirectoryIsBoundedByTheDiskToo) {
  request.disk_bytes = 4 << 20;
  request.source = directory.path() + "/source";
  std::filesystem::create_directories(request.source + "/deep");
  for (const char* name : {"/a", "/deep/b"}) std::ofstream(request.source + name) << std::string(3 << 20, '0');
  EXPECT_THAT(fetch(), HasSubstr("is too large"));
  EXPECT_THAT(files_below(root + "/main/local"), IsEmpty());
}

TEST_F(FetchTest, HolesCountAsIfTheyWereWritten) {
  request.max_unpacked_bytes = 1 << 20;
  const std::string source = directory.path() + "/sparse.tar";
  archive* out = archive_write_new();
  archive_write_set_format_pax(out);
  archive_write_open_filename(out, source.c_str());
  archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, "hole");
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_entry_set_perm(entry, 0644);
  archive_entry_set_size(entry, 1LL << 40);
  archive_entry_sparse_add_entry(entry, 0, 1);
  ASSERT_GE(archive_write_header(out, entry), ARCHIVE_WARN) << archive_error_string(out);
  archive_write_data(out, "x", 1);
  archive_entry_free(entry);
  archive_write_free(out);
  request.source = source;
  EXPECT_THAT(fetch(), HasSubstr("more than is allowed"));
  EXPECT_THAT(files_below(root + "/main/local"), IsEmpty());
}

TEST_F(FetchTest, DepthIsBounded) {
  std::string path = "d";
  for (int i = 0; i < 100; ++i) path += "/d";
  EXPECT_THAT(unpack("tar", {{path, AE_IFREG, "deep"}}), HasSubstr("nested deeper than"));
  EXPECT_THAT(files_below(root + "/main/local"), IsEmpty());
}

TEST_F(FetchTest, ModesChooseWhereItGoes) {
  request.source = directory.path() + "/plain.conf";
  std::ofstream(request.source) << "text";
  EXPECT_EQ(fetch(), "");
  EXPECT_EQ(local("plain.conf"), "text");
  request.mode = "file";
  request.destination = "main/local/sub/renamed";
  EXPECT_EQ(fetch(), "");
  EXPECT_EQ(local("sub/renamed"), "text");
  request.mode = "dir";
  EXPECT_THAT(fetch(), HasSubstr("is no archive"));
  request.mode = "any";
  request.archive = "false";
  request.destination = "main/local";
  EXPECT_EQ(unpack("tar.gz", {{"f", AE_IFREG, ""}}), "");
  EXPECT_FALSE(os::exists(root + "/main/local/f"));
}

TEST_F(FetchTest, DirectoriesAreCopiedAndLinksInThemLeftOut) {
  os::make_directories(directory.path() + "/tree/sub");
  std::ofstream(directory.path() + "/tree/sub/f") << "x";
  ASSERT_EQ(::symlink("/etc/passwd", (directory.path() + "/tree/link").c_str()), 0);
  request.source = directory.path() + "/tree";
  EXPECT_EQ(fetch(), "");
  EXPECT_EQ(local("sub/f"), "x");
  EXPECT_FALSE(os::exists(root + "/main/local/link"));
}

TEST_F(FetchTest, ChecksumsOfEveryKindAreChecked) {
  request.source = directory.path() + "/f";
  std::ofstream(request.source) << "abc";
  // Source: FIPS 180-2, appendix A and B; RFC 1321, appendix A.5.
  for (const char* good : {"md5:900150983cd24fb0d6963f7d28e17f72", "sha1:a9993e364706816aba3e25717850c26c9cd0d89d",
                           "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                           "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"}) {
    SCOPED_TRACE(good);
    request.checksum = good;
    EXPECT_EQ(fetch(), "");
  }
  request.checksum = "sha256:00";
  EXPECT_THAT(fetch(), HasSubstr("the checksum does not match"));
  request.checksum = "crc32:1234";
  EXPECT_THAT(fetch(), HasSubstr("of no known kind"));
}

TEST_F(FetchTest, WhatTheTasksUserMayNotReadIsNotReadForHim) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  request.source = directory.path() + "/private";
  std::ofstream(request.source) << "x";
  ::chmod(request.source.c_str(), 0600);
  request.uid = request.gid = 65534;
  EXPECT_THAT(fetch(), HasSubstr("EACCES"));
}

TEST_F(FetchTest, DamagedArchivesAreTold) {
  request.source = directory.path() + "/a.tar.gz";
  std::ofstream(request.source) << "this is no archive";
  EXPECT_NE(fetch(), "");
}

}  // namespace
}  // namespace underway::node
