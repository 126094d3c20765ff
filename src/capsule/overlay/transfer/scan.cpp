#include "overlay/transfer/detail/scan.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <unordered_map>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "os/file.hpp"
#include "overlay/transfer/detail/frame.hpp"
#include "overlay/transfer/transfer.hpp"

namespace underway::overlay {
namespace {

/// The clock of file times ticks with the kernel's (4 ms at 250 Hz, 10 ms at 100 Hz).
constexpr std::int64_t kTick = 50'000'000;

std::vector<std::string> attribute_names(const std::string& reach) {
  std::string list(4096, '\0');
  for (;;) {
    const auto size = ::llistxattr(reach.c_str(), list.data(), list.size());
    if (size >= 0) {
      list.resize(static_cast<std::size_t>(size));
      break;
    }
    if (errno != ERANGE || list.size() >= 65536) return {};  // XATTR_LIST_MAX of linux/limits.h
    list.resize(65536);
  }
  std::vector<std::string> names;
  for (auto& name : split(list, '\0')) {
    if (is_carried(name)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string link_target(const std::string& reach) {
  std::string target(4096, '\0');
  const auto size = ::readlink(reach.c_str(), target.data(), target.size());
  target.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return target;
}

std::optional<EntryType> type_of(const struct stat& stat) {
  if (S_ISREG(stat.st_mode)) return EntryType::file;
  if (S_ISDIR(stat.st_mode)) return EntryType::directory;
  if (S_ISLNK(stat.st_mode)) return EntryType::link;
  if (is_whiteout(stat)) return EntryType::whiteout;
  return std::nullopt;
}

/// What is known of a file whose times prove that it is the same: attributes are part of what they tell of.
const Entry* find_same(const Index* known, const Tree::Item& item) {
  const auto* entry = known == nullptr ? nullptr : known->find(item.path);
  const bool same = entry != nullptr && entry->type == EntryType::file && entry->settled &&
                    entry->inode == item.stat.st_ino && entry->changed_ns == nanos(item.stat.st_ctim);
  return same ? entry : nullptr;
}

Entry read_item(const Tree::Item& item, EntryType type, const Index* known) {
  const auto& stat = item.stat;
  Entry entry{.path = item.path, .type = type};
  const auto* same = type == EntryType::file ? find_same(known, item) : nullptr;
  if (same != nullptr) entry.attributes = same->attributes;
  for (auto& name : same != nullptr ? std::vector<std::string>() : attribute_names(item.reach)) {
    if (auto value = find_attribute(item.reach, name))
      entry.attributes.emplace_back(std::move(name), std::move(*value));
  }
  if (type == EntryType::whiteout) return entry;
  if (type == EntryType::link)
    entry.target = link_target(item.reach);
  else
    entry.mode = stat.st_mode & 07777U;
  entry.uid = stat.st_uid;
  entry.gid = stat.st_gid;
  entry.modified_ns = nanos(stat.st_mtim);
  if (type == EntryType::file) entry.size = static_cast<std::uint64_t>(stat.st_size);
  entry.inode = stat.st_ino;
  entry.changed_ns = nanos(stat.st_ctim);
  return entry;
}

/// The first path of a file is the file, the others are links to it.
void tell_hard_links(std::vector<Entry>& entries, const std::vector<std::uint64_t>& shared) {
  std::unordered_map<std::uint64_t, const Entry*> first;
  for (const auto inode : shared) first.emplace(inode, nullptr);
  for (auto& entry : entries) {
    if (entry.type != EntryType::file) continue;
    const auto found = first.find(entry.inode);
    if (found == first.end()) continue;
    if (found->second == nullptr) {
      found->second = &entry;
      continue;
    }
    entry = Entry{.path = std::move(entry.path), .type = EntryType::hard_link, .target = found->second->path};
  }
}

/// tmpfs changes no time for writes through a mapping after the first, and never.
bool times_tell(const Tree& tree) {
  struct statfs found = {};
  return ::fstatfs(tree.root().get(), &found) == 0 && found.f_type != TMPFS_MAGIC;
}

}  // namespace

std::int64_t nanos(const struct timespec& time) { return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec; }

void Look::add(const Tree::Item& item) {
  const auto& stat = item.stat;
  Encoder()
      .text(item.path)
      .u32(stat.st_mode)
      .u32(stat.st_uid)
      .u32(stat.st_gid)
      .u64(stat.st_ino)
      .u64(static_cast<std::uint64_t>(stat.st_size))
      .u64(static_cast<std::uint64_t>(nanos(stat.st_mtim)))
      .u64(static_cast<std::uint64_t>(nanos(stat.st_ctim)))
      .finish(FrameKind::have, seen_);
}

std::string Look::text() const { return hex(crypto::sha256(seen_)); }

Scan scan(const Tree& tree, ScanOptions options) {
  const auto began = unix_nanos(os::file_clock_now());
  if (options.sync && ::syncfs(tree.root().get()) != 0)
    throw errno_error(errno, "cannot write out the overlay's file system");
  const bool telling = options.quick || times_tell(tree);
  Scan result;
  std::vector<std::uint64_t> shared;
  const auto add = [&](const Tree::Item& item) {
    const auto type = type_of(item.stat);
    if (!type) {
      ++result.left_out;
      return false;
    }
    auto& entry = result.entries.emplace_back(read_item(item, *type, options.known));
    entry.settled = telling && *type == EntryType::file && entry.changed_ns < began - kTick;
    if (*type == EntryType::file && item.stat.st_nlink > 1) shared.push_back(entry.inode);
    return true;
  };
  Tree::Item root{.path = "", .reach = fmt::format("/proc/self/fd/{}/.", tree.root().get())};
  if (::fstat(tree.root().get(), &root.stat) != 0) throw errno_error(errno, "cannot look at the overlay");
  add(root);
  Look look;
  tree.walk([&](const Tree::Item& item) {
    look.add(item);
    return add(item);
  });
  result.look = look.text();
  const auto by_path = [](const Entry& a, const Entry& b) { return a.path < b.path; };
  std::sort(result.entries.begin(), result.entries.end(), by_path);
  tell_hard_links(result.entries, shared);
  return result;
}

std::string look_at(const std::string& upper) {
  Look look;
  Tree(upper).walk([&](const Tree::Item& item) {
    look.add(item);
    return true;
  });
  return look.text();
}

std::optional<FileReader> open_reader(const Tree& tree, const Entry& entry) {
  // It may have become a fifo since, at whose other end nobody is.
  auto file = tree.open(entry.path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  struct stat found = {};
  if (!file || ::fstat(file->get(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  return FileReader(std::move(*file), entry.size);
}

struct stat FileReader::look() const {
  struct stat found = {};
  if (::fstat(file_.get(), &found) != 0) throw errno_error(errno, "cannot look at a file of the overlay");
  return found;
}

std::optional<FileReader::Piece> FileReader::next() {
  if (at_ >= size_) return std::nullopt;
  if (at_ >= data_end_) {
    const auto begin = ::lseek(file_.get(), static_cast<off_t>(at_), SEEK_DATA);
    data_begin_ = begin < 0 ? size_ : std::min(static_cast<std::uint64_t>(begin), size_);
    const auto end = ::lseek(file_.get(), static_cast<off_t>(data_begin_), SEEK_HOLE);
    data_end_ = end < 0 ? size_ : std::min(static_cast<std::uint64_t>(end), size_);
    if (data_end_ <= data_begin_) data_end_ = size_;
  }
  const auto hole_end = data_begin_ >= size_ ? size_ : data_begin_ / kBlockSize * kBlockSize;
  if (hole_end > at_) {
    const Piece hole{.offset = at_, .length = hole_end - at_, .bytes = {}};
    at_ = hole_end;
    return hole;
  }
  const auto length = std::min(size_ - at_, kDataBlocks * kBlockSize);
  buffer_.assign(length, '\0');
  std::size_t got = 0;
  while (got < length) {
    const auto count = ::pread(file_.get(), buffer_.data() + got, length - got, static_cast<off_t>(at_ + got));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw errno_error(errno, "cannot read a file of the overlay");
    if (count == 0) break;
    got += static_cast<std::size_t>(count);
  }
  const Piece piece{.offset = at_, .length = length, .bytes = buffer_};
  at_ += length;
  return piece;
}

Index read_index(const std::string& root) {
  const Tree tree(root);
  Index index;
  for (auto& found : scan(tree, {}).entries) {
    found.settled = false;
    auto& entry = index.put(std::move(found), true);
    if (entry.type != EntryType::file) continue;
    auto reader = open_reader(tree, entry);
    if (!reader) throw Error(Code::conflict, fmt::format("'{}/{}' vanished while it was read", root, entry.path));
    while (const auto piece = reader->next()) {
      if (!piece->bytes.empty()) index.write(entry, piece->offset, piece->bytes);
    }
  }
  return index;
}

}  // namespace underway::overlay
