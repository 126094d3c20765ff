#include "image/compare.hpp"

namespace underway::image {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

const Enumeration& description(Tag<Difference>) {
  static const Enumeration e = describe::enumeration<Difference>("difference");
  return e;
}

const Structure& description(Tag<PackageDifference>) {
  static const Structure s = Builder<PackageDifference>("package difference", "A package that is not the same.")
                                 .wire<&PackageDifference::difference>("Difference", "What happened to it.")
                                 .wire<&PackageDifference::name>("Name", "Its name.")
                                 .wire<&PackageDifference::architecture>("Architecture", "Its architecture.")
                                 .wire<&PackageDifference::from>("From", "The version that it had.")
                                 .wire<&PackageDifference::to>("To", "The version that it has.")
                                 .done();
  return s;
}

const Structure& description(Tag<FileDifference>) {
  static const Structure s = Builder<FileDifference>("file difference", "A file that is not the same.")
                                 .wire<&FileDifference::difference>("Difference", "What happened to it.")
                                 .wire<&FileDifference::path>("Path", "Its path.")
                                 .wire<&FileDifference::details>("Details", "What of it changed.")
                                 .wire<&FileDifference::from>("From", "Bytes that it had.")
                                 .wire<&FileDifference::to>("To", "Bytes that it has.")
                                 .done();
  return s;
}

const Structure& description(Tag<Comparison>) {
  static const Structure s = Builder<Comparison>("comparison", "What differs between two images.")
                                 .wire<&Comparison::from>("From", "The one.")
                                 .wire<&Comparison::to>("To", "The other.")
                                 .wire<&Comparison::packages>("Packages", "Packages that differ.")
                                 .wire<&Comparison::files>("Files", "Files that differ.")
                                 .done();
  return s;
}

namespace {

/// Walks two sorted sequences side by side; `pair` gets pointers, one of which may be null.
template <class T, class Key, class Pair>
void side_by_side(const std::vector<T>& a, const std::vector<T>& b, Key key, Pair pair) {
  std::vector<const T*> left, right;
  for (const auto& each : a) left.push_back(&each);
  for (const auto& each : b) right.push_back(&each);
  const auto before = [&](const T* x, const T* y) { return key(*x) < key(*y); };
  std::sort(left.begin(), left.end(), before);
  std::sort(right.begin(), right.end(), before);
  auto l = left.begin();
  auto r = right.begin();
  while (l != left.end() || r != right.end()) {
    if (r == right.end() || (l != left.end() && before(*l, *r)))
      pair(*l++, nullptr);
    else if (l == left.end() || before(*r, *l))
      pair(nullptr, *r++);
    else
      pair(*l++, *r++);
  }
}

std::vector<std::string> details(const FileEntry& a, const FileEntry& b) {
  std::vector<std::string> out;
  if (a.kind != b.kind) out.push_back(fmt::format("type {} → {}", describe::spell(a.kind), describe::spell(b.kind)));
  if (a.digest != b.digest || (a.kind == b.kind && a.size != b.size)) out.emplace_back("content");
  if (a.target != b.target) out.push_back(fmt::format("target {} → {}", a.target, b.target));
  if (a.mode != b.mode) out.push_back(fmt::format("mode {:04o} → {:04o}", a.mode, b.mode));
  if (a.uid != b.uid || a.gid != b.gid) out.push_back(fmt::format("owner {}:{} → {}:{}", a.uid, a.gid, b.uid, b.gid));
  if (a.device != b.device) out.emplace_back("device");
  if (a.attributes != b.attributes) out.emplace_back("attributes");
  return out;
}

}  // namespace

Comparison compare(const Manifest& from, const std::vector<FileEntry>& from_files, const Manifest& to,
                   const std::vector<FileEntry>& to_files) {
  Comparison out{.from = from.reference(), .to = to.reference()};
  const auto of_package = [](const Package& p) { return std::pair(p.name, p.architecture); };
  side_by_side(from.packages, to.packages, of_package, [&](const Package* a, const Package* b) {
    if (a != nullptr && b != nullptr && a->version == b->version) return;
    const Package& any = a != nullptr ? *a : *b;
    out.packages.push_back({.difference = a == nullptr   ? Difference::added
                                          : b == nullptr ? Difference::removed
                                                         : Difference::changed,
                            .name = any.name,
                            .architecture = any.architecture,
                            .from = a == nullptr ? "" : a->version,
                            .to = b == nullptr ? "" : b->version});
  });
  const auto of_file = [](const FileEntry& f) -> const std::string& { return f.path; };
  side_by_side(from_files, to_files, of_file, [&](const FileEntry* a, const FileEntry* b) {
    FileDifference difference;
    difference.path = a != nullptr ? a->path : b->path;
    if (a == nullptr)
      difference.difference = Difference::added;
    else if (b == nullptr)
      difference.difference = Difference::removed;
    else if ((difference.details = details(*a, *b)).empty())
      return;
    difference.from = a == nullptr ? 0 : a->size;
    difference.to = b == nullptr ? 0 : b->size;
    out.files.push_back(std::move(difference));
  });
  return out;
}

}  // namespace underway::image
