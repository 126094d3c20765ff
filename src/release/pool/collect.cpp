#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "os/file.hpp"
#include "pool/detail/place.hpp"
#include "pool/pool.hpp"

namespace underway::pool {
namespace {

using detail::Place;

bool is_old(const struct stat& st, Duration grace, TimePoint now) {
  return from_unix_nanos(st.st_ctim.tv_sec * 1'000'000'000 + st.st_ctim.tv_nsec) + grace <= now;
}

std::vector<Digest> unreferenced(const Place& place, std::uint8_t first, std::span<const Digest> in_use) {
  std::vector<Digest> out;
  for (const auto& entry : os::list_directory(fmt::format("{}/sha256/{:02x}", place.directory, first)))
    if (const auto digest = parse_hex(entry.name); digest && digest->front() == first && entry.type == DT_REG)
      if (!std::ranges::binary_search(in_use, *digest)) out.push_back(*digest);
  return out;
}

/// Whether a file was held is asked while nobody can hold it.
void collect_files(const Place& place, std::uint8_t first, std::span<const Digest> in_use, Duration grace,
                   TimePoint now, Freed& freed) {
  const auto candidates = unreferenced(place, first, in_use);
  // Others wait for the lock: it is taken anew every few files.
  constexpr std::size_t kAtOnce = 64;
  for (std::size_t begin = 0; begin < candidates.size(); begin += kAtOnce) {
    const detail::Shard shard(place, first);
    for (std::size_t i = begin; i < std::min(begin + kAtOnce, candidates.size()); ++i) {
      const auto hex = to_hex(candidates[i]);
      const auto st = shard.look(hex);
      if (!st || !is_old(*st, grace, now)) continue;
      if (::unlinkat(shard.fd().get(), hex.c_str(), 0) != 0)
        throw errno_error(errno, fmt::format("cannot remove '{}' of '{}'", hex, place.directory));
      freed.files.push_back(candidates[i]);
      if (st->st_nlink == 1) freed.bytes += static_cast<std::uint64_t>(st->st_size);
    }
  }
}

/// Whoever is at a part has its lock.
void collect_parts(const Place& place, Duration grace, TimePoint now, Freed& freed) {
  for (const auto& entry : os::list_directory(place.directory + "/incoming")) {
    const detail::Gate gate(place);
    const os::Fd part(
        ::openat(place.incoming.get(), entry.name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!part || !detail::try_lock(part)) continue;
    const auto st = detail::look_at(part, entry.name);
    if (is_old(st, grace, now) && ::unlinkat(place.incoming.get(), entry.name.c_str(), 0) == 0) {
      ++freed.parts;
      if (st.st_nlink == 1) freed.bytes += static_cast<std::uint64_t>(st.st_size);
    }
    ::flock(part.get(), LOCK_UN);
  }
}

}  // namespace

Freed Pool::collect(std::span<const Digest> in_use, Duration grace, TimePoint now) const {
  if (!std::ranges::is_sorted(in_use))
    throw Error(Code::internal, "nothing was collected").because("what is in use is not sorted");
  Freed freed;
  for (int first = 0; first < 256; ++first)
    collect_files(*place_, static_cast<std::uint8_t>(first), in_use, grace, now, freed);
  collect_parts(*place_, grace, now, freed);
  return freed;
}

}  // namespace underway::pool
