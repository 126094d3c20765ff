#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"
#include "overlay/detail/make.hpp"

namespace underway::overlay {
namespace {

std::string holder_of(const std::string& file) { return file.substr(0, file.rfind('/')); }

struct statfs file_system_of(const std::string& path) {
  struct statfs found = {};
  if (::statfs(path.c_str(), &found) != 0) throw errno_error(errno, fmt::format("cannot look at '{}'", path));
  return found;
}

[[noreturn]] void no_space(const std::string& file, std::uint64_t need, std::uint64_t free) {
  throw Error(Code::exhausted, fmt::format("no space for the overlay '{}'", file))
      .because(fmt::format("needs {}, the file system of '{}' has {} free", human_bytes(need), holder_of(file),
                           human_bytes(free)))
      .advise("make space there, or set `size` or `paths` of the overlay");
}

}  // namespace

int run_tool(const std::vector<std::string>& argv, std::vector<int> accepted, Duration within) {
  os::SpawnSpec spec{.argv = argv};
  spec.env = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"};
  os::Output output;
  try {
    output = os::run_program(std::move(spec), within);
  } catch (Error& e) {
    if (e.code() == Code::not_found) e.advise(fmt::format("install the package that has `{}`", argv[0]));
    throw;
  }
  const bool fine =
      output.status.signal == 0 && std::find(accepted.begin(), accepted.end(), output.status.code) != accepted.end();
  if (fine) return output.status.code;
  std::string words(trim(output.err.empty() ? output.out : output.err));
  if (words.size() > 600) words = "…" + words.substr(words.size() - 600);
  std::replace(words.begin(), words.end(), '\n', ' ');
  throw Error(Code::internal, fmt::format("`{}` failed", argv[0]))
      .because(fmt::format("{}: {}", os::to_string(output.status), words));
}

std::vector<std::string> choose_files(const Spec& spec, const std::string& dir, const std::string& owner) {
  if (spec.kind == Kind::directory) return {};
  if (spec.paths.empty()) return {dir + "/overlay.img"};
  std::string name = owner.empty() ? "overlay" : owner;
  std::replace(name.begin(), name.end(), '/', '.');
  // Many overlays may share a directory, and one may have been made there before.
  name += "." + hex(random_bytes(4)) + ".img";
  std::vector<std::string> files;
  for (const auto& path : spec.paths) files.push_back(path + "/" + name);
  return files;
}

void reserve(const std::string& path, std::uint64_t size_bytes) {
  const auto file = os::open_file(path, O_RDWR | O_CREAT, 0600);
  struct stat now = {};
  if (::fstat(file.get(), &now) != 0) throw errno_error(errno, fmt::format("cannot look at '{}'", path));
  const auto size = static_cast<off_t>(size_bytes);
  if (now.st_size >= size) return;
  const auto holder = file_system_of(holder_of(path));
  const auto free = static_cast<std::uint64_t>(holder.f_bavail) * static_cast<std::uint64_t>(holder.f_bsize);
  const auto need = static_cast<std::uint64_t>(size - now.st_size);
  if (need > free) no_space(path, need, free);
  // A file system must not run out of space beneath its own; but memory that is not needed is not taken.
  const bool reserved =
      holder.f_type != TMPFS_MAGIC && ::fallocate(file.get(), 0, now.st_size, size - now.st_size) == 0;
  if (!reserved && errno == ENOSPC && holder.f_type != TMPFS_MAGIC) no_space(path, need, free);
  if (!reserved && ::ftruncate(file.get(), size) != 0) throw errno_error(errno, fmt::format("cannot grow '{}'", path));
}

void refuse_one_file_system(const Record& record) {
  struct stat one = {}, other = {};
  if (::stat(holder_of(record.files[0]).c_str(), &one) != 0 || ::stat(holder_of(record.files[1]).c_str(), &other) != 0)
    throw errno_error(errno, "cannot look at the directories of the overlay");
  if (one.st_dev != other.st_dev) return;
  throw Error(Code::invalid, "raid1 on one file system protects from nothing")
      .because(fmt::format("'{}' and '{}' lie on the same file system", holder_of(record.files[0]),
                           holder_of(record.files[1])))
      .advise("name two directories on two disks in `paths`");
}

void make_file_systems(const Record& record) {
  for (const auto& file : record.files) {
    os::make_directories(holder_of(file), 0700);
    if (::unlink(file.c_str()) != 0 && errno != ENOENT)
      throw errno_error(errno, fmt::format("cannot remove the half made '{}'", file));
  }
  if (record.kind == Kind::raid1) refuse_one_file_system(record);
  for (const auto& file : record.files) reserve(file, static_cast<std::uint64_t>(record.size_bytes));
  // Blocks and sectors of 4096 bytes, whatever the disk below has: a loop device takes over the latter.
  switch (record.kind) {
    case Kind::directory:
      return;
    case Kind::ext4:
      run_tool({"mkfs.ext4", "-q", "-F", "-b", "4096", "-m", "0", "-E",
                "lazy_itable_init=1,lazy_journal_init=1,nodiscard", record.files[0]});
      return;
    case Kind::xfs:
      run_tool({"mkfs.xfs", "-q", "-f", "-K", "-s", "size=4096", "-m", "reflink=1,crc=1", record.files[0]});
      return;
    case Kind::btrfs:
      run_tool({"mkfs.btrfs", "-q", "-f", "-K", "-s", "4096", "-m", "dup", "-d", "single", record.files[0]});
      return;
    case Kind::raid1:
      run_tool({"mkfs.btrfs", "-q", "-f", "-K", "-s", "4096", "-m", "raid1", "-d", "raid1", record.files[0],
                record.files[1]});
      return;
  }
}

std::string mending_advice(const Record& record) {
  switch (record.kind) {
    case Kind::ext4:
      return fmt::format("restore a snapshot or a backup, or try `e2fsck -f {}`", record.files[0]);
    case Kind::xfs:
      return fmt::format("restore a snapshot or a backup, or try `xfs_repair {}`", record.files[0]);
    case Kind::btrfs:
    case Kind::raid1:
      return fmt::format("restore a backup, or see what `btrfs check {}` says", record.files[0]);
    case Kind::directory:
      break;
  }
  return "restore a snapshot or a backup";
}

void check_before_mount(const Record& record, bool whole) {
  if (record.kind != Kind::ext4) return;  // xfs and btrfs check what they read, and have no quick check
  try {
    // Exit codes of e2fsck(8): 1 mended, 4 left unmended. A clean file system takes milliseconds.
    std::vector<std::string> check = {"e2fsck", "-p", record.files[0]};
    if (whole) check.emplace_back("-f");
    run_tool(check, {0, 1}, std::chrono::hours{1});
  } catch (const Error& e) {
    throw Error(Code::internal, fmt::format("the file system of the overlay '{}' is damaged", record.files[0]))
        .because(e.reasons())
        .advise(mending_advice(record));
  }
}

}  // namespace underway::overlay
