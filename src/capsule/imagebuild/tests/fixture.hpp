#pragma once
/// @file
/// A directory for a test, definitions that are built in it, and archives made by hand.
#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"
#include "image/verified.hpp"
#include "imagebuild/build.hpp"
#include "os/file.hpp"

namespace underway::imagebuild {

inline const TimePoint kNow{std::chrono::seconds(1'780'000'000)};

/// The error's text when `body` throws one.
template <class Body>
std::string failure_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.text();
  }
  return "no failure";
}

class Builds : public testing::Test {
 protected:
  Builds() {
    char name[] = "/tmp/underway-test-XXXXXX";
    directory_ = ::mkdtemp(name);
    image::generate_key(at("ops.key"), "ops", kNow + std::chrono::hours(24));
    key_ = image::read_private_key(at("ops.key"));
  }
  ~Builds() override { os::remove_tree(directory_); }

  std::string at(const std::string& name) const { return directory_ + "/" + name; }

  /// Builds `body` of a definition; the image is at `<name>.capsule`.
  Built build(const std::string& name, const std::string& body, std::int64_t unpack_limit = 1 << 30) const {
    const auto parsed = parse_definition("image \"" + name + "\" {\n" + body + "\n}\n", name + ".hcl", directory_);
    if (!parsed.definition) throw parsed.diagnostics.to_error("the definition is wrong");
    BuildOptions options;
    options.out = at(name + ".capsule");
    options.work = directory_;
    options.key = &*key_;
    options.now = kNow;
    options.unpack_limit = unpack_limit;
    return imagebuild::build(*parsed.definition, options);
  }

  std::map<std::string, image::FileEntry> files(const std::string& name) const {
    const auto file = image::ImageFile::open(at(name + ".capsule"));
    std::map<std::string, image::FileEntry> out;
    for (auto& entry : file.files(file.manifest())) out.emplace(entry.path, std::move(entry));
    return out;
  }

  std::string directory_;
  std::optional<image::PrivateKeyFile> key_;
};

/// An entry of an archive that is made for a test.
struct Entry {
  std::string path;
  unsigned type = AE_IFREG;
  std::string text = {};  ///< what is in a file, where a link points to
  unsigned mode = 0644;
  bool hardlink = false;
  std::int64_t size = -1;  ///< said, when it is not the text's
};

inline std::string tar_of(const std::vector<Entry>& entries, const std::string& compression = "none") {
  const std::unique_ptr<archive, decltype(&archive_write_free)> writer(archive_write_new(), &archive_write_free);
  archive_write_set_format_pax_restricted(writer.get());
  if (compression == "gzip") archive_write_add_filter_gzip(writer.get());
  if (compression == "zstd") archive_write_add_filter_zstd(writer.get());
  std::string out(64U << 20, '\0');
  std::size_t used = 0;
  archive_write_open_memory(writer.get(), out.data(), out.size(), &used);
  for (const auto& each : entries) {
    const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(), &archive_entry_free);
    archive_entry_set_pathname(entry.get(), each.path.c_str());
    archive_entry_set_perm(entry.get(), each.mode);
    if (each.hardlink) {
      archive_entry_set_filetype(entry.get(), AE_IFREG);
      archive_entry_set_hardlink(entry.get(), each.text.c_str());
    } else {
      archive_entry_set_filetype(entry.get(), each.type);
    }
    if (each.type == AE_IFLNK) archive_entry_set_symlink(entry.get(), each.text.c_str());
    const bool has_data = each.type == AE_IFREG && !each.hardlink;
    if (has_data)
      archive_entry_set_size(entry.get(), each.size >= 0 ? each.size : static_cast<la_int64_t>(each.text.size()));
    archive_write_header(writer.get(), entry.get());
    if (has_data) archive_write_data(writer.get(), each.text.data(), each.text.size());
  }
  archive_write_close(writer.get());
  out.resize(used);
  return out;
}

}  // namespace underway::imagebuild
