#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include <atomic>
#include <thread>

#include "base/error.hpp"
#include "os/file.hpp"
#include "tests/target_tree_test.hpp"

namespace underway::files {
namespace {

using model::FileType;
using ::testing::HasSubstr;

class DiskTest : public TargetTreeTest {
 protected:
  /// As a plan would have it done.
  std::string make(const ManifestEntry& entry, const std::string& bytes, Action action = Action::replace) {
    const NodeTarget target(root_);
    return make_at(target, entry, bytes, action);
  }
  static std::string make_at(const FileTarget& target, const ManifestEntry& entry, const std::string& bytes,
                             Action action = Action::replace) {
    try {
      TargetTree tree(target);
      tree.make({entry, action, "", false}, os::sealed_memory("bytes", bytes));
      return "made";
    } catch (const Error& error) {
      return error.text();
    }
  }
  std::vector<std::string> found(const ManifestEntry& entry) {
    const NodeTarget target(root_);
    return differences(entry, TargetTree(target).look(entry));
  }
};

TEST_F(DiskTest, AFileIsPutWithOwnerModeAndAttributes) {
  auto wanted = entry("/srv/new/deep/file", "hello\n");
  wanted.owner = wanted.group = "slurm";
  wanted.mode = 0640;
  wanted.xattrs = {{"user.origin", "underway"}};
  EXPECT_EQ(join(found(wanted), ", "), "it is not there");
  ASSERT_EQ(make(wanted, "hello\n", Action::create), "made");
  EXPECT_EQ(read("/srv/new/deep/file"), "hello\n");
  EXPECT_EQ(mode("/srv/new/deep/file"), "0640 64030:64030");
  EXPECT_EQ(mode("/srv/new/deep"), "0755 0:0");
  EXPECT_EQ(names("/srv/new/deep"), "file") << "no temporary file is left";
  EXPECT_EQ(join(found(wanted), ", "), "");
}

TEST_F(DiskTest, WhatDiffersIsSeen) {
  auto wanted = entry("/etc/motd", "hello\n");
  wanted.xattrs = {{"user.origin", "underway"}};
  ASSERT_EQ(make(wanted, "hello\n"), "made");
  write("/etc/motd", "HELLO\n");
  ::chmod((root_ + "/etc/motd").c_str(), 0600);
  ::setxattr((root_ + "/etc/motd").c_str(), "user.origin", "me", 2, 0);
  EXPECT_EQ(join(found(wanted), ", "), "content, mode 0600 instead of 0644, attribute user.origin");
}

TEST_F(DiskTest, ABareChangeOfModeKeepsTheInode) {
  auto wanted = entry("/etc/motd", "hello\n");
  ASSERT_EQ(make(wanted, "hello\n"), "made");
  const auto before = status("/etc/motd").st_ino;
  wanted.mode = 0600;
  wanted.owner = "slurm";
  ASSERT_EQ(make(wanted, "", Action::adjust), "made");
  EXPECT_EQ(mode("/etc/motd"), "0600 64030:0");
  EXPECT_EQ(status("/etc/motd").st_ino, before);
}

TEST_F(DiskTest, AKnownStampSavesTheReading) {
  const auto wanted = entry("/etc/motd", "hello\n");
  ASSERT_EQ(make(wanted, "hello\n"), "made");
  const NodeTarget target(root_);
  const TargetTree tree(target);
  auto stamp = tree.stamp(wanted);
  for (int i = 0; i < 1000 && !stamp; ++i) {  // it was changed too lately
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stamp = tree.stamp(wanted);
  }
  ASSERT_TRUE(stamp);
  stamp->digest = "what the stamp says";
  EXPECT_EQ(tree.look(wanted, &*stamp).observed.digest, "what the stamp says");
  write("/etc/motd", "HELLO\n");
  EXPECT_EQ(tree.look(wanted, &*stamp).observed.digest, hex(crypto::sha256("HELLO\n")));
}

TEST_F(DiskTest, ALinkInPlaceOfAFileIsReplacedAndWhatItLedToIsNot) {
  write("/victim", "untouched");
  ASSERT_EQ(::symlink("/victim", (root_ + "/etc/motd").c_str()), 0);
  ASSERT_EQ(make(entry("/etc/motd", "x"), "x"), "made");
  EXPECT_TRUE(S_ISREG(status("/etc/motd").st_mode));
  EXPECT_EQ(read("/victim"), "untouched");
}

TEST_F(DiskTest, ALinkOnTheWayIsRefusedWithTheRealPath) {
  std::filesystem::create_directories(root_ + "/usr/lib");
  ASSERT_EQ(::symlink("usr/lib", (root_ + "/lib").c_str()), 0);
  const auto said = make(entry("/lib/modprobe.d/x.conf", "x"), "x");
  EXPECT_THAT(said, HasSubstr("'/lib' on the way is a symbolic link to 'usr/lib'"));
  EXPECT_THAT(said, HasSubstr("declare the file by its real path, '/usr/lib/modprobe.d/x.conf'"));
  EXPECT_EQ(names("/usr/lib"), "");
  EXPECT_THAT(join(found(entry("/lib/modprobe.d/x.conf", "x")), ", "), HasSubstr("a symbolic link"));
  EXPECT_THAT(make(entry("/lib/x", "x"), "", Action::remove), HasSubstr("links are not followed"));
}

TEST_F(DiskTest, LinksAndDirectoriesAreContentToo) {
  ManifestEntry link = entry("/etc/localtime", "");
  link.type = FileType::symlink;
  link.link = "/usr/share/zoneinfo/UTC";
  ASSERT_EQ(make(link, ""), "made");
  EXPECT_EQ(std::filesystem::read_symlink(root_ + "/etc/localtime"), "/usr/share/zoneinfo/UTC");
  EXPECT_EQ(join(found(link), ", "), "");
  ManifestEntry directory = entry("/var/spool/slurm", "");
  directory.type = FileType::directory;
  directory.owner = "slurm";
  directory.mode = 0750;
  ASSERT_EQ(make(directory, "", Action::create), "made");
  EXPECT_EQ(mode("/var/spool/slurm"), "0750 64030:0");
  EXPECT_EQ(join(found(directory), ", "), "");
  EXPECT_THAT(make(entry("/var/spool/slurm", "x"), "x"), HasSubstr("cannot replace"));
}

TEST_F(DiskTest, RemovingIsCarefulWithDirectories) {
  write("/etc/old", "x");
  EXPECT_EQ(make(entry("/etc/old", "x"), "", Action::remove), "made");
  EXPECT_FALSE(exists("/etc/old"));
  EXPECT_EQ(make(entry("/etc/old", "x"), "", Action::remove), "made") << "again, without harm";
  std::filesystem::create_directories(root_ + "/srv/full/x");
  EXPECT_THAT(make(entry("/srv/full", ""), "", Action::remove), HasSubstr("it is not empty"));
  EXPECT_EQ(make(entry("/srv/full/x", ""), "", Action::remove), "made");
}

TEST_F(DiskTest, AnOwnerThatNobodyKnowsIsRefused) {
  auto wanted = entry("/etc/motd", "x");
  wanted.owner = "nobody-knows";
  const auto said = make(wanted, "x");
  EXPECT_THAT(said, HasSubstr("there is no user 'nobody-knows' here"));
  EXPECT_FALSE(exists("/etc/motd"));
}

TEST_F(DiskTest, AReaderSeesOldBytesOrNewOnesAndAlwaysAFile) {
  const std::string old_bytes(20'000, 'a'), new_bytes(30'000, 'b');
  ASSERT_EQ(make(entry("/etc/motd", old_bytes), old_bytes), "made");
  std::atomic<bool> over = false;
  std::atomic<int> reads = 0, torn = 0, missing = 0;
  std::thread reader([&] {
    while (!over) {
      const auto bytes = os::find_file(root_ + "/etc/motd");
      if (!bytes)
        ++missing;
      else if (*bytes != old_bytes && *bytes != new_bytes)
        ++torn;
      ++reads;
    }
  });
  for (int i = 0; i < 40 || reads < 1000; ++i) {
    const auto& bytes = i % 2 == 0 ? new_bytes : old_bytes;
    ASSERT_EQ(make(entry("/etc/motd", bytes), bytes), "made");
  }
  over = true;
  reader.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(missing, 0);
  EXPECT_GE(reads, 1000);
}

// The UKY paper, section 4.1: a file that was bound into a container by itself came loose when the provisioner replaced
// it. We refuse to, and an overlay has no such files.
class MountTest : public DiskTest {
 protected:
  /// Runs `body` in a mount namespace of its own, in a child; its answer is what the child says.
  std::string apart(const std::function<std::string()>& body) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      std::string said = "no mount namespace";
      if (::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0) {
        try {
          said = body();
        } catch (const std::exception& failure) {
          said = failure.what();
        }
      }
      static_cast<void>(::write(ends[1], said.data(), said.size()));
      ::_exit(0);
    }
    ::close(ends[1]);
    const os::Fd from(ends[0]);
    auto said = os::read_all(from, 1U << 20, "the child");
    ::waitpid(child, nullptr, 0);
    return said;
  }
};

/// The test's directory as a root whose mounts are seen by their paths in it.
class ChangedRoot final : public FileTarget {
 public:
  explicit ChangedRoot(std::string root) : root_(std::move(root)) {}
  const std::string& name() const override { return name_; }
  os::Fd root() const override { return os::open_file(root_, O_PATH | O_DIRECTORY); }
  std::string mounts() const override {
    auto text = os::read_file("/proc/self/mountinfo");
    for (auto at = text.find(root_ + "/"); at != std::string::npos; at = text.find(root_ + "/"))
      text.erase(at, root_.size());
    return text;
  }
  os::ProcessIdentity start(os::SpawnSpec spec) const override { return os::spawn_detached(spec); }

 private:
  std::string name_ = "capsule";
  std::string root_;
};

TEST_F(MountTest, AFileThatIsBoundByItselfIsRefusedByTheNameOfItsMount) {
  write("/etc/passwd", "old\n");
  write("/outside", "bound\n");
  const auto said = apart([&] {
    if (::mount((root_ + "/outside").c_str(), (root_ + "/etc/passwd").c_str(), nullptr, MS_BIND, nullptr) != 0)
      return std::string("cannot bind");
    return make_at(ChangedRoot(root_), entry("/etc/passwd", "new\n"), "new\n") + "\n" + read("/etc/passwd");
  });
  EXPECT_THAT(said, HasSubstr("'/etc/passwd' is not written"));
  EXPECT_THAT(said, HasSubstr("it is a mount point itself"));
  EXPECT_THAT(said, HasSubstr("/outside' of"));
  EXPECT_THAT(said, HasSubstr("cannot be replaced (EBUSY)"));
  EXPECT_THAT(said, HasSubstr("mount its directory instead"));
  EXPECT_TRUE(said.ends_with("bound\n")) << "what was bound is still there: " << said;
}

TEST_F(MountTest, OverAnOverlayAFileIsReplacedAndTheImageBelowStays) {
  for (const char* name : {"/lower/etc", "/tmpfs", "/merged"}) std::filesystem::create_directories(root_ + name);
  write("/lower/etc/passwd", "root:x:0:0:::\n");
  const auto said = apart([&]() -> std::string {
    const std::string merged = root_ + "/merged";
    if (::mount("tmpfs", (root_ + "/tmpfs").c_str(), "tmpfs", 0, nullptr) != 0) return "cannot mount tmpfs";
    std::filesystem::create_directories(root_ + "/tmpfs/upper");
    std::filesystem::create_directories(root_ + "/tmpfs/work");
    const std::string options =
        fmt::format("lowerdir={0}/lower,upperdir={0}/tmpfs/upper,workdir={0}/tmpfs/work", root_);
    if (::mount("overlay", merged.c_str(), "overlay", 0, options.c_str()) != 0) return "cannot mount overlay";
    const std::string text = "root:x:0:0:::\nann:x:1000:1000:::\n";
    const auto made = make_at(ChangedRoot(merged), entry("/etc/passwd", text), text);
    return made + "|" + (read("/merged/etc/passwd") == text ? "new" : "old") + "|" +
           (read("/lower/etc/passwd") == "root:x:0:0:::\n" ? "image as it was" : "image changed") + "|" +
           (read("/tmpfs/upper/etc/passwd") == text ? "in the upper layer" : "lost");
  });
  EXPECT_EQ(said, "made|new|image as it was|in the upper layer");
}

}  // namespace
}  // namespace underway::files
