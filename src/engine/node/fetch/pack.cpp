#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "base/error.hpp"
#include "node/fetch/fetch.hpp"
#include "node/streams/file_access.hpp"

namespace underway::node::fetch {
namespace {

using Writer = std::unique_ptr<archive, decltype(&archive_write_free)>;
using Entry = std::unique_ptr<archive_entry, decltype(&archive_entry_free)>;

constexpr int kDeepest = 256;

class Packer {
 public:
  explicit Packer(const os::Fd& out) : writer_(archive_write_new(), &archive_write_free) {
    // With times to the nanosecond: by them a machine that sleeps knows that nobody has written to its disks.
    archive_write_set_format_pax(writer_.get());
    // Each piece as it comes: whoever reads at the other end of the pipe waits for it.
    archive_write_set_bytes_per_block(writer_.get(), 1 << 16);
    archive_write_set_bytes_in_last_block(writer_.get(), 1);
    check(archive_write_open_fd(writer_.get(), out.get()));
  }
  void finish() { check(archive_write_close(writer_.get())); }

  /// `parent` is open; `path` is what it is called in the archive.
  void add(const os::Fd& parent, const std::string& name, const std::string& path, int depth) {
    if (depth > kDeepest) throw Error(Code::too_large, fmt::format("'{}' is nested too deeply", path));
    struct stat status{};
    if (::fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return;
      throw errno_error(errno, fmt::format("cannot read '{}'", path));
    }
    if (S_ISLNK(status.st_mode)) return add_link(parent, name, path, status);
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return;  // sockets and the like mean nothing elsewhere
    const os::Fd file(::openat(parent.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file || ::fstat(file.get(), &status) != 0) throw errno_error(errno, fmt::format("cannot read '{}'", path));
    const auto entry = entry_of(path, status);
    if (S_ISDIR(status.st_mode)) {
      check(archive_write_header(writer_.get(), entry.get()));
      add_children(file, path, depth);
    } else if (S_ISREG(status.st_mode)) {
      check(archive_write_header(writer_.get(), entry.get()));
      copy(file, path);
    }
  }

 private:
  void check(int result) const {
    if (result >= ARCHIVE_WARN) return;
    throw Error(Code::unavailable, "cannot write the archive").because(archive_error_string(writer_.get()));
  }

  static Entry entry_of(const std::string& path, const struct stat& status) {
    Entry entry(archive_entry_new(), &archive_entry_free);
    archive_entry_set_pathname(entry.get(), path.c_str());
    archive_entry_copy_stat(entry.get(), &status);
    return entry;
  }

  void add_link(const os::Fd& parent, const std::string& name, const std::string& path, const struct stat& status) {
    std::array<char, 4096> target{};
    const ssize_t size = ::readlinkat(parent.get(), name.c_str(), target.data(), target.size() - 1);
    if (size <= 0 || target[0] == '/') return;
    // One that leads outside would be refused where it is unpacked.
    if (!normalise(path.substr(0, path.rfind('/') + 1) + target.data())) return;
    const auto entry = entry_of(path, status);
    archive_entry_set_size(entry.get(), 0);
    archive_entry_set_symlink(entry.get(), target.data());
    check(archive_write_header(writer_.get(), entry.get()));
  }

  void add_children(const os::Fd& directory, const std::string& path, int depth) {
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(directory.duplicate().release()), &::closedir);
    if (!stream) throw errno_error(errno, fmt::format("cannot list '{}'", path));
    while (const dirent* child = ::readdir(stream.get())) {
      const std::string name = child->d_name;
      if (name != "." && name != "..") add(directory, name, path + "/" + name, depth + 1);
    }
  }

  /// As many bytes as the header promised.
  void copy(const os::Fd& file, const std::string& path) {
    std::array<char, 1U << 16> piece{};
    while (true) {
      const ssize_t got = ::read(file.get(), piece.data(), piece.size());
      if (got < 0) throw errno_error(errno, fmt::format("cannot read '{}'", path));
      if (got == 0) return;
      if (archive_write_data(writer_.get(), piece.data(), static_cast<std::size_t>(got)) < 0) check(ARCHIVE_FATAL);
    }
  }

  Writer writer_;
};

}  // namespace

void pack(const std::string& root, const std::vector<std::string>& parts, const os::Fd& out) {
  const Beneath beneath(root);
  Packer packer(out);
  for (const auto& part : parts) {
    const std::size_t slash = part.rfind('/');
    os::Fd parent;
    try {
      parent = beneath.open(slash == std::string::npos ? "." : part.substr(0, slash), O_RDONLY | O_DIRECTORY);
    } catch (const Error& error) {
      if (error.code() != Code::not_found) throw;
      continue;
    }
    packer.add(parent, part.substr(slash == std::string::npos ? 0 : slash + 1), part, 0);
  }
  packer.finish();
}

}  // namespace underway::node::fetch
