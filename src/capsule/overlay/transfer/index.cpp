#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "crypto/digest.hpp"
#include "overlay/transfer/detail/entry.hpp"
#include "overlay/transfer/detail/frame.hpp"

namespace underway::overlay {
namespace {

Error wrong(std::string_view what, std::string_view path) {
  return Error(Code::invalid, fmt::format("the description of a tree is wrong at '{}'", path))
      .because(std::string(what));
}

void check_path(std::string_view path) {
  constexpr std::size_t kPathLimit = 4000, kNameLimit = 255;  // PATH_MAX of limits.h, with room for a root before it
  if (path.size() > kPathLimit) throw wrong("the path is too long", path.substr(0, 80));
  if (path.find('\0') != std::string_view::npos) throw wrong("a path with a zero in it", "…");
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const auto end = std::min(path.find('/', begin), path.size());
    const auto name = path.substr(begin, end - begin);
    if (name.empty() || name == "." || name == ".." || name.size() > kNameLimit)
      throw wrong("a name in the path cannot be", path);
    begin = end + 1;
  }
}

std::string_view parent_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

bool is_zero(std::string_view bytes) {
  return bytes.empty() || (bytes[0] == '\0' && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

}  // namespace

BlockDigest digest_block(std::string_view bytes) {
  BlockDigest digest{};
  if (is_zero(bytes)) return digest;
  const auto full = crypto::sha256(bytes);
  std::copy(full.begin(), full.end(), digest.begin());
  return digest;
}

bool alike(const Entry& a, const Entry& b) {
  return a.path == b.path && a.type == b.type && a.mode == b.mode && a.uid == b.uid && a.gid == b.gid &&
         a.modified_ns == b.modified_ns && a.size == b.size && a.target == b.target && a.attributes == b.attributes;
}

bool is_carried(std::string_view attribute) {
  return attribute.starts_with("trusted.overlay.") || attribute.starts_with("user.") ||
         attribute == "security.capability" || attribute == "system.posix_acl_access" ||
         attribute == "system.posix_acl_default";
}

const Entry* Index::find(std::string_view path) const {
  const auto found = entries_.find(path);
  return found == entries_.end() ? nullptr : &found->second;
}

void Index::check(const Entry& entry) const {
  if (entry.path.empty()) {
    if (entry.type != EntryType::directory) throw wrong("the root is a directory", "");
  } else {
    check_path(entry.path);
    const auto* parent = find(parent_of(entry.path));
    if (parent == nullptr || parent->type != EntryType::directory) throw wrong("it lies in no directory", entry.path);
  }
  if (entry.type == EntryType::hard_link && !limits_.half_done) {
    const auto* file = find(entry.target);
    if (file == nullptr || file->type != EntryType::file || entry.target == entry.path)
      throw wrong("a hard link to what is no file", entry.path);
  }
  if (entry.type == EntryType::link &&
      (entry.target.empty() || entry.target.size() > 4095 || entry.target.find('\0') != std::string::npos))
    throw wrong("a link that cannot be", entry.path);
  if ((entry.mode & ~07777U) != 0) throw wrong("a mode that cannot be", entry.path);
  for (const auto& [name, value] : entry.attributes) {
    if (!is_carried(name) || name.size() > 255 || name.find('\0') != std::string::npos || value.size() > 65536)
      throw wrong("an attribute that is not copied", entry.path);
  }
}

Entry& Index::put(Entry entry, bool fresh) {
  check(entry);
  auto found = entries_.find(entry.path);
  const std::uint64_t before =
      found != entries_.end() && found->second.type == EntryType::file ? found->second.size : 0;
  const std::uint64_t size = entry.type == EntryType::file ? entry.size : 0;
  if (size > limits_.content_bytes || content_bytes_ - before > limits_.content_bytes - size)
    throw Error(Code::too_large, fmt::format("the tree is larger than allowed at '{}'", entry.path))
        .because(fmt::format("{} bytes are allowed", limits_.content_bytes));
  if (found == entries_.end() && entries_.size() >= limits_.paths)
    throw Error(Code::too_large, "the tree has more paths than allowed")
        .because(fmt::format("{} are allowed", limits_.paths));
  if (found != entries_.end() && found->second.type == EntryType::directory && entry.type != EntryType::directory)
    remove_below(entry.path);
  if (entry.type == EntryType::file) {
    if (!fresh && found != entries_.end() && found->second.type == EntryType::file)
      entry.blocks = std::move(found->second.blocks);
    else
      entry.blocks.clear();
    entry.blocks.resize(blocks_of(entry.size));
  }
  content_bytes_ = content_bytes_ - before + size;
  if (found == entries_.end()) {
    auto path = entry.path;
    return entries_.emplace(std::move(path), std::move(entry)).first->second;
  }
  found->second = std::move(entry);
  return found->second;
}

void Index::remove_below(const std::string& path) {
  // '0' comes right after '/'.
  auto from = entries_.lower_bound(path + "/");
  const auto to = entries_.lower_bound(path + "0");
  for (; from != to; from = entries_.erase(from)) {
    if (from->second.type == EntryType::file) content_bytes_ -= from->second.size;
  }
}

void Index::remove(const std::string& path) {
  const auto found = entries_.find(path);
  if (path.empty() || found == entries_.end()) throw wrong("it is to be removed and is not there", path);
  remove_below(path);
  if (found->second.type == EntryType::file) content_bytes_ -= found->second.size;
  entries_.erase(found);
}

void Index::write(Entry& file, std::uint64_t offset, std::string_view bytes) const {
  const auto end = offset + bytes.size();
  if (offset % kBlockSize != 0 || bytes.empty() || end > file.size || end < offset ||
      (end % kBlockSize != 0 && end != file.size))
    throw wrong("bytes where none can be", file.path);
  for (auto block = offset / kBlockSize; !bytes.empty(); ++block) {
    const auto piece = bytes.substr(0, kBlockSize);
    file.blocks[block] = digest_block(piece);
    bytes.remove_prefix(piece.size());
  }
}

void Index::zero(Entry& file, std::uint64_t offset, std::uint64_t length) const {
  const auto end = offset + length;
  if (offset % kBlockSize != 0 || length == 0 || end > file.size || end < offset ||
      (end % kBlockSize != 0 && end != file.size))
    throw wrong("a hole where none can be", file.path);
  for (auto block = offset / kBlockSize; block < blocks_of(end); ++block) file.blocks[block] = {};
}

std::string Index::digest() const {
  // A digest of digests: no need to hold all of it at once.
  std::string state(32, '\0');
  std::string bytes;
  for (const auto& [path, entry] : entries_) {
    bytes = state;
    put_have(entry, bytes, false);
    state = crypto::sha256(bytes);
  }
  return state;
}

}  // namespace underway::overlay
