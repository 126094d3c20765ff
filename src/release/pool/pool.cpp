#include "pool/pool.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "os/file.hpp"
#include "pool/detail/place.hpp"

namespace underway::pool {
namespace {

using detail::Place;

/// What is being added: without a name to go on with, so it is gone unless it gets its own.
class Addition {
 public:
  explicit Addition(const Place& place) : place_(place), name_("add-" + hex(random_bytes(16))) {}
  ~Addition() {
    if (file) ::flock(file.get(), LOCK_UN);
    if (!named_) ::unlinkat(place_.incoming.get(), name_.c_str(), 0);
  }
  Addition(const Addition&) = delete;

  void create() { open(O_RDWR | O_CREAT | O_EXCL, detail::Gate(place_)); }
  /// False: it cannot be linked here.
  bool link(const os::Fd& source) {
    const auto path = fmt::format("/proc/self/fd/{}", source.get());
    const detail::Gate gate(place_);
    if (::linkat(AT_FDCWD, path.c_str(), place_.incoming.get(), name_.c_str(), AT_SYMLINK_FOLLOW) != 0) return false;
    open(O_RDONLY, gate);
    return true;
  }
  bool give_name(const Digest& digest) {
    const bool is_new = detail::give_name(place_, file, name_, digest);
    named_ = true;
    return is_new;
  }
  std::string what() const { return fmt::format("{}/incoming/{}", place_.directory, name_); }

  os::Fd file;

 private:
  void open(int flags, const detail::Gate&) {
    file = os::Fd(::openat(place_.incoming.get(), name_.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) throw errno_error(errno, fmt::format("cannot open '{}'", what()));
    // Against those who collect. One that was linked may be locked by somebody else: it is young, and left for that.
    (void)detail::try_lock(file);
  }

  const Place& place_;
  std::string name_;
  bool named_ = false;
};

Added hashed(const Place& place, Addition& addition) {
  crypto::Hasher hasher;
  Added out;
  detail::read_pieces(addition.file, addition.what(), [&](std::string_view piece) {
    hasher.add(piece);
    out.size += piece.size();
    detail::check_size(place, out.size);
  });
  out.digest = digest_of_sha256(hasher.finish());
  return out;
}

Added copied(const Place& place, const os::Fd& source, const std::string& path, Addition& addition) {
  crypto::Hasher hasher;
  Added out;
  detail::read_pieces(source, fmt::format("'{}'", path), [&](std::string_view piece) {
    detail::check_size(place, out.size + piece.size());
    detail::need_room(place, piece.size());
    detail::write_at(addition.file, out.size, piece, fmt::format("'{}'", addition.what()));
    hasher.add(piece);
    out.size += piece.size();
  });
  out.digest = digest_of_sha256(hasher.finish());
  return out;
}

}  // namespace

Pool::Pool(std::string directory, Limits limits) {
  os::make_directories(directory + "/sha256", 0755);
  os::make_directories(directory + "/incoming", 0700);
  auto place = std::make_shared<Place>();
  place->files = os::open_directory(directory + "/sha256");
  place->incoming = os::open_directory(directory + "/incoming");
  for (int first = 0; first < 256; ++first)
    if (::mkdirat(place->files.get(), fmt::format("{:02x}", first).c_str(), 0755) != 0 && errno != EEXIST)
      throw errno_error(errno, fmt::format("cannot make '{}/sha256/{:02x}'", directory, first));
  place->directory = std::move(directory);
  place->limits = limits;
  place_ = std::move(place);
}

const std::string& Pool::directory() const { return place_->directory; }

std::string Pool::path_of(const Digest& digest) const {
  return place_->directory + "/sha256/" + detail::name_of(digest);
}

std::optional<std::uint64_t> Pool::size(const Digest& digest) const {
  struct stat st{};
  const auto name = detail::name_of(digest);
  if (::fstatat(place_->files.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0)
    return static_cast<std::uint64_t>(st.st_size);
  if (errno == ENOENT) return {};
  throw errno_error(errno, fmt::format("cannot look at '{}'", path_of(digest)));
}

bool Pool::hold(const Digest& digest) const { return detail::Shard(*place_, digest.front()).hold(to_hex(digest)); }

std::vector<Digest> Pool::hold(std::span<const Digest> digests) const {
  std::vector<Digest> missing;
  for (std::size_t i = 0; i < digests.size();) {
    const auto first = digests[i].front();
    const detail::Shard shard(*place_, first);
    for (; i < digests.size() && digests[i].front() == first; ++i)
      if (!shard.hold(to_hex(digests[i]))) missing.push_back(digests[i]);
  }
  return missing;
}

os::Fd Pool::open(const Digest& digest) const {
  const auto name = detail::name_of(digest);
  os::Fd file(::openat(place_->files.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) throw errno_error(errno, fmt::format("cannot open '{}'", path_of(digest)));
  return file;
}

Added Pool::add_bytes(std::string_view bytes) const {
  detail::check_size(*place_, bytes.size());
  Added out{.digest = digest_of_sha256(crypto::sha256(bytes)), .size = bytes.size()};
  if (size(out.digest) == out.size && hold(out.digest)) return out;
  detail::need_room(*place_, bytes.size());
  Addition addition(*place_);
  addition.create();
  detail::write_at(addition.file, 0, bytes, fmt::format("'{}'", addition.what()));
  out.is_new = addition.give_name(out.digest);
  return out;
}

Added Pool::add_file(const std::string& path, Take how) const {
  const os::Fd source = os::open_file(path, O_RDONLY | O_NONBLOCK);
  const auto st = detail::look_at(source, fmt::format("'{}'", path));
  if (!S_ISREG(st.st_mode))
    throw Error(Code::invalid, fmt::format("'{}' cannot be in a pool", path)).because("it is no regular file");
  detail::check_size(*place_, static_cast<std::uint64_t>(st.st_size));
  Addition addition(*place_);
  Added out;
  if (how == Take::link && st.st_uid == ::geteuid() && addition.link(source)) {
    out = hashed(*place_, addition);
  } else {
    detail::need_room(*place_, static_cast<std::uint64_t>(st.st_size));
    addition.create();
    // What was shared does not change when the other file does, so it is hashed afterwards.
    out = ::ioctl(addition.file.get(), FICLONE, source.get()) == 0 ? hashed(*place_, addition)
                                                                   : copied(*place_, source, path, addition);
  }
  out.is_new = addition.give_name(out.digest);
  return out;
}

Incoming Pool::receive(const Wanted& wanted) const { return Incoming(place_, wanted); }

}  // namespace underway::pool
