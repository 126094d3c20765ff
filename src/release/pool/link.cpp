#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "pool/detail/place.hpp"
#include "pool/pool.hpp"

namespace underway::pool {
namespace {

std::vector<std::string> parts_of(std::string_view relative) {
  const auto refuse = [&](const char* why) {
    throw Error(Code::invalid, fmt::format("'{}' is no name of a file in a tree", relative.substr(0, 300)))
        .because(why);
  };
  if (relative.size() > 4000) refuse("it is too long");
  const auto controls = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  if (std::ranges::any_of(relative, controls)) refuse("it has control characters");
  auto parts = split(relative, '/');
  for (const auto& part : parts)
    if (part.empty() || part == "." || part == "..") refuse("each of its parts has to be a name");
  return parts;
}

os::Fd open_directory_in(const os::Fd& parent, const std::string& name) {
  return os::Fd(::openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

/// The directory of the last part. No link leads out of the root: each part is opened by its own name.
os::Fd parent_in(const std::string& root, const std::vector<std::string>& parts) {
  os::Fd at = os::open_directory(root);
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    os::Fd next = open_directory_in(at, parts[i]);
    if (!next && errno == ENOENT) {
      // Another thread may make it as well.
      if (::mkdirat(at.get(), parts[i].c_str(), 0755) != 0 && errno != EEXIST)
        throw errno_error(errno, fmt::format("cannot make the directory '{}' in '{}'", parts[i], root));
      next = open_directory_in(at, parts[i]);
    }
    if (!next) throw errno_error(errno, fmt::format("cannot open the directory '{}' in '{}'", parts[i], root));
    at = std::move(next);
  }
  return at;
}

/// Under another name first: nobody sees half a file under its own.
void copy(const os::Fd& file, const os::Fd& parent, const std::string& name, const std::string& what) {
  const std::string temporary = ".copy-" + hex(random_bytes(8));
  os::Fd out(::openat(parent.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!out) throw errno_error(errno, fmt::format("cannot make {}", what));
  try {
    if (::ioctl(out.get(), FICLONE, file.get()) != 0) {
      std::uint64_t at = 0;
      detail::read_pieces(file, what, [&](std::string_view piece) {
        detail::write_at(out, at, piece, what);
        at += piece.size();
      });
    }
    if (::fchmod(out.get(), 0444) != 0 ||
        ::renameat2(parent.get(), temporary.c_str(), parent.get(), name.c_str(), RENAME_NOREPLACE) != 0)
      throw errno_error(errno, fmt::format("cannot make {}", what));
  } catch (const Error&) {
    ::unlinkat(parent.get(), temporary.c_str(), 0);
    throw;
  }
}

bool is_same(const os::Fd& parent, const std::string& name, const struct stat& file) {
  struct stat there{};
  return ::fstatat(parent.get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 && there.st_ino == file.st_ino &&
         there.st_dev == file.st_dev;
}

}  // namespace

void Pool::link_into(const Digest& digest, const std::string& root, std::string_view relative) const {
  const auto parts = parts_of(relative);
  const os::Fd parent = parent_in(root, parts);
  const auto& name = parts.back();
  const auto source = detail::name_of(digest);
  if (::linkat(place_->files.get(), source.c_str(), parent.get(), name.c_str(), 0) == 0) return;
  const int error = errno;
  const auto what = fmt::format("'{}' in '{}'", relative, root);
  if (error == EXDEV || error == EMLINK || error == EPERM) return copy(open(digest), parent, name, what);
  if (error == EEXIST) {
    if (is_same(parent, name, detail::look_at(open(digest), what))) return;
    throw Error(Code::conflict, fmt::format("cannot make {}", what)).because("another file has this name");
  }
  if (error == ENOENT) throw errno_error(error, fmt::format("cannot link '{}'", path_of(digest)));
  throw errno_error(error, fmt::format("cannot make {}", what));
}

}  // namespace underway::pool
