#pragma once
/// @file
/// The directories of a pool, open, and what its parts share: the lock of a name, room, and how a verified file gets
/// its name.

#include <sys/stat.h>

#include <functional>
#include <optional>
#include <string>

#include "os/fd.hpp"
#include "pool/digest.hpp"
#include "pool/incoming.hpp"

namespace underway::pool::detail {

struct Place {
  std::string directory;
  Limits limits;
  os::Fd files;  ///< sha256
  os::Fd incoming;
};

/// "ab/ab01…": of a file, below sha256.
std::string name_of(const Digest& digest);

/// One of the 256 directories below sha256, held against all others that add to it, hold in it or remove from it. Each
/// has the directory open for itself, as flock(2) goes by that: threads exclude each other like processes.
class Shard {
 public:
  Shard(const Place& place, std::uint8_t first);
  /// At once, even if a child that is about to execute its program has a copy of the descriptor.
  ~Shard();
  Shard(const Shard&) = delete;

  const os::Fd& fd() const { return directory_; }
  /// Nothing when there is no such file.
  std::optional<struct stat> look(const std::string& hex) const;
  /// Sets its ctime; false when it is not there.
  bool hold(const std::string& hex) const;
  /// So that the names in it survive a crash.
  void flush() const;

 private:
  std::string path_;
  os::Fd directory_;
};

/// The directory `incoming`, held while a part in it is made, or looked for, and locked: so who collects never sees one
/// that is not locked yet, and is never taken for one that receives it. Not held while anything is waited for.
class Gate {
 public:
  explicit Gate(const Place& place);
  ~Gate();
  Gate(const Gate&) = delete;

 private:
  os::Fd directory_;
};

/// Throws Error(exhausted) when `bytes` more would leave less than the reserve.
void need_room(const Place& place, std::uint64_t bytes);
/// Throws Error(too_large).
void check_size(const Place& place, std::uint64_t bytes);

/// Writes all of it at `offset`, or throws, with the file as long as it was: `offset` is its end. ENOSPC is exhausted.
void write_at(const os::Fd& file, std::uint64_t offset, std::string_view bytes, const std::string& what);
/// Calls `each` with the bytes of a file from its beginning, in pieces.
void read_pieces(const os::Fd& file, const std::string& what, const std::function<void(std::string_view)>& each);
/// Of an open file.
struct stat look_at(const os::Fd& file, const std::string& what);

/// Gives a verified file of `incoming` its name in the pool and holds it. True: it is new; false: it was there, and the
/// one in `incoming` is removed.
bool give_name(const Place& place, const os::Fd& file, const std::string& incoming, const Digest& digest);

/// The lock of a part: until it is unlocked, or its descriptor closed. Behind the gate.
bool try_lock(const os::Fd& file);

}  // namespace underway::pool::detail
