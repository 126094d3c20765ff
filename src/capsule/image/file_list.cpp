#include "image/file_list.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "image/payload.hpp"
#include "os/file.hpp"

namespace underway::image {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

const Enumeration& description(Tag<FileKind>) {
  static const Enumeration e =
      describe::enumeration<FileKind>("file kind", {{FileKind::regular, "file"}, {FileKind::symlink, "link"}});
  return e;
}

const Structure& description(Tag<FileEntry>) {
  static const Structure s = Builder<FileEntry>("file", "A file of an image.")
                                 .wire<&FileEntry::path>("Path", "Its path.")
                                 .wire<&FileEntry::kind>("Type", "What it is.")
                                 .wire<&FileEntry::mode>("Mode", "Permission bits.")
                                 .wire<&FileEntry::uid>("Uid", "Its owner.")
                                 .wire<&FileEntry::gid>("Gid", "Its group.")
                                 .wire<&FileEntry::size>("Size", "Bytes of a regular file.")
                                 .wire<&FileEntry::digest>("Digest", "SHA-256 of a regular file.")
                                 .wire<&FileEntry::target>("Target", "Where a symbolic link points to.")
                                 .wire<&FileEntry::device>("Device", "Number of a device.")
                                 .wire<&FileEntry::attributes>("Attributes", "Extended attributes.")
                                 .done();
  return s;
}

namespace {

FileKind kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return FileKind::directory;
    case S_IFLNK:
      return FileKind::symlink;
    case S_IFCHR:
      return FileKind::character;
    case S_IFBLK:
      return FileKind::block;
    case S_IFIFO:
      return FileKind::fifo;
    case S_IFSOCK:
      return FileKind::socket;
    default:
      return FileKind::regular;
  }
}

class Walk {
 public:
  explicit Walk(const std::string& root) : root_(root) {}

  std::vector<FileEntry> files() {
    visit(root_, "/");
    std::sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    return std::move(entries_);
  }

 private:
  void visit(const std::string& real, const std::string& path) {
    if (!is_utf8(path))
      throw Error(Code::invalid, fmt::format("cannot list '{}'", path)).because("its name is not UTF-8");
    struct stat st{};
    if (::lstat(real.c_str(), &st) != 0) throw errno_error(errno, fmt::format("cannot examine '{}'", real));
    FileEntry entry;
    entry.path = path;
    entry.kind = kind_of(st.st_mode);
    entry.mode = st.st_mode & 07777;
    entry.uid = st.st_uid;
    entry.gid = st.st_gid;
    if (entry.kind == FileKind::regular) {
      entry.size = st.st_size;
      entry.digest = file_digest(os::open_file(real, O_RDONLY | O_NOFOLLOW), real);
    } else if (entry.kind == FileKind::symlink) {
      entry.mode = 0777;
      entry.target = target_of(real);
    } else if (entry.kind == FileKind::character || entry.kind == FileKind::block) {
      entry.device = static_cast<std::int64_t>(major(st.st_rdev)) << 20 | minor(st.st_rdev);
    }
    entry.attributes = attributes_of(real);
    const bool descend = entry.kind == FileKind::directory;
    entries_.push_back(std::move(entry));
    if (!descend) return;
    for (const auto& child : os::list_directory(real))
      visit(real + "/" + child.name, path == "/" ? "/" + child.name : path + "/" + child.name);
  }

  static std::string target_of(const std::string& link) {
    std::string target(4096, '\0');
    const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
    if (size < 0) throw errno_error(errno, fmt::format("cannot read the link '{}'", link));
    target.resize(static_cast<std::size_t>(size));
    if (!is_utf8(target))
      throw Error(Code::invalid, fmt::format("cannot list '{}'", link)).because("what it points to is not UTF-8");
    return target;
  }

  /// Those that an image carries; what the host's security module adds is not the image's.
  static std::map<std::string, std::string> attributes_of(const std::string& path) {
    std::map<std::string, std::string> out;
    std::string names(65536, '\0');
    const ssize_t size = ::llistxattr(path.c_str(), names.data(), names.size());
    if (size <= 0) return out;
    for (const auto& name : split(std::string_view(names).substr(0, static_cast<std::size_t>(size) - 1), '\0')) {
      if (!name.starts_with("user.") && name != "security.capability" && !name.starts_with("system.posix_acl_"))
        continue;
      std::string value(65536, '\0');
      const ssize_t length = ::lgetxattr(path.c_str(), name.c_str(), value.data(), value.size());
      if (length < 0) throw errno_error(errno, fmt::format("cannot read the attribute {} of '{}'", name, path));
      out[name] = base64_encode(std::string_view(value).substr(0, static_cast<std::size_t>(length)));
    }
    return out;
  }

  std::string root_;
  std::vector<FileEntry> entries_;
};

}  // namespace

std::vector<FileEntry> list_files(const std::string& directory) { return Walk(directory).files(); }

std::string write_file_list(const std::vector<FileEntry>& files) {
  return json::encode(files, json::Encoding::compact);
}

std::vector<FileEntry> parse_file_list(std::string_view text) {
  return json::decode_text<std::vector<FileEntry>>(text, "files");
}

}  // namespace underway::image
