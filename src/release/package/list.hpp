#pragma once
/// @file
/// Lists of packages: what an index, a snapshot or a tier holds. A list never changes; copies, parts and unions of it
/// share the texts that its packages describe themselves in, so a part of a list holds all of its text in memory.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "package/package.hpp"

namespace underway::rpmmd {
class Index;
}

namespace underway::package {

class PackageList {
 public:
  using Text = std::shared_ptr<const std::string>;

  /// None.
  PackageList();
  /// Of `Packages` of a deb repository, uncompressed. Errors: as control::each_stanza() and of_stanza(): one bad stanza
  /// and the index is refused. About 0.2 s and 80 MiB for the 63,000 packages of Debian 12, 48 MiB of them the text.
  static PackageList of_packages_index(Text text);
  /// Of a repository of rpm packages. Errors: as check(); unsupported for a file whose checksum is no SHA-256, or that
  /// lies in another repository (xml:base).
  static PackageList of_rpm_index(const rpmmd::Index& index);
  /// Of packages that somebody else has read: their descriptions lie in `texts`. Errors: as check(), which is called
  /// for each; internal for a description that lies in none of the texts.
  static PackageList of(std::vector<Package> packages, std::vector<Text> texts);
  /// All that are in one of them, each once: `all` packages stand in the index of every architecture.
  static PackageList merge(std::span<const PackageList> lists);

  /// By name, version as the format compares it, architecture and digest; the same packages are in the same order,
  /// whatever order they came in.
  /// Not of a list that is about to go: `for (auto& p : list.filter(f).packages())` would read freed memory.
  const std::vector<Package>& packages() const&;
  const std::vector<Package>& packages() && = delete;
  std::size_t size() const { return packages().size(); }
  bool empty() const { return packages().empty(); }
  /// All versions and architectures of one name.
  std::span<const Package> named(std::string_view name) const&;
  std::span<const Package> named(std::string_view name) && = delete;
  /// Those that are wanted, in the same order.
  PackageList filter(const std::function<bool(const Package&)>& wanted) const;

  /// "sha256:…" over a line "name version architecture digest digest-of-description" of each package, in this order:
  /// lists with the same digest offer the same files, described alike. Computed when it is first asked for. Thread:
  /// any.
  std::string digest() const;
  /// Bytes of all files together; a file that is listed twice counts twice.
  std::uint64_t bytes() const;
  /// What keeps the descriptions alive.
  const std::vector<Text>& texts() const&;
  const std::vector<Text>& texts() && = delete;

 private:
  struct Content;
  explicit PackageList(std::shared_ptr<Content> content) : content_(std::move(content)) {}
  static PackageList sorted(std::vector<Package> packages, std::vector<Text> texts);

  std::shared_ptr<Content> content_;
};

}  // namespace underway::package
