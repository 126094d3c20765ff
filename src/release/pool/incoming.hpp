#pragma once
/// @file
/// A file that comes into a pool piece by piece, as from a mirror.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "crypto/hasher.hpp"
#include "os/fd.hpp"
#include "pool/digest.hpp"

namespace underway::pool {

namespace detail {
struct Place;
}

/// What nothing can go beyond, whatever a list announces.
struct Limits {
  std::uint64_t largest = std::uint64_t{64} << 30;  ///< bytes of a file
  std::uint64_t reserve = std::uint64_t{1} << 30;   ///< bytes that are left free on the disk
};

struct Wanted {
  Digest digest{};
  std::uint64_t size = 0;  ///< bytes
};

/// Held by one at a time (flock(2)). What has arrived stays when this is destroyed, or its process killed, and is
/// hashed anew by who goes on. Thread: one.
class Incoming {
 public:
  Incoming(Incoming&&) noexcept = default;
  Incoming& operator=(Incoming&&) = delete;
  ~Incoming();

  /// Bytes that are here.
  std::uint64_t received() const { return received_; }
  /// Adds bytes at `offset`; those that are here already are skipped. Returns what is here then.
  /// Errors: conflict when something between is missing; too_large beyond the announced size; exhausted when less than
  /// the reserve would be left, or there is no space: what was here before is kept.
  std::uint64_t append(std::uint64_t offset, std::string_view bytes);
  /// What is here is thrown away, and it comes from its beginning: from a server that does not go on in the middle.
  void restart();
  /// It is a file of the pool, held, when this returns. Errors: conflict when bytes are missing; denied when they are
  /// other ones, which are then removed, so that the next try starts anew. Nothing but the destructor may follow.
  /// Blocks: yes.
  void finish();
  /// Forgets what has arrived. Nothing but the destructor may follow.
  void discard();

 private:
  friend class Pool;
  Incoming(std::shared_ptr<const detail::Place> place, const Wanted& wanted);
  void hash_what_is_here();

  std::shared_ptr<const detail::Place> place_;
  Wanted wanted_;
  std::string name_;
  os::Fd file_;
  crypto::Hasher hasher_;
  std::uint64_t received_ = 0;
};

}  // namespace underway::pool
