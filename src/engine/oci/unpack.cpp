#include "oci/unpack.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::oci {
namespace {

using Reader = std::unique_ptr<archive, decltype(&archive_read_free)>;

constexpr std::string_view kWhiteout = ".wh.";
/// Of aufs, which these names come from: nobody else wants them, but for the one below.
constexpr std::string_view kReserved = ".wh..wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";
constexpr const char* kOpaqueAttribute = "trusted.overlay.opaque";

class Unpacking {
 public:
  Unpacking(std::string name, const Root& root, const UnpackOptions& options, Allowance& allowance)
      : name_(std::move(name)), root_(root), options_(options), allowance_(allowance) {}

  void read(const os::Fd& file) {
    const Reader reader = make_reader();
    archive_read_support_filter_gzip(reader.get());
    archive_read_support_filter_bzip2(reader.get());
    archive_read_support_filter_xz(reader.get());
    archive_read_support_filter_zstd(reader.get());
    constexpr std::size_t kBlock = 1U << 18;
    if (archive_read_open_fd(reader.get(), file.get(), kBlock) != ARCHIVE_OK) throw damaged(reader.get());
    take_all(reader.get());
  }

  void read(const std::function<std::string_view()>& next) {
    struct Pieces {
      const std::function<std::string_view()>& next;
      std::exception_ptr failure;
    } pieces{next, {}};
    const Reader reader = make_reader();
    const auto give = [](archive*, void* context, const void** bytes) -> la_ssize_t {
      auto& from = *static_cast<Pieces*>(context);
      try {
        const std::string_view piece = from.next();
        *bytes = piece.data();
        return static_cast<la_ssize_t>(piece.size());
      } catch (...) {
        from.failure = std::current_exception();
        return ARCHIVE_FATAL;
      }
    };
    try {
      if (archive_read_open(reader.get(), &pieces, nullptr, give, nullptr) != ARCHIVE_OK) throw damaged(reader.get());
      take_all(reader.get());
    } catch (const Error&) {
      if (pieces.failure) std::rethrow_exception(pieces.failure);
      throw;
    }
  }

 private:
  static Reader make_reader() {
    Reader reader(archive_read_new(), &archive_read_free);
    archive_read_support_format_tar(reader.get());
    archive_read_support_format_empty(reader.get());
    return reader;
  }

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

  void take_all(archive* reader) {
    archive_entry* entry = nullptr;
    while (true) {
      const int result = archive_read_next_header(reader, &entry);
      if (result == ARCHIVE_EOF) break;
      if (result != ARCHIVE_OK && result != ARCHIVE_WARN) throw damaged(reader);
      if (--allowance_.entries < 0) throw too_large("more entries than an image may have");
      take(reader, entry);
    }
    // Last, for whatever is put into a directory changes its date.
    for (const auto& [path, times] : directory_times_)
      if (const auto at = root_.find_place(path))
        static_cast<void>(::utimensat(at->directory(), at->leaf().c_str(), times.data(), AT_SYMLINK_NOFOLLOW));
    if (options_.implied != nullptr) tell_implied();
  }

  /// The name without what is stripped; empty when nothing is left.
  std::string clean_name(std::string_view entry, std::int64_t strip) const {
    if (entry.find('\0') != std::string_view::npos) throw refused(entry, "a name with a zero byte");
    // umoci and kaniko name the root itself so.
    const bool root = !entry.empty() && entry.find_first_not_of('/') == std::string_view::npos;
    if (entry.starts_with('/') && !root) throw refused(entry, "an absolute path");
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

  /// Where an entry lies. The directory of the entry before is mostly that of the next one too.
  Root::Place place(const std::string& path) {
    const std::string_view directory = directory_of(path);
    if (!parent_ || directory != parent_path_) {
      if (options_.implied != nullptr && !directory.empty()) parents_.emplace(directory);
      parent_ = root_.place(path).shared_directory();
      parent_path_ = directory;
    }
    return {parent_, path.substr(directory.empty() ? 0 : directory.size() + 1)};
  }

  /// Makes room for an entry. What was there may have been on the way to the directory that we remember.
  void clear(const Root::Place& at) {
    os::remove_tree(at.path());
    parent_.reset();
  }

  void take(archive* reader, archive_entry* entry) {
    const std::string entry_name = text(archive_entry_pathname_utf8(entry), archive_entry_pathname(entry));
    if (entry_name.empty()) throw refused("", "an entry without a name");
    const std::string path = clean_name(entry_name, options_.strip);
    if (path.empty()) {
      if (options_.strip == 0 && archive_entry_filetype(entry) == AE_IFDIR) give(root_.place("."), ".", entry);
      return;
    }
    const std::string directory(directory_of(path));
    const std::string leaf = path.substr(directory.empty() ? 0 : directory.size() + 1);
    if (options_.whiteouts != Whiteouts::none && leaf.starts_with(kWhiteout)) {
      if (leaf.starts_with(kReserved) && leaf != kOpaque) return;
      return options_.whiteouts == Whiteouts::applied ? apply_whiteout(directory, leaf)
                                                      : make_whiteout(path, directory, leaf);
    }
    if (options_.whiteouts == Whiteouts::applied) added_.insert(path);
    const std::string hardlink = text(archive_entry_hardlink_utf8(entry), archive_entry_hardlink(entry));
    if (!hardlink.empty()) return take_hardlink(path, clean_name(hardlink, options_.strip), hardlink);
    switch (archive_entry_filetype(entry)) {
      case AE_IFDIR:
        return take_directory(path, entry);
      case AE_IFREG:
        return take_file(path, reader, entry);
      case AE_IFLNK:
        return take_link(path, entry_name, entry);
      case AE_IFCHR:
      case AE_IFBLK:
        if (options_.container || path.starts_with("dev/")) return;
        throw refused(entry_name, "a device node, which an image must not have");
      case AE_IFIFO:
        if (options_.container) return take_fifo(path, entry);
        [[fallthrough]];
      default:
        throw refused(entry_name, "neither a file nor a directory nor a link");
    }
  }

  std::string hidden_name(const std::string& leaf) const {
    std::string hidden = leaf.substr(kWhiteout.size());
    if (hidden.empty() || hidden == "." || hidden == "..") throw refused(leaf, "a whiteout of nothing");
    return hidden;
  }

  void apply_whiteout(const std::string& directory, const std::string& leaf) {
    parent_.reset();
    if (leaf != kOpaque) return root_.remove(directory + "/" + hidden_name(leaf));
    // It hides what lower layers have there, and nothing of this one.
    for (const auto& child : root_.list(directory)) {
      const std::string path = (directory.empty() ? "" : directory + "/") + child.name;
      const auto next = added_.lower_bound(path);
      const bool ours = next != added_.end() && (*next == path || next->starts_with(path + "/"));
      if (!ours) root_.remove(path);
    }
  }

  /// It hides what lower layers have there, and nothing of this one, whichever of the two comes first.
  void make_whiteout(const std::string& path, const std::string& directory, const std::string& leaf) {
    if (leaf == kOpaque) return make_opaque(place(path).directory_path(), directory);
    const std::string hidden = hidden_name(leaf);
    const Root::Place at = place((directory.empty() ? "" : directory + "/") + hidden);
    struct stat st{};
    if (::fstatat(at.directory(), at.leaf().c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) {
      if (S_ISDIR(st.st_mode)) make_opaque(at.path(), hidden);
      return;
    }
    if (::mknodat(at.directory(), at.leaf().c_str(), S_IFCHR, makedev(0, 0)) != 0)
      throw errno_error(errno, fmt::format("cannot hide '{}' of the layers below", hidden));
  }

  static void make_opaque(const std::string& path, const std::string& name) {
    if (::setxattr(path.c_str(), kOpaqueAttribute, "y", 1, 0) != 0)
      throw errno_error(errno, fmt::format("cannot hide what the layers below have in '{}'", name));
  }

  /// Whether `at` is a whiteout that we made.
  bool is_whiteout(const struct stat& st) const {
    return options_.whiteouts == Whiteouts::overlay && S_ISCHR(st.st_mode) && st.st_rdev == makedev(0, 0);
  }

  void take_hardlink(const std::string& path, const std::string& target, const std::string& written) {
    const auto from = root_.find_place(target);
    struct stat st{};
    if (!from || ::fstatat(from->directory(), from->leaf().c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0)
      throw refused(path, fmt::format("a link to '{}', which is not in the image", written));
    const bool linkable = S_ISREG(st.st_mode) || (options_.container && (S_ISLNK(st.st_mode) || S_ISFIFO(st.st_mode)));
    if (!linkable) throw refused(path, fmt::format("a hard link to '{}', which is no file", written));
    if (path == target) return;
    const Root::Place at = place(path);
    const auto link = [&] {
      return ::linkat(from->directory(), from->leaf().c_str(), at.directory(), at.leaf().c_str(), 0) == 0;
    };
    bool made = link();
    if (!made && errno == EEXIST) {
      clear(at);
      made = link();
    }
    if (!made) throw errno_error(errno, fmt::format("cannot link '{}' in the image", path));
  }

  void take_directory(const std::string& path, archive_entry* entry) {
    const Root::Place at = place(path);
    if (options_.implied != nullptr) directories_.insert(path);
    if (::mkdirat(at.directory(), at.leaf().c_str(), 0700) != 0) {
      if (errno != EEXIST) throw errno_error(errno, fmt::format("cannot make the directory '{}' of the image", path));
      struct stat st{};
      if (::fstatat(at.directory(), at.leaf().c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode)) {
        clear(at);
        if (::mkdirat(at.directory(), at.leaf().c_str(), 0700) != 0)
          throw errno_error(errno, fmt::format("cannot make the directory '{}' of the image", path));
        if (is_whiteout(st)) make_opaque(at.path(), path);
      }
    }
    give(at, path, entry);
  }

  void charge(std::int64_t bytes) {
    allowance_.bytes -= bytes;
    if (allowance_.bytes < 0) throw too_large("its files have more bytes than an image may have");
  }

  void take_file(const std::string& path, archive* reader, archive_entry* entry) {
    const std::int64_t size = archive_entry_size_is_set(entry) != 0 ? archive_entry_size(entry) : 0;
    if (size < 0) throw refused(path, "a file of a negative size");
    charge(size);
    const Root::Place at = place(path);
    const auto make = [&] {
      return os::Fd(
          ::openat(at.directory(), at.leaf().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    };
    os::Fd file = make();
    if (!file && errno == EEXIST) {
      clear(at);
      file = make();
    }
    if (!file) throw errno_error(errno, fmt::format("cannot make '{}' in the image", path));
    copy(path, reader, file, size);
    give(at, path, entry);
  }

  void copy(const std::string& path, archive* reader, const os::Fd& file, std::int64_t size) {
    const void* block = nullptr;
    std::size_t length = 0;
    la_int64_t offset = 0;
    std::int64_t end = 0;
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
      end = offset + static_cast<std::int64_t>(length);
    }
    // Of a file with holes, the last one.
    if (end != size && ::ftruncate(file.get(), size) != 0)
      throw errno_error(errno, fmt::format("cannot write '{}'", path));
  }

  void take_link(const std::string& path, const std::string& entry_name, archive_entry* entry) {
    const std::string target = text(archive_entry_symlink_utf8(entry), archive_entry_symlink(entry));
    if (target.empty()) throw refused(entry_name, "a link to nothing");
    const Root::Place at = place(path);
    const auto link = [&] { return ::symlinkat(target.c_str(), at.directory(), at.leaf().c_str()) == 0; };
    bool made = link();
    if (!made && errno == EEXIST) {
      clear(at);
      made = link();
    }
    if (!made) throw errno_error(errno, fmt::format("cannot make the link '{}' in the image", path));
    give(at, path, entry);
  }

  void take_fifo(const std::string& path, archive_entry* entry) {
    const Root::Place at = place(path);
    clear(at);
    if (::mkfifoat(at.directory(), at.leaf().c_str(), 0600) != 0)
      throw errno_error(errno, fmt::format("cannot make '{}' in the image", path));
    give(at, path, entry);
  }

  /// Owner, mode, attributes and dates of the entry.
  void give(const Root::Place& at, const std::string& path, archive_entry* entry) {
    const char* leaf = at.leaf().c_str();
    const auto fail = [&] {
      return errno_error(errno, fmt::format("cannot set the owner or mode of '{}'", at.leaf()));
    };
    if (options_.owners && ::fchownat(at.directory(), leaf, static_cast<uid_t>(archive_entry_uid(entry)),
                                      static_cast<gid_t>(archive_entry_gid(entry)), AT_SYMLINK_NOFOLLOW) != 0)
      throw fail();
    if (archive_entry_filetype(entry) != AE_IFLNK) {
      // After the owner, whose change clears set-user-id and capabilities.
      if (::fchmodat(at.directory(), leaf, archive_entry_perm(entry), 0) != 0) throw fail();
      if (options_.owners) give_attributes(at, entry);
    }
    if (!options_.times || archive_entry_mtime_is_set(entry) == 0) return;
    const timespec date{archive_entry_mtime(entry), archive_entry_mtime_nsec(entry)};
    const std::array<timespec, 2> times{date, date};
    if (archive_entry_filetype(entry) == AE_IFDIR)
      directory_times_.emplace_back(path, times);
    else if (::utimensat(at.directory(), leaf, times.data(), AT_SYMLINK_NOFOLLOW) != 0)
      throw errno_error(errno, fmt::format("cannot set the date of '{}'", at.leaf()));
  }

  static void give_attributes(const Root::Place& at, archive_entry* entry) {
    if (archive_entry_xattr_reset(entry) == 0) return;
    const char* key = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    while (archive_entry_xattr_next(entry, &key, &value, &size) == ARCHIVE_OK) {
      const std::string_view attribute(key == nullptr ? "" : key);
      // trusted.* would let an archive speak to overlayfs, and so would user.overlay.*.
      if (attribute.starts_with("user.overlay.")) continue;
      if (attribute != "security.capability" && !attribute.starts_with("user.")) continue;
      if (::lsetxattr(at.path().c_str(), key, value, size, 0) != 0)
        throw errno_error(errno, fmt::format("cannot set '{}' of '{}'", attribute, at.leaf()));
    }
  }

  void tell_implied() {
    std::set<std::string> all;
    for (std::string_view path : parents_)
      for (; !path.empty() && all.emplace(path).second; path = directory_of(path)) continue;
    for (const auto& path : all) {
      if (directories_.contains(path)) continue;
      const auto at = root_.find_place(path);
      struct stat st{};
      // A link is an entry of its own.
      if (at && ::fstatat(at->directory(), at->leaf().c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
        options_.implied->push_back(path);
    }
  }

  std::string name_;
  const Root& root_;
  const UnpackOptions& options_;
  Allowance& allowance_;
  std::shared_ptr<const os::Fd> parent_;  ///< of the entry before
  std::string parent_path_;
  std::set<std::string> added_;
  std::set<std::string, std::less<>> parents_, directories_;
  std::vector<std::pair<std::string, std::array<timespec, 2>>> directory_times_;
};

}  // namespace

void unpack(const os::Fd& file, const std::string& name, const Root& root, const UnpackOptions& options,
            Allowance& allowance) {
  Unpacking(name, root, options, allowance).read(file);
}

void unpack(const std::function<std::string_view()>& next, const std::string& name, const Root& root,
            const UnpackOptions& options, Allowance& allowance) {
  Unpacking(name, root, options, allowance).read(next);
}

}  // namespace underway::oci
