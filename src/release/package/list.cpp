#include "package/list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <mutex>

#include "base/error.hpp"
#include "base/text.hpp"
#include "control/stanza.hpp"
#include "crypto/digest.hpp"
#include "crypto/hasher.hpp"
#include "package/version.hpp"

namespace underway::package {

struct PackageList::Content {
  std::vector<Package> packages;
  std::vector<Text> texts;
  std::once_flag digest_once;
  std::string digest;
};

namespace {

/// The order of a list; what is equal in it is the same package.
int compare(const Package& a, const Package& b) {
  if (const int order = a.name.compare(b.name); order != 0) return order;
  if (a.format != b.format) return a.format < b.format ? -1 : 1;
  if (a.version != b.version) {
    if (const int order = compare_versions(a.format, a.version, b.version); order != 0) return order;
    return a.version.compare(b.version);
  }
  if (const int order = a.architecture.compare(b.architecture); order != 0) return order;
  if (a.digest != b.digest) return a.digest < b.digest ? -1 : 1;
  if (const int order = a.file.compare(b.file); order != 0) return order;
  if (a.description.data() == b.description.data() && a.description.size() == b.description.size()) return 0;
  return a.description.compare(b.description);
}

bool before(const Package& a, const Package& b) { return compare(a, b) < 0; }

void share(std::vector<PackageList::Text>& texts, const std::vector<PackageList::Text>& more) {
  for (const auto& text : more) {
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  }
}

/// A description that nothing keeps alive would be read after its text was freed.
void expect_inside(const std::vector<Package>& packages, const std::vector<PackageList::Text>& texts) {
  std::vector<std::string_view> ranges;
  for (const auto& text : texts) {
    if (text) ranges.emplace_back(*text);
  }
  std::sort(ranges.begin(), ranges.end(), [](auto a, auto b) { return std::less<>()(a.data(), b.data()); });
  for (const auto& package : packages) {
    const std::string_view inner = package.description;
    if (inner.empty()) continue;
    auto after = std::upper_bound(ranges.begin(), ranges.end(), inner.data(),
                                  [](const char* at, auto range) { return std::less<>()(at, range.data()); });
    if (after == ranges.begin() || inner.data() + inner.size() > std::prev(after)->data() + std::prev(after)->size())
      throw Error(Code::internal, fmt::format("the description of '{}' lies in no text of its list", package.name));
  }
}

std::string digest_of(const std::vector<Package>& packages) {
  crypto::Hasher hasher;
  std::string lines;
  for (const auto& package : packages) {
    fmt::format_to(std::back_inserter(lines), "{} {} {} {} {}\n", package.name, package.version, package.architecture,
                   hex_digest(package.digest), hex(crypto::sha256(package.description)));
    if (lines.size() < std::size_t{1} << 16) continue;
    hasher.add(lines);
    lines.clear();
  }
  hasher.add(lines);
  return "sha256:" + hex(hasher.finish());
}

}  // namespace

PackageList::PackageList() : content_(std::make_shared<Content>()) {}

PackageList PackageList::sorted(std::vector<Package> packages, std::vector<Text> texts) {
  if (!std::is_sorted(packages.begin(), packages.end(), before)) std::sort(packages.begin(), packages.end(), before);
  const auto same = [](const Package& a, const Package& b) { return compare(a, b) == 0; };
  packages.erase(std::unique(packages.begin(), packages.end(), same), packages.end());
  auto content = std::make_shared<Content>();
  content->packages = std::move(packages);
  content->texts = std::move(texts);
  return PackageList(std::move(content));
}

PackageList PackageList::of_packages_index(Text text) {
  std::vector<Package> packages;
  // Each description ends with a newline, or the last would be another one than in an index where it is not the last.
  if (text && !text->empty() && !text->ends_with('\n')) text = std::make_shared<const std::string>(*text + '\n');
  if (text) {
    control::each_stanza(*text, [&](const control::Stanza& stanza) { packages.push_back(of_stanza(stanza)); });
  }
  std::vector<Text> texts;
  if (!packages.empty()) texts.push_back(std::move(text));
  return sorted(std::move(packages), std::move(texts));
}

PackageList PackageList::of(std::vector<Package> packages, std::vector<Text> texts) {
  for (const auto& package : packages) check(package);
  expect_inside(packages, texts);
  return sorted(std::move(packages), std::move(texts));
}

PackageList PackageList::merge(std::span<const PackageList> lists) {
  std::vector<Package> packages;
  std::vector<Text> texts;
  for (const auto& list : lists) {
    packages.insert(packages.end(), list.packages().begin(), list.packages().end());
    share(texts, list.texts());
  }
  return sorted(std::move(packages), std::move(texts));
}

const std::vector<Package>& PackageList::packages() const& { return content_->packages; }

const std::vector<PackageList::Text>& PackageList::texts() const& { return content_->texts; }

std::span<const Package> PackageList::named(std::string_view name) const& {
  const auto& all = packages();
  const auto begin = std::lower_bound(all.begin(), all.end(), name,
                                      [](const Package& package, std::string_view n) { return package.name < n; });
  const auto end = std::upper_bound(begin, all.end(), name,
                                    [](std::string_view n, const Package& package) { return n < package.name; });
  return {begin, end};
}

PackageList PackageList::filter(const std::function<bool(const Package&)>& wanted) const {
  auto content = std::make_shared<Content>();
  std::copy_if(packages().begin(), packages().end(), std::back_inserter(content->packages), wanted);
  if (!content->packages.empty()) content->texts = texts();
  return PackageList(std::move(content));
}

std::string PackageList::digest() const {
  std::call_once(content_->digest_once, [this] { content_->digest = digest_of(content_->packages); });
  return content_->digest;
}

std::uint64_t PackageList::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& package : packages()) sum += package.size;
  return sum;
}

}  // namespace underway::package
