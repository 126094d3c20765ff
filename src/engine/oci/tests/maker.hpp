#pragma once
/// @file
/// Images made by hand, good ones and others.
#include <archive.h>
#include <archive_entry.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "oci/document.hpp"
#include "os/file.hpp"

namespace underway::oci {

/// An entry of an archive.
struct Entry {
  std::string path;
  unsigned type = AE_IFREG;
  std::string text = {};  ///< what is in a file, where a link points to
  unsigned mode = 0644;
  bool hardlink = false;
  std::int64_t uid = 0, gid = 0;
  std::int64_t time = 1'000'000'000;
  std::map<std::string, std::string> attributes = {};
};

inline std::string tar_of(const std::vector<Entry>& entries, const std::string& compression = "none") {
  const std::unique_ptr<archive, decltype(&archive_write_free)> writer(archive_write_new(), &archive_write_free);
  archive_write_set_format_pax_restricted(writer.get());
  if (compression == "gzip") archive_write_add_filter_gzip(writer.get());
  if (compression == "zstd") archive_write_add_filter_zstd(writer.get());
  std::size_t room = 1U << 20;
  for (const auto& each : entries) room += each.text.size() + 8192;
  std::string out(room, '\0');
  std::size_t used = 0;
  archive_write_open_memory(writer.get(), out.data(), out.size(), &used);
  for (const auto& each : entries) {
    const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(), &archive_entry_free);
    archive_entry_set_pathname(entry.get(), each.path.c_str());
    archive_entry_set_filetype(entry.get(), each.hardlink ? AE_IFREG : each.type);
    archive_entry_set_perm(entry.get(), each.mode);
    archive_entry_set_uid(entry.get(), each.uid);
    archive_entry_set_gid(entry.get(), each.gid);
    archive_entry_set_mtime(entry.get(), each.time, 0);
    if (each.hardlink) archive_entry_set_hardlink(entry.get(), each.text.c_str());
    if (each.type == AE_IFLNK) archive_entry_set_symlink(entry.get(), each.text.c_str());
    for (const auto& [name, value] : each.attributes)
      archive_entry_xattr_add_entry(entry.get(), name.c_str(), value.data(), value.size());
    const bool has_data = each.type == AE_IFREG && !each.hardlink;
    if (has_data) archive_entry_set_size(entry.get(), static_cast<la_int64_t>(each.text.size()));
    archive_write_header(writer.get(), entry.get());
    if (has_data) archive_write_data(writer.get(), each.text.data(), each.text.size());
  }
  archive_write_close(writer.get());
  out.resize(used);
  return out;
}

/// Packs bytes as they are.
inline std::string packed(const std::string& bytes, const std::string& compression) {
  const std::unique_ptr<archive, decltype(&archive_write_free)> writer(archive_write_new(), &archive_write_free);
  archive_write_set_format_raw(writer.get());
  if (compression == "gzip") archive_write_add_filter_gzip(writer.get());
  if (compression == "zstd") archive_write_add_filter_zstd(writer.get());
  std::string out(bytes.size() + (1U << 20), '\0');
  std::size_t used = 0;
  archive_write_open_memory(writer.get(), out.data(), out.size(), &used);
  const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(), &archive_entry_free);
  archive_entry_set_pathname(entry.get(), "x");
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_write_header(writer.get(), entry.get());
  archive_write_data(writer.get(), bytes.data(), bytes.size());
  archive_write_close(writer.get());
  out.resize(used);
  return out;
}

/// An image: blobs by their digests, and what names them.
struct MadeImage {
  std::map<std::string, std::string> blobs;
  std::string manifest, config;     ///< digests
  std::vector<std::string> layers;  ///< digests of what is packed
  std::vector<std::string> diff_ids;

  std::string add(const std::string& bytes) {
    const std::string digest = digest_of(bytes);
    blobs[digest] = bytes;
    return digest;
  }
};

inline std::string descriptor(const std::string& type, const std::string& digest, std::size_t size,
                              const std::string& more = {}) {
  return fmt::format(R"({{"mediaType":"{}","digest":"{}","size":{}{}}})", type, digest, size, more);
}

/// `run` is the member "config" of the configuration.
inline MadeImage make_image(const std::vector<std::string>& tars, const std::string& run = R"({"Cmd":["/bin/sh"]})",
                            const std::string& compression = "gzip") {
  MadeImage out;
  std::string ids, layers;
  for (const auto& tar : tars) {
    out.diff_ids.push_back(digest_of(tar));
    const std::string blob = compression == "none" ? tar : packed(tar, compression);
    out.layers.push_back(out.add(blob));
    const std::string comma = ids.empty() ? "" : ",";
    ids += comma + "\"" + out.diff_ids.back() + "\"";
    layers +=
        comma + descriptor("application/vnd.oci.image.layer.v1.tar+" + compression, out.layers.back(), blob.size());
  }
  const std::string config = R"({"architecture":")" + this_platform().architecture + R"(","os":"linux","config":)" +
                             run + R"(,"rootfs":{"type":"layers","diff_ids":[)" + ids + "]}}";
  out.config = out.add(config);
  out.manifest = out.add(R"({"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":)" +
                         descriptor("application/vnd.oci.image.config.v1+json", out.config, config.size()) +
                         R"(,"layers":[)" + layers + "]}");
  return out;
}

/// Writes an OCI layout.
inline void write_layout(const std::string& directory, const MadeImage& image, const std::string& tag = "v1") {
  os::make_directories(directory + "/blobs/sha256");
  for (const auto& [digest, bytes] : image.blobs)
    os::write_file(directory + "/blobs/sha256/" + digest.substr(7), bytes, 0644, {}, os::Durability::cached);
  os::write_file(directory + "/oci-layout", R"({"imageLayoutVersion":"1.0.0"})");
  os::write_file(directory + "/index.json",
                 R"({"schemaVersion":2,"manifests":[)" +
                     descriptor("application/vnd.oci.image.manifest.v1+json", image.manifest,
                                image.blobs.at(image.manifest).size(),
                                R"(,"annotations":{"org.opencontainers.image.ref.name":")" + tag + "\"}") +
                     "]}");
}

/// Bytes that nobody can make smaller.
inline std::string noise(std::size_t size, std::uint64_t seed = 88172645463325252) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i + 8 <= size; i += 8) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    std::memcpy(out.data() + i, &seed, 8);
  }
  return out;
}

}  // namespace underway::oci
