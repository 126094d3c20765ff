#include "pool/incoming.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "pool/detail/place.hpp"

namespace underway::pool {
namespace {

/// The part, locked.
os::Fd open_part(const detail::Place& place, const std::string& name) {
  const auto open = [&] {
    return os::Fd(::openat(place.incoming.get(), name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  };
  const detail::Gate gate(place);
  os::Fd file = open();
  // Who was killed before the rename left it read-only, which holds for all but root.
  if (!file && errno == EACCES && ::fchmodat(place.incoming.get(), name.c_str(), 0600, 0) == 0) file = open();
  if (!file) throw errno_error(errno, fmt::format("cannot open '{}/incoming/{}'", place.directory, name));
  if (!detail::try_lock(file))
    throw Error(Code::conflict, fmt::format("'{}' is on its way already", name))
        .because("somebody else is receiving it")
        .advise("wait until it is there");
  return file;
}

}  // namespace

Incoming::Incoming(std::shared_ptr<const detail::Place> place, const Wanted& wanted)
    : place_(std::move(place)), wanted_(wanted), name_(fmt::format("{}-{}", to_hex(wanted.digest), wanted.size)) {
  detail::check_size(*place_, wanted.size);
  file_ = open_part(*place_, name_);
  hash_what_is_here();
  detail::need_room(*place_, wanted.size - received_);
}

Incoming::~Incoming() {
  if (file_) ::flock(file_.get(), LOCK_UN);
}

void Incoming::restart() {
  if (::ftruncate(file_.get(), 0) != 0) throw errno_error(errno, fmt::format("cannot empty '{}'", name_));
  hasher_ = crypto::Hasher();
  received_ = 0;
}

void Incoming::hash_what_is_here() {
  if (static_cast<std::uint64_t>(detail::look_at(file_, name_).st_size) > wanted_.size) restart();
  detail::read_pieces(file_, name_, [&](std::string_view piece) {
    hasher_.add(piece);
    received_ += piece.size();
  });
}

std::uint64_t Incoming::append(std::uint64_t offset, std::string_view bytes) {
  if (offset > wanted_.size || bytes.size() > wanted_.size - offset)
    throw Error(Code::too_large, fmt::format("the file {} has {} bytes", to_hex(wanted_.digest), wanted_.size))
        .because(fmt::format("{} bytes arrived for {}", bytes.size(), offset));
  if (offset > received_)
    throw Error(Code::conflict, fmt::format("bytes of the file {} are missing", to_hex(wanted_.digest)))
        .because(fmt::format("{} are here, and those from {} on arrived", received_, offset));
  if (offset + bytes.size() <= received_) return received_;
  bytes.remove_prefix(received_ - offset);
  detail::need_room(*place_, bytes.size());
  detail::write_at(file_, received_, bytes, fmt::format("'{}/incoming/{}'", place_->directory, name_));
  hasher_.add(bytes);
  received_ += bytes.size();
  return received_;
}

void Incoming::finish() {
  if (received_ != wanted_.size)
    throw Error(Code::conflict, fmt::format("the file {} has not arrived yet", to_hex(wanted_.digest)))
        .because(fmt::format("{} of {} bytes are here", received_, wanted_.size));
  const Digest digest = digest_of_sha256(hasher_.finish());
  if (digest != wanted_.digest) {
    discard();
    throw Error(Code::denied, fmt::format("what arrived as {} is another file", to_hex(wanted_.digest)))
        .because(fmt::format("its digest is {}", to_hex(digest)));
  }
  detail::give_name(*place_, file_, name_, digest);
}

void Incoming::discard() {
  if (::unlinkat(place_->incoming.get(), name_.c_str(), 0) != 0 && errno != ENOENT)
    throw errno_error(errno, fmt::format("cannot remove '{}/incoming/{}'", place_->directory, name_));
}

}  // namespace underway::pool
