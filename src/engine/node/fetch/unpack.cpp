#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "base/text.hpp"
#include "node/fetch/fetch.hpp"
#include "node/fetch/placed.hpp"

namespace underway::node::fetch {

namespace {

using Reader = std::unique_ptr<archive, decltype(&archive_read_free)>;
using Writer = std::unique_ptr<archive, decltype(&archive_write_free)>;

/// As with directories that are copied.
constexpr std::size_t kDeepest = 64;

Error refused(const char* path, std::string why) {
  return Error(Code::denied, fmt::format("the archive holds '{}'", path == nullptr ? "" : path))
      .because(std::move(why));
}

Reader open_reader(const os::Fd& file, const std::string& kind) {
  Reader reader(archive_read_new(), &archive_read_free);
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_filter_bzip2(reader.get());
  archive_read_support_filter_xz(reader.get());
  archive_read_support_filter_zstd(reader.get());
  if (kind == "zip")
    archive_read_support_format_zip(reader.get());
  else if (kind.starts_with("tar"))
    archive_read_support_format_tar(reader.get());
  else
    archive_read_support_format_raw(reader.get());
  ::lseek(file.get(), 0, SEEK_SET);
  if (archive_read_open_fd(reader.get(), file.get(), 1U << 16) != ARCHIVE_OK)
    throw Error(Code::invalid, "cannot read the archive").because(archive_error_string(reader.get()));
  return reader;
}

/// Paths and links that stay below the directory; nothing but files, directories and links.
void check_entry(archive_entry* entry) {
  const char* path = archive_entry_pathname(entry);
  if (path == nullptr || *path == '\0') throw refused(path, "a nameless entry");
  if (*path == '/') throw refused(path, "an absolute path");
  const auto parts = split(path, '/');
  if (parts.size() > kDeepest) throw refused(path, fmt::format("nested deeper than {}", kDeepest));
  for (const std::string& part : parts)
    if (part == "..") throw refused(path, "a path with '..'");
  if (const char* target = archive_entry_hardlink(entry)) {
    if (*target == '/' || !normalise(target))
      throw refused(path, fmt::format("a link to '{}', which lies outside", target));
    return;
  }
  const auto type = archive_entry_filetype(entry);
  if (type == AE_IFLNK) {
    const char* target = archive_entry_symlink(entry);
    const std::string_view parent = std::string_view(path).substr(0, std::string_view(path).rfind('/') + 1);
    const bool whole = std::string_view(path).rfind('/') == std::string_view::npos;
    if (target == nullptr || *target == '/' || !normalise(fmt::format("{}/{}", whole ? "" : parent, target)))
      throw refused(path, fmt::format("a link to '{}', which lies outside", target == nullptr ? "" : target));
    return;
  }
  if (type != AE_IFREG && type != AE_IFDIR) throw refused(path, "neither a file nor a directory nor a link");
}

Error too_large(std::int64_t limit) {
  return Error(Code::too_large, "the archive unpacks to more than is allowed")
      .because(fmt::format("more than {}", human_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(limit, 0)))));
}

/// What may still be unpacked. Holes count as if they were written: whoever reads or copies the file pays for them.
class Room {
 public:
  explicit Room(std::int64_t limit) : limit_(limit), left_(limit) {}
  /// A file reaches to `end`, of which `counted` are counted already. Throws too_large.
  void take(std::int64_t end, std::int64_t& counted) {
    if (end <= counted) return;
    if (end - counted > left_) throw too_large(limit_);
    left_ -= end - counted;
    counted = end;
  }
  /// A file is about to be replaced: whoever starts again unpacks once more what is there.
  void give(std::int64_t bytes) { left_ += bytes; }

 private:
  std::int64_t limit_, left_;
};

void copy_data(archive* from, archive* to, Room& room, std::int64_t declared) {
  const void* block = nullptr;
  std::size_t size = 0;
  la_int64_t offset = 0;
  std::int64_t counted = 0;
  room.take(declared, counted);  // a file that is one hole has no data
  while (true) {
    const int result = archive_read_data_block(from, &block, &size, &offset);
    if (result == ARCHIVE_EOF) return;
    if (result != ARCHIVE_OK) throw Error(Code::invalid, "the archive is damaged").because(archive_error_string(from));
    if (offset < 0 || offset > std::numeric_limits<std::int64_t>::max() - static_cast<std::int64_t>(size))
      throw Error(Code::invalid, "the archive is damaged").because("a file in it has no end");
    room.take(offset + static_cast<std::int64_t>(size), counted);
    if (archive_write_data_block(to, block, size, offset) != ARCHIVE_OK)
      throw Error(Code::exhausted, "cannot unpack").because(archive_error_string(to));
  }
}

}  // namespace

void unpack(const os::Fd& file, const std::string& kind, const os::Fd& directory, const std::string& name,
            const FetchRequest& request) {
  if (::fchdir(directory.get()) != 0) throw errno_error(errno, "cannot enter the destination");
  const Reader reader = open_reader(file, kind);
  const Writer writer(archive_write_disk_new(), &archive_write_free);
  const int owner = request.keep_owner && ::geteuid() == 0 ? ARCHIVE_EXTRACT_OWNER : 0;
  archive_write_disk_set_options(writer.get(), owner | ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME |
                                                   ARCHIVE_EXTRACT_UNLINK | ARCHIVE_EXTRACT_SECURE_NODOTDOT |
                                                   ARCHIVE_EXTRACT_SECURE_SYMLINKS |
                                                   ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS);
  const bool raw = kind != "zip" && !kind.starts_with("tar");
  Room room(request.max_unpacked_bytes);
  const Beneath here(".");
  Placed placed(here);
  std::int64_t files = 0;
  while (true) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(reader.get(), &entry);
    if (result == ARCHIVE_EOF) break;
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN)
      throw Error(Code::invalid, "the archive is damaged").because(archive_error_string(reader.get()));
    if (++files > request.max_files)
      throw Error(Code::too_large, "the archive holds too many files")
          .because(fmt::format("more than {}", request.max_files));
    if (raw) {
      archive_entry_set_pathname(entry, name.c_str());
      archive_entry_set_perm(entry, 0644);
    }
    check_entry(entry);
    archive_entry_set_perm(entry, archive_entry_perm(entry) & 0777);
    if (request.chown) {
      archive_entry_set_uid(entry, request.uid);
      archive_entry_set_gid(entry, request.gid);
    }
    room.give(disk_bytes_of(AT_FDCWD, archive_entry_pathname(entry)));
    placed.add(archive_entry_pathname(entry));
    if (archive_write_header(writer.get(), entry) < ARCHIVE_WARN)
      throw Error(Code::denied, fmt::format("cannot unpack '{}'", archive_entry_pathname(entry)))
          .because(archive_error_string(writer.get()));
    const bool linked = archive_entry_hardlink(entry) != nullptr;
    if (!linked && archive_entry_filetype(entry) == AE_IFREG)
      copy_data(reader.get(), writer.get(), room,
                archive_entry_size_is_set(entry) != 0 ? archive_entry_size(entry) : 0);
    if (archive_write_finish_entry(writer.get()) < ARCHIVE_WARN)
      throw Error(Code::exhausted, fmt::format("cannot unpack '{}'", archive_entry_pathname(entry)))
          .because(archive_error_string(writer.get()));
    if (request.chown && ::geteuid() == 0)
      (void)::lchown(archive_entry_pathname(entry), static_cast<uid_t>(request.uid), static_cast<gid_t>(request.gid));
  }
  placed.keep();
}

}  // namespace underway::node::fetch
