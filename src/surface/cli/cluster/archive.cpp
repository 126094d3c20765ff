#include "cli/cluster/archive.hpp"

#include <archive.h>
#include <archive_entry.h>

#include "base/error.hpp"
#include "os/file.hpp"

namespace underway::cli {
namespace {

struct Free {
  void operator()(struct archive* opened) const { ::archive_free(opened); }
};

}  // namespace

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
