#pragma once
/// @file
/// Packages made by hand, good ones and others.
#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "os/fd.hpp"

namespace underway::archive {

struct Made {
  std::string path;
  std::string text = {};  ///< what is in a file, where a link points to
  unsigned type = AE_IFREG;
  unsigned mode = 0644;
  bool hardlink = false;
};

/// `compression` is as the suffix: "", ".gz", ".xz", ".zst".
inline std::string tar_of(const std::vector<Made>& entries, const std::string& compression = "") {
  const std::unique_ptr<::archive, decltype(&archive_write_free)> writer(archive_write_new(), &archive_write_free);
  archive_write_set_format_gnutar(writer.get());
  if (compression == ".gz") archive_write_add_filter_gzip(writer.get());
  if (compression == ".xz") archive_write_add_filter_xz(writer.get());
  if (compression == ".zst") archive_write_add_filter_zstd(writer.get());
  std::size_t room = 1U << 20;
  for (const auto& each : entries) room += each.text.size() + 4096;
  std::string out(room, '\0');
  std::size_t used = 0;
  archive_write_open_memory(writer.get(), out.data(), out.size(), &used);
  for (const auto& each : entries) {
    const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(), &archive_entry_free);
    archive_entry_set_pathname(entry.get(), each.path.c_str());
    archive_entry_set_filetype(entry.get(), each.type);
    archive_entry_set_perm(entry.get(), each.mode);
    archive_entry_set_uname(entry.get(), "root");
    archive_entry_set_gname(entry.get(), "adm");
    if (each.hardlink) archive_entry_set_hardlink(entry.get(), each.text.c_str());
    if (each.type == AE_IFLNK) archive_entry_set_symlink(entry.get(), each.text.c_str());
    const bool data = each.type == AE_IFREG && !each.hardlink;
    archive_entry_set_size(entry.get(), data ? static_cast<la_int64_t>(each.text.size()) : 0);
    archive_write_header(writer.get(), entry.get());
    if (data) archive_write_data(writer.get(), each.text.data(), each.text.size());
  }
  archive_write_close(writer.get());
  out.resize(used);
  return out;
}

using Members = std::vector<std::pair<std::string, std::string>>;

inline std::string ar_of(const Members& members) {
  std::string out = "!<arch>\n";
  for (const auto& [name, bytes] : members) {
    out += fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", name, 0, 0, 0, "100644", bytes.size());
    out += bytes;
    if (bytes.size() % 2 != 0) out += '\n';
  }
  return out;
}

/// A header structure of rpm.
class HeaderMaker {
 public:
  /// 62: that of the signatures; 63: that of the package.
  explicit HeaderMaker(std::uint32_t region) : region_(region) {}
  HeaderMaker& add(std::uint32_t tag, std::uint32_t type, std::uint32_t count, const std::string& value) {
    tags_[tag] = {type, count, value};
    return *this;
  }
  HeaderMaker& text(std::uint32_t tag, const std::string& value) { return add(tag, 6, 1, value + '\0'); }
  HeaderMaker& texts(std::uint32_t tag, const std::vector<std::string>& values) {
    std::string all;
    for (const auto& value : values) all += value + '\0';
    return add(tag, 8, static_cast<std::uint32_t>(values.size()), all);
  }
  HeaderMaker& numbers(std::uint32_t tag, const std::vector<std::uint32_t>& values, std::size_t width = 4) {
    std::string all;
    for (const auto value : values) all += word(value).substr(4 - width);
    return add(tag, width == 2 ? 3 : 4, static_cast<std::uint32_t>(values.size()), all);
  }
  HeaderMaker& drop(std::uint32_t tag) {
    tags_.erase(tag);
    return *this;
  }
  std::string bytes() const {
    const auto count = static_cast<std::uint32_t>(tags_.size() + 1);
    std::string index, values;
    for (const auto& [tag, it] : tags_) {
      index += word(tag) + word(it.type) + word(static_cast<std::uint32_t>(values.size())) + word(it.count);
      values += it.value;
    }
    const std::string first = word(region_) + word(7) + word(static_cast<std::uint32_t>(values.size())) + word(16);
    values += word(region_) + word(7) + word(0 - count * 16) + word(16);
    return "\x8e\xad\xe8\x01" + std::string(4, '\0') + word(count) + word(static_cast<std::uint32_t>(values.size())) +
           first + index + values;
  }
  static std::string word(std::uint32_t value) {
    std::string out;
    for (const unsigned shift : {24U, 16U, 8U, 0U}) out += static_cast<char>(value >> shift & 0xFFU);
    return out;
  }

 private:
  struct Value {
    std::uint32_t type, count;
    std::string value;
  };
  std::uint32_t region_;
  std::map<std::uint32_t, Value> tags_;
};

inline std::string rpm_file(const std::string& signatures, const std::string& header, const std::string& payload) {
  std::string out = "\xed\xab\xee\xdb\x03" + std::string(91, '\0') + signatures;
  out.resize((out.size() + 7) / 8 * 8);
  return out + header + payload;
}
/// With the digests that it has to have.
inline std::string rpm_of(HeaderMaker header, const std::string& payload = "payload") {
  header.texts(5092, {hex(crypto::sha256(payload))}).numbers(5093, {8});
  const auto bytes = header.bytes();
  return rpm_file(HeaderMaker(62).text(273, hex(crypto::sha256(bytes))).bytes(), bytes, payload);
}

inline os::Fd open_bytes(const std::string& bytes) { return os::sealed_memory("package", bytes); }

/// What `work` is refused with, on one line; empty when it is not.
template <class Work>
std::string refusal(Work work) {
  try {
    work();
  } catch (const Error& e) {
    return fmt::format("{}: {}", to_string(e.code()), e.one_line());
  }
  return "";
}

}  // namespace underway::archive
