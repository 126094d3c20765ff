#include "node/fetch/fetch.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <grp.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "node/fetch/placed.hpp"

namespace underway::node::fetch {

namespace {

/// The rights of the task's user over files, for as long as it lives: a job must not read through us what its user
/// may not (setfsuid(2)).
class AsUser {
 public:
  explicit AsUser(const FetchRequest& request) : active_(::geteuid() == 0 && request.uid != 0) {
    if (!active_) return;
    const auto gid = static_cast<gid_t>(request.gid);
    if (::setgroups(1, &gid) != 0) throw errno_error(errno, "cannot take on the task's groups");
    ::setfsgid(gid);
    ::setfsuid(static_cast<uid_t>(request.uid));
  }
  ~AsUser() {
    if (!active_) return;
    ::setfsuid(0);
    ::setfsgid(0);
  }
  AsUser(const AsUser&) = delete;
  AsUser& operator=(const AsUser&) = delete;

 private:
  bool active_;
};

/// A private file that vanishes with us.
os::Fd staging_file(const Beneath& root, const std::string& directory) {
  return root.open(directory, O_TMPFILE | O_RDWR, 0600);
}

void copy_bytes(const os::Fd& from, const os::Fd& to, std::int64_t limit, const std::string& name) {
  std::vector<char> buffer(1U << 18);
  for (std::int64_t total = 0;;) {
    const auto got = ::read(from.get(), buffer.data(), buffer.size());
    if (got < 0) throw errno_error(errno, fmt::format("cannot read '{}'", name));
    if (got == 0) return;
    total += got;
    if (total > limit)
      throw Error(Code::too_large, fmt::format("'{}' is too large", name))
          .because(fmt::format("more than {}", human_bytes(static_cast<std::uint64_t>(limit))));
    os::write_all(to, std::string_view(buffer.data(), static_cast<std::size_t>(got)), name);
  }
}

void give(const os::Fd& file, const FetchRequest& request) {
  if (request.chown && ::geteuid() == 0 &&
      ::fchown(file.get(), static_cast<uid_t>(request.uid), static_cast<gid_t>(request.gid)) != 0)
    throw errno_error(errno, "cannot give the file to the task's user");
}

/// What was put in place so far.
struct Copied {
  std::int64_t files;
  std::int64_t left;  ///< bytes that may still be
};

Error too_large(const FetchRequest& request) {
  const auto limit = static_cast<std::uint64_t>(std::max<std::int64_t>(request.max_unpacked_bytes, 0));
  return Error(Code::too_large, fmt::format("'{}' is too large", request.source))
      .because(fmt::format("more than {}", human_bytes(limit)));
}

/// Puts the bytes at `path` below the root, replacing what is there.
void place(const Beneath& root, const os::Fd& bytes, const std::string& path, mode_t mode, const FetchRequest& request,
           Copied& copied) {
  const auto [parent, name] =
      root.open_parent(path, os::Owner{static_cast<uid_t>(request.uid), static_cast<gid_t>(request.gid)});
  struct stat status{};
  if (::fstat(bytes.get(), &status) != 0) throw errno_error(errno, fmt::format("cannot read '{}'", path));
  copied.left += disk_bytes_of(parent.get(), name) - status.st_size;
  if (copied.left < 0) throw too_large(request);
  const std::string temporary = fmt::format(".{}.{}", name.substr(0, 200), hex(random_bytes(6)));
  const os::Fd file(
      ::openat(parent.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) throw errno_error(errno, fmt::format("cannot write '{}'", path));
  ::lseek(bytes.get(), 0, SEEK_SET);
  try {
    copy_bytes(bytes, file, request.max_bytes, path);
    give(file, request);
    if (::fchmod(file.get(), mode) != 0) throw errno_error(errno, fmt::format("cannot set the mode of '{}'", path));
    if (::renameat(parent.get(), temporary.c_str(), parent.get(), name.c_str()) != 0)
      throw errno_error(errno, fmt::format("cannot replace '{}'", path));
  } catch (...) {
    ::unlinkat(parent.get(), temporary.c_str(), 0);
    throw;
  }
}

/// Copies the files and directories below `from` (links and devices are left out).
void copy_tree(const os::Fd& from, const Beneath& root, const std::string& to, const FetchRequest& request,
               Copied& copied, Placed& placed, int depth) {
  constexpr int kDeepest = 64;
  if (depth > kDeepest) throw Error(Code::too_large, fmt::format("'{}' is nested too deeply", request.source));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(from.duplicate().release()), &::closedir);
  if (!stream) throw errno_error(errno, fmt::format("cannot list '{}'", request.source));
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (++copied.files > request.max_files)
      throw Error(Code::too_large, fmt::format("'{}' holds more than {} files", request.source, request.max_files));
    os::Fd child;
    struct stat status{};
    {
      const AsUser rights(request);
      child = os::Fd(::openat(::dirfd(stream.get()), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    }
    if (!child && errno == ELOOP) continue;
    if (!child || ::fstat(child.get(), &status) != 0)
      throw errno_error(errno, fmt::format("cannot read '{}/{}'", request.source, name));
    const std::string path = to + "/" + name;
    if (S_ISDIR(status.st_mode)) copy_tree(child, root, path, request, copied, placed, depth + 1);
    if (!S_ISREG(status.st_mode)) continue;
    placed.add(path);
    place(root, child, path, status.st_mode & 0777, request, copied);
  }
}

/// What lies below the root now. Mounts in it are not of its disk, and a file with two names is counted once.
std::int64_t used_bytes(const std::string& root) {
  std::unique_ptr<FTS, int (*)(FTS*)> walk(nullptr, &::fts_close);
  std::string path = root;
  std::array<char*, 2> paths = {path.data(), nullptr};
  walk.reset(::fts_open(paths.data(), FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, nullptr));
  if (!walk) throw errno_error(errno, "cannot measure the allocation's disk");
  std::int64_t used = 0;
  std::set<ino_t> linked;
  while (const FTSENT* entry = ::fts_read(walk.get())) {
    if (entry->fts_info != FTS_F && entry->fts_info != FTS_D) continue;
    if (entry->fts_info == FTS_F && entry->fts_statp->st_nlink > 1 && !linked.insert(entry->fts_statp->st_ino).second)
      continue;
    used += entry->fts_statp->st_blocks * 512;  // stat(2)
  }
  return used;
}

/// Within what is left of the disk that the group asked for: a small archive may be made to unpack to a large one.
void bound_by_disk(FetchRequest& request) {
  if (request.disk_bytes <= 0) return;
  const std::int64_t left = request.disk_bytes - used_bytes(request.allocation_root);
  request.max_bytes = std::min(request.max_bytes, request.disk_bytes);  // what is replaced is there until then
  request.max_unpacked_bytes = std::min(request.max_unpacked_bytes, left);
}

/// Why a limit was met, if the disk set it.
void tell_of_disk(Error& error, const FetchRequest& request) {
  if (error.code() != Code::too_large || request.disk_bytes <= 0) return;
  error.because(
      fmt::format("the group's ephemeral_disk has {}", human_bytes(static_cast<std::uint64_t>(request.disk_bytes))));
  error.advise("ask for a larger one: ephemeral_disk { size = … }");
}

struct Fetched {
  os::Fd bytes;
  mode_t mode = 0644;
  bool directory = false;
};

Fetched bring(const FetchRequest& request, const Beneath& root) {
  if (request.source.starts_with("http://") || request.source.starts_with("https://")) {
    Fetched fetched{staging_file(root, request.staging)};
    download(request, fetched.bytes);
    return fetched;
  }
  const std::string path = request.source.starts_with("file://") ? request.source.substr(7) : request.source;
  Fetched fetched;
  {
    const AsUser rights(request);
    fetched.bytes = os::open_file(path, O_RDONLY | O_NONBLOCK);
  }
  struct stat status{};
  if (::fstat(fetched.bytes.get(), &status) != 0) throw errno_error(errno, fmt::format("cannot read '{}'", path));
  fetched.directory = S_ISDIR(status.st_mode);
  fetched.mode = status.st_mode & 0777;
  if (!fetched.directory && !S_ISREG(status.st_mode)) throw Error(Code::invalid, fmt::format("'{}' is no file", path));
  if (fetched.directory || request.checksum.empty()) return fetched;
  // What was checked must be what is used: nobody can change our copy.
  os::Fd copy = staging_file(root, request.staging);
  copy_bytes(fetched.bytes, copy, request.max_bytes, path);
  fetched.bytes = std::move(copy);
  return fetched;
}

std::string source_name(const FetchRequest& request) {
  if (!request.filename.empty()) return request.filename;
  std::string_view name = request.source;
  name = name.substr(0, name.find_first_of("?#"));
  return std::string(name.substr(name.rfind('/') + 1));
}

void fetch_within(const FetchRequest& request) {
  const Beneath root(request.allocation_root);
  Fetched fetched = bring(request, root);
  if (!request.checksum.empty()) {
    if (fetched.directory) throw Error(Code::invalid, "a directory has no checksum");
    check_digest(fetched.bytes, request.checksum);
  }
  std::string name = source_name(request);
  if (name.empty() || name.find('/') != std::string::npos || name == "..") name = "artifact";
  const std::string kind = request.archive.empty() ? archive_kind(source_name(request)) : request.archive;
  const bool packed = !fetched.directory && !kind.empty() && kind != "false" && kind != "0";
  Copied copied{0, request.max_unpacked_bytes};
  if (fetched.directory) {
    Placed placed(root, request.destination);
    copy_tree(fetched.bytes, root, request.destination, request, copied, placed, 0);
    placed.keep();
  } else if (packed) {
    const bool single = kind != "zip" && !kind.starts_with("tar");
    const std::string inner =
        single && name.ends_with("." + kind) ? name.substr(0, name.size() - kind.size() - 1) : name;
    // With mode "file" the destination names the file that a compressed one unpacks to.
    const bool to_file = single && request.mode == "file";
    const auto [parent, last] =
        root.open_parent(to_file ? request.destination : request.destination + "/x",
                         os::Owner{static_cast<uid_t>(request.uid), static_cast<gid_t>(request.gid)});
    unpack(fetched.bytes, kind, parent, to_file ? last : inner, request);
  } else if (request.mode == "dir") {
    throw Error(Code::invalid, fmt::format("'{}' is no archive", request.source))
        .because("mode is \"dir\"")
        .advise("use mode \"file\" or \"any\"");
  } else {
    place(root, fetched.bytes, request.mode == "file" ? request.destination : request.destination + "/" + name,
          fetched.mode, request, copied);
  }
}

}  // namespace

void fetch(const FetchRequest& asked) {
  FetchRequest request = asked;
  bound_by_disk(request);
  try {
    fetch_within(request);
  } catch (Error& error) {
    tell_of_disk(error, request);
    throw;
  }
}

}  // namespace underway::node::fetch
