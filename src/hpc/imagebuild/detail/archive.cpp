#include "imagebuild/detail/archive.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::imagebuild {
namespace {

using Reader = std::unique_ptr<archive, decltype(&archive_read_free)>;

constexpr std::string_view kWhiteout = ".wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";

class Unpacking {
 public:
  Unpacking(std::string name, const Root& root, const UnpackOptions& options, Allowance& allowance)
      : name_(std::move(name)), root_(root), options_(options), allowance_(allowance) {}

  void read(const os::Fd& file) {
    const Reader reader(archive_read_new(), &archive_read_free);
    archive_read_support_filter_gzip(reader.get());
    archive_read_support_filter_bzip2(reader.get());
    archive_read_support_filter_xz(reader.get());
    archive_read_support_filter_zstd(reader.get());
    archive_read_support_format_tar(reader.get());
    archive_read_support_format_empty(reader.get());
    constexpr std::size_t kBlock = 1U << 18;
    if (archive_read_open_fd(reader.get(), file.get(), kBlock) != ARCHIVE_OK) throw damaged(reader.get());
    archive_entry* entry = nullptr;
    while (true) {
      const int result = archive_read_next_header(reader.get(), &entry);
      if (result == ARCHIVE_EOF) return;
      if (result != ARCHIVE_OK && result != ARCHIVE_WARN) throw damaged(reader.get());
      if (--allowance_.entries < 0) throw too_large("more entries than an image may have");
      take(reader.get(), entry);
    }
  }

 private:
  Error refused(std::string_view entry, std::string why) const {
    return Error(Code::denied, fmt::format("'{}' holds '{}'", name_, entry)).because(std::move(why));
  }
  Error damaged(archive* reader) const {
    const char* why = archive_error_string(reader);
    return Error(Code::invalid, fmt::format("cannot read the archive '{}'", name_))
        .because(why == nullptr ? "it is damaged" : why);
  }
  Error too_large(std::string why) const {
    return Error(Code::too_large, fmt::format("'{}' unpacks to more than is allowed", name_)).because(std::move(why));
  }

  /// The name without what is stripped; empty when nothing is left.
  std::string clean_name(std::string_view entry, std::int64_t strip) const {
    if (entry.find('\0') != std::string_view::npos) throw refused(entry, "a name with a zero byte");
    if (entry.starts_with('/')) throw refused(entry, "an absolute path");
    std::string out;
    for (const auto& part : split(entry, '/')) {
      if (part == "..") throw refused(entry, "a path with '..', which could leave the image");
      if (part.empty() || part == ".") continue;
      if (strip-- > 0) continue;
      if (!out.empty()) out += '/';
      out += part;
    }
    return out;
  }

  static std::string text(const char* utf8, const char* raw) {
    return utf8 != nullptr ? utf8 : raw != nullptr ? raw : "";
  }

  void take(archive* reader, archive_entry* entry) {
    const std::string entry_name = text(archive_entry_pathname_utf8(entry), archive_entry_pathname(entry));
    if (entry_name.empty()) throw refused("", "an entry without a name");
    const std::string path = clean_name(entry_name, options_.strip);
    if (path.empty()) {
      if (options_.strip == 0 && archive_entry_filetype(entry) == AE_IFDIR) give(root_.place("."), entry);
      return;
    }
    const auto slash = path.rfind('/');
    const std::string leaf = slash == std::string::npos ? path : path.substr(slash + 1);
    if (options_.layer && leaf.starts_with(kWhiteout))
      return white_out(slash == std::string::npos ? "" : path.substr(0, slash), leaf);
    added_.insert(path);
    const std::string hardlink = text(archive_entry_hardlink_utf8(entry), archive_entry_hardlink(entry));
    if (!hardlink.empty()) return take_hardlink(path, clean_name(hardlink, options_.strip), hardlink);
    switch (archive_entry_filetype(entry)) {
      case AE_IFDIR:
        return take_directory(path, entry);
      case AE_IFREG:
        return take_file(path, reader, entry);
      case AE_IFLNK: {
        const std::string target = text(archive_entry_symlink_utf8(entry), archive_entry_symlink(entry));
        if (target.empty()) throw refused(entry_name, "a link to nothing");
        root_.link(path, target);
        return give(root_.place(path), entry);
      }
      case AE_IFCHR:
      case AE_IFBLK:
        if (path.starts_with("dev/")) return;
        throw refused(entry_name, "a device node, which an image must not have");
      default:
        throw refused(entry_name, "neither a file nor a directory nor a link");
    }
  }

  void white_out(const std::string& directory, const std::string& leaf) {
    if (leaf != kOpaque) {
      const std::string hidden = leaf.substr(kWhiteout.size());
      if (hidden.empty() || hidden == "." || hidden == "..") throw refused(leaf, "a whiteout of nothing");
      return root_.remove(directory + "/" + hidden);
    }
    // It hides what lower layers have there, and nothing of this one.
    for (const auto& child : root_.list(directory)) {
      const std::string path = (directory.empty() ? "" : directory + "/") + child.name;
      const auto next = added_.lower_bound(path);
      const bool ours = next != added_.end() && (*next == path || next->starts_with(path + "/"));
      if (!ours) root_.remove(path);
    }
  }

  void take_hardlink(const std::string& path, const std::string& target, const std::string& written) {
    const auto from = root_.find_place(target);
    struct stat st{};
    if (!from || ::fstatat(from->directory(), from->leaf().c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0)
      throw refused(path, fmt::format("a link to '{}', which is not in the image", written));
    if (!S_ISREG(st.st_mode)) throw refused(path, fmt::format("a hard link to '{}', which is no file", written));
    const auto at = root_.place(path);
    if (path == target) return;
    os::remove_tree(at.path());
    if (::linkat(from->directory(), from->leaf().c_str(), at.directory(), at.leaf().c_str(), 0) != 0)
      throw errno_error(errno, fmt::format("cannot link '{}' in the image", path));
  }

  void take_directory(const std::string& path, archive_entry* entry) {
    const auto at = root_.place(path);
    struct stat st{};
    if (::fstatat(at.directory(), at.leaf().c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode))
      os::remove_tree(at.path());
    if (::mkdirat(at.directory(), at.leaf().c_str(), 0700) != 0 && errno != EEXIST)
      throw errno_error(errno, fmt::format("cannot make '{}' in the image", path));
    give(at, entry);
  }

  void charge(std::int64_t bytes) {
    allowance_.bytes -= bytes;
    if (allowance_.bytes < 0) throw too_large("its files have more bytes than an image may have");
  }

  void take_file(const std::string& path, archive* reader, archive_entry* entry) {
    const std::int64_t size = archive_entry_size_is_set(entry) != 0 ? archive_entry_size(entry) : 0;
    charge(size);
    const auto at = root_.place(path);
    os::remove_tree(at.path());
    {
      const os::Fd file(
          ::openat(at.directory(), at.leaf().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
      if (!file) throw errno_error(errno, fmt::format("cannot make '{}' in the image", path));
      copy(path, reader, file, size);
    }
    give(at, entry);
  }

  void copy(const std::string& path, archive* reader, const os::Fd& file, std::int64_t size) {
    const void* block = nullptr;
    std::size_t length = 0;
    la_int64_t offset = 0;
    while (true) {
      const int result = archive_read_data_block(reader, &block, &length, &offset);
      if (result == ARCHIVE_EOF) break;
      if (result != ARCHIVE_OK && result != ARCHIVE_WARN) throw damaged(reader);
      if (offset < 0 || offset + static_cast<std::int64_t>(length) > size)
        throw refused(path, "a file with more bytes than it says");
      const auto* bytes = static_cast<const char*>(block);
      for (std::size_t done = 0; done < length;) {
        const ssize_t wrote = ::pwrite(file.get(), bytes + done, length - done, offset + static_cast<off_t>(done));
        if (wrote < 0) throw errno_error(errno, fmt::format("cannot write '{}' of the image", path));
        done += static_cast<std::size_t>(wrote);
      }
    }
    if (::ftruncate(file.get(), size) != 0) throw errno_error(errno, fmt::format("cannot write '{}'", path));
  }

  /// Owner, mode and attributes of the entry.
  void give(const Root::Place& at, archive_entry* entry) const {
    const char* leaf = at.leaf().c_str();
    const auto fail = [&] {
      return errno_error(errno, fmt::format("cannot set the owner or mode of '{}'", at.leaf()));
    };
    if (options_.owners && ::fchownat(at.directory(), leaf, static_cast<uid_t>(archive_entry_uid(entry)),
                                      static_cast<gid_t>(archive_entry_gid(entry)), AT_SYMLINK_NOFOLLOW) != 0)
      throw fail();
    if (archive_entry_filetype(entry) == AE_IFLNK) return;
    if (::fchmodat(at.directory(), leaf, archive_entry_perm(entry), 0) != 0) throw fail();
    if (options_.owners) give_attributes(at, entry);
  }

  static void give_attributes(const Root::Place& at, archive_entry* entry) {
    archive_entry_xattr_reset(entry);
    const char* key = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    while (archive_entry_xattr_next(entry, &key, &value, &size) == ARCHIVE_OK) {
      const std::string_view attribute(key == nullptr ? "" : key);
      if (attribute != "security.capability" && !attribute.starts_with("user.")) continue;
      if (::lsetxattr(at.path().c_str(), key, value, size, 0) != 0)
        throw errno_error(errno, fmt::format("cannot set '{}' of '{}'", attribute, at.leaf()));
    }
  }

  std::string name_;
  const Root& root_;
  const UnpackOptions& options_;
  Allowance& allowance_;
  std::set<std::string> added_;
};

}  // namespace

void unpack(const os::Fd& file, const std::string& name, const Root& root, const UnpackOptions& options,
            Allowance& allowance) {
  Unpacking(name, root, options, allowance).read(file);
}

}  // namespace underway::imagebuild
