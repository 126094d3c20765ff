#include "cli/archive.hpp"

#include <archive.h>
#include <archive_entry.h>

#include "base/error.hpp"
#include "os/file.hpp"

namespace underway::cli {
namespace {

struct Free {
  void operator()(struct archive* one) const { ::archive_free(one); }
};
using Reader = std::unique_ptr<struct archive, Free>;

constexpr std::size_t kPiece = 64 * 1024;

[[noreturn]] void fail(struct archive* one, const std::string& what) {
  const char* why = ::archive_error_string(one);
  throw Error(Code::invalid, what).because(why == nullptr ? "the archive ends early" : why);
}

}  // namespace

void read_archive(const std::string& path,
                  const std::function<void(const ArchivedFile&, const std::function<std::string()>&)>& file) {
  Reader reader(::archive_read_new());
  ::archive_read_support_filter_gzip(reader.get());
  ::archive_read_support_format_tar(reader.get());
  const std::string what = fmt::format("'{}' cannot be read as a snapshot", path);
  if (::archive_read_open_filename(reader.get(), path.c_str(), kPiece) != ARCHIVE_OK) fail(reader.get(), what);
  while (true) {
    struct archive_entry* entry = nullptr;
    const int found = ::archive_read_next_header(reader.get(), &entry);
    if (found == ARCHIVE_EOF) return;
    if (found != ARCHIVE_OK) fail(reader.get(), what);
    const char* name = ::archive_entry_pathname(entry);
    const ArchivedFile head{name == nullptr ? "" : name, ::archive_entry_size(entry), ::archive_entry_mtime(entry)};
    file(head, [&] {
      std::string piece(kPiece, '\0');
      const auto got = ::archive_read_data(reader.get(), piece.data(), piece.size());
      if (got < 0) fail(reader.get(), what);
      piece.resize(static_cast<std::size_t>(got));
      return piece;
    });
  }
}

struct ArchiveWriter::Impl {
  std::string path;
  std::unique_ptr<struct archive, Free> writer{::archive_write_new()};

  void check(int result) {
    if (result == ARCHIVE_OK) return;
    const char* why = ::archive_error_string(writer.get());
    throw Error(Code::internal, fmt::format("cannot write '{}'", path)).because(why == nullptr ? "unknown" : why);
  }
};

ArchiveWriter::ArchiveWriter(const std::string& path) : impl_(std::make_unique<Impl>()) {
  if (os::exists(path)) throw Error(Code::conflict, fmt::format("'{}' is there already", path));
  impl_->path = path;
  auto* writer = impl_->writer.get();
  ::archive_write_add_filter_gzip(writer);
  ::archive_write_set_format_pax_restricted(writer);
  impl_->check(::archive_write_open_filename(writer, path.c_str()));
}

ArchiveWriter::~ArchiveWriter() = default;

void ArchiveWriter::add(const std::string& name, std::string_view bytes) {
  const std::unique_ptr<struct archive_entry, void (*)(struct archive_entry*)> entry(::archive_entry_new(),
                                                                                     ::archive_entry_free);
  ::archive_entry_set_pathname(entry.get(), name.c_str());
  ::archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes.size()));
  ::archive_entry_set_filetype(entry.get(), AE_IFREG);
  ::archive_entry_set_perm(entry.get(), 0600);
  ::archive_entry_set_mtime(entry.get(), std::time(nullptr), 0);
  impl_->check(::archive_write_header(impl_->writer.get(), entry.get()));
  if (::archive_write_data(impl_->writer.get(), bytes.data(), bytes.size()) != static_cast<la_ssize_t>(bytes.size()))
    impl_->check(ARCHIVE_FATAL);
}

void ArchiveWriter::close() { impl_->check(::archive_write_close(impl_->writer.get())); }

}  // namespace underway::cli
