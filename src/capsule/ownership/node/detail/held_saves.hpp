#pragma once
/// @file
/// The services of a capsule with `sync`, which are held until what they saved is on the standby (capsule/sync.hpp), as
/// its node meets them while it copies.

#include "ownership/messages.hpp"
#include "run/control.hpp"
#include "run/running.hpp"

namespace underway::ownership::detail {

/// Blocks: yes, for as long as the capsule's init takes to answer. When it cannot be asked, that is passed over: it
/// lets its services go on by itself.
class HeldSaves {
 public:
  /// Null where nobody is held: the job does not ask for it, or the run is of an init of an earlier version.
  static std::unique_ptr<HeldSaves> find(const CapsuleRequest& request, const run::Run& run);

  /// Before the moment that a copy is of.
  void note();
  /// That copy is on the standby. For how long a save may be missing there even so; negative: none is.
  Duration copied();

  /// From here on only waits to hear that somebody wants a copy.
  void listen();
  /// Whether somebody does. Never blocks.
  bool heard();
  /// Can be read from when there is something to be heard; -1: there will be nothing.
  int events() const;

 private:
  explicit HeldSaves(run::Control control) : control_(std::move(control)) {}

  std::optional<run::Control> control_;
  std::uint64_t newest_ = 0;
};

}  // namespace underway::ownership::detail
