#include "archive/detail/tar.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <memory>

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::archive::detail {
namespace {

using Reader = std::unique_ptr<::archive, decltype(&archive_read_free)>;
constexpr std::size_t kPiece = 1U << 18;

Error damaged(::archive* reader, std::string_view package) {
  const char* why = archive_error_string(reader);
  return Error(Code::invalid, fmt::format("cannot read the package '{}'", package))
      .because(why == nullptr ? "it is damaged" : why);
}

/// Gives libarchive the bytes of a range.
class Source {
 public:
  Source(const os::Fd& file, Range range, std::string_view package)
      : file_(file), at_(range.begin), end_(range.begin + range.size), package_(package), piece_(kPiece, '\0') {}

  void open(::archive* reader) {
    if (archive_read_open(reader, this, nullptr, &Source::next, nullptr) != ARCHIVE_OK) fail(reader);
  }
  [[noreturn]] void fail(::archive* reader) const {
    if (failure_) std::rethrow_exception(failure_);
    throw damaged(reader, package_);
  }

 private:
  static la_ssize_t next(::archive* /*reader*/, void* context, const void** bytes) {
    auto& self = *static_cast<Source*>(context);
    *bytes = self.piece_.data();
    while (true) {
      const auto wanted = std::min<std::uint64_t>(self.piece_.size(), self.end_ - self.at_);
      const ssize_t got = ::pread(self.file_.get(), self.piece_.data(), wanted, static_cast<off_t>(self.at_));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        self.failure_ = std::make_exception_ptr(errno_error(errno, fmt::format("cannot read '{}'", self.package_)));
        return ARCHIVE_FATAL;
      }
      self.at_ += static_cast<std::uint64_t>(got);
      return got;
    }
  }

  const os::Fd& file_;
  std::uint64_t at_, end_;
  std::string_view package_;
  std::string piece_;
  std::exception_ptr failure_;
};

/// That compression and no other: what two readers would unpack differently is no package.
void support(::archive* reader, std::string_view suffix) {
  if (suffix == ".gz") archive_read_support_filter_gzip(reader);
  if (suffix == ".xz") archive_read_support_filter_xz(reader);
  if (suffix == ".zst") archive_read_support_filter_zstd(reader);
  if (suffix == ".bz2") archive_read_support_filter_bzip2(reader);
  if (suffix == ".lzma") archive_read_support_filter_lzma(reader);
  archive_read_support_format_tar(reader);
}

std::string text(const char* utf8, const char* raw) { return utf8 != nullptr ? utf8 : raw != nullptr ? raw : ""; }

FileKind kind_of(archive_entry* entry, std::string_view path, std::string_view package) {
  if (archive_entry_hardlink(entry) != nullptr || archive_entry_hardlink_utf8(entry) != nullptr)
    return FileKind::hardlink;
  switch (archive_entry_filetype(entry)) {
    case AE_IFREG:
      return FileKind::regular;
    case AE_IFDIR:
      return FileKind::directory;
    case AE_IFLNK:
      return FileKind::symlink;
    default:
      throw Error(Code::denied, fmt::format("'{}' holds '{}'", package, path))
          .because("neither a file nor a directory nor a link");
  }
}

File file_of(archive_entry* entry, std::string_view package) {
  File out;
  out.path = absolute(text(archive_entry_pathname_utf8(entry), archive_entry_pathname(entry)), package);
  out.kind = kind_of(entry, out.path, package);
  out.mode = static_cast<std::uint32_t>(archive_entry_perm(entry));
  out.owner = text(archive_entry_uname_utf8(entry), archive_entry_uname(entry));
  if (out.owner.empty()) out.owner = fmt::format("{}", archive_entry_uid(entry));
  out.group = text(archive_entry_gname_utf8(entry), archive_entry_gname(entry));
  if (out.group.empty()) out.group = fmt::format("{}", archive_entry_gid(entry));
  if (out.kind == FileKind::regular)
    out.size = static_cast<std::uint64_t>(std::max<la_int64_t>(archive_entry_size(entry), 0));
  if (out.kind == FileKind::symlink) out.target = text(archive_entry_symlink_utf8(entry), archive_entry_symlink(entry));
  // Another file of the package.
  if (out.kind == FileKind::hardlink)
    out.target = absolute(text(archive_entry_hardlink_utf8(entry), archive_entry_hardlink(entry)), package);
  return out;
}

}  // namespace

std::string TarEntry::read() const {
  std::string out(file_.size, '\0');
  std::size_t at = 0;
  while (at < out.size()) {
    const la_ssize_t got = archive_read_data(reader_, out.data() + at, out.size() - at);
    if (got < 0) throw damaged(reader_, package_);
    if (got == 0) break;
    at += static_cast<std::size_t>(got);
  }
  out.resize(at);
  return out;
}

void each_entry(const os::Fd& file, Range range, std::string_view suffix, std::string_view package,
                const TarLimits& limits, const std::function<void(const TarEntry&)>& each) {
  const Reader reader(archive_read_new(), &archive_read_free);
  support(reader.get(), suffix);
  Source source(file, range, package);
  source.open(reader.get());
  std::uint64_t entries = 0, bytes = 0;
  while (true) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(reader.get(), &entry);
    if (result == ARCHIVE_EOF) break;
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN) source.fail(reader.get());
    if (++entries > limits.entries)
      throw Error(Code::too_large, fmt::format("the package '{}' holds too many files", package))
          .because(fmt::format("more than {}", limits.entries));
    File found = file_of(entry, package);
    // Told before it is unpacked, and nothing of it is unpacked beyond it.
    if (found.size > limits.bytes - bytes)
      throw Error(Code::too_large, fmt::format("the package '{}' unpacks to more than is allowed", package))
          .because(fmt::format("more than {}", human_bytes(limits.bytes)));
    bytes += found.size;
    each(TarEntry(reader.get(), found, package));
  }
}

}  // namespace underway::archive::detail
