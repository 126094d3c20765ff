#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/error.hpp"
#include "crypto/hasher.hpp"
#include "os/file.hpp"
#include "pool/detail/place.hpp"
#include "pool/pool.hpp"

namespace underway::pool {
namespace {

using detail::Place;

struct Finding {
  std::string reason;  ///< empty: it is what its name says
  struct stat st{};
  std::uint64_t bytes = 0;
};

/// Nothing when it was collected meanwhile.
std::optional<Finding> examine(const Place& place, std::uint8_t first, const std::string& name) {
  const auto path = fmt::format("{:02x}/{}", first, name);
  Finding out;
  if (::fstatat(place.files.get(), path.c_str(), &out.st, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    throw errno_error(errno, fmt::format("cannot look at '{}/sha256/{}'", place.directory, path));
  }
  const auto digest = parse_hex(name);
  if (!S_ISREG(out.st.st_mode) || !digest || digest->front() != first) {
    out.reason = "it is no file of a pool";
    return out;
  }
  const os::Fd file(::openat(place.files.get(), path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno == ENOENT) return {};
  try {
    if (!file) throw errno_error(errno, "cannot open it");
    out.st = detail::look_at(file, "it");
    crypto::Hasher hasher;
    detail::read_pieces(file, "it", [&](std::string_view piece) {
      hasher.add(piece);
      out.bytes += piece.size();
    });
    const auto found = digest_of_sha256(hasher.finish());
    if (found != *digest) out.reason = fmt::format("its bytes have the digest {}", to_hex(found));
  } catch (const Error& error) {
    out.reason = error.one_line();
  }
  return out;
}

/// Moves away what was examined, if the name is still its own. Returns where to.
std::optional<std::string> move_away(const Place& place, std::uint8_t first, const std::string& name,
                                     const struct stat& st) {
  os::make_directories(place.directory + "/damaged", 0755);
  const os::Fd damaged = os::open_directory(place.directory + "/damaged");
  const detail::Shard shard(place, first);
  const auto now = shard.look(name);
  if (!now || now->st_ino != st.st_ino) return {};
  for (int n = 1;; ++n) {
    const auto target = fmt::format("{}.{}", name, n);
    if (::renameat2(shard.fd().get(), name.c_str(), damaged.get(), target.c_str(), RENAME_NOREPLACE) == 0) {
      if (::fsync(damaged.get()) != 0)
        throw errno_error(errno, fmt::format("cannot flush '{}/damaged'", place.directory));
      shard.flush();
      return fmt::format("{}/damaged/{}", place.directory, target);
    }
    if (errno != EEXIST)
      throw errno_error(errno, fmt::format("cannot move '{}' to '{}/damaged'", name, place.directory));
  }
}

void take_away(const Place& place, std::uint8_t first, const std::string& name, Finding&& finding, Findings& out) {
  Damage damage{.name = fmt::format("{:02x}/{}", first, name), .reason = std::move(finding.reason)};
  damage.links = S_ISDIR(finding.st.st_mode) ? 0 : finding.st.st_nlink - 1;
  try {
    auto moved = move_away(place, first, name, finding.st);
    if (!moved) return;  // replaced by a good one, or collected
    damage.moved_to = *std::move(moved);
  } catch (const Error& error) {
    damage.reason += "; " + error.one_line();
  }
  out.damages.push_back(std::move(damage));
}

}  // namespace

Findings Pool::fsck(const Progress& progress) const {
  Findings out;
  for (int first = 0; first < 256; ++first) {
    const auto digit = static_cast<std::uint8_t>(first);
    for (const auto& entry : os::list_directory(fmt::format("{}/sha256/{:02x}", place_->directory, first))) {
      auto finding = examine(*place_, digit, entry.name);
      if (!finding) continue;
      ++out.files;
      out.bytes += finding->bytes;
      if (!finding->reason.empty()) take_away(*place_, digit, entry.name, std::move(*finding), out);
      if (progress && !progress(out)) return out;
    }
  }
  out.complete = true;
  return out;
}

}  // namespace underway::pool
