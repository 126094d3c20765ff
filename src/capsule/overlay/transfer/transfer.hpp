#pragma once
/// @file
/// Copying an overlay's tree to another host, in rounds while the source is in use, and a last one while nobody writes.
/// A Sender and a Receiver do one round: the receiver tells what it has, the sender sends what differs. Each takes
/// bytes of its peer and gives bytes for it; who moves them is the caller's business:
///
///     for (Sender sender(upper, {}); !sender.done();) {          // the same with a Receiver
///       const auto bytes = sender.next();                        // blocks (disk): on a pool
///       if (!bytes.empty()) pipe.write(bytes);
///       else sender.receive(pipe.read());                        // blocks (disk)
///     }
///
/// A round that breaks off, at any byte, costs what was under way: the next one finds what has arrived. What the peer
/// sends is not trusted: it cannot reach outside of the receiver's tree, nor use more than the limits.
///
/// The receiver's directory (a copy) must lie on the file system of the overlay that it is to become, e.g.
/// Mounted::layer() + "/copy":
///
///     <dir>/tree        the copy
///     <dir>/copy.json   what it is: CopyState
///     <dir>/index.<n>   what the tree holds, with digests; made anew by reading the tree when it is lost
///     <dir>/round.<n>   differences that are not in the tree yet
///
/// A consistent copy stays one: differences wait in `round.<n>` until a consistent round has them complete, and then go
/// into the tree in one step that survives a crash. Without a consistent copy they go into the tree at once.
///
/// Copied are files (holes stay holes), directories, links, hard links, whiteouts, with owners, modes, times, and the
/// extended attributes trusted.overlay.*, user.*, security.capability and system.posix_acl_*. Fifos, sockets and
/// devices other than whiteouts are left out: they mean nothing without the process that made them.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/json/describe.hpp"

namespace underway::overlay {

/// What one round did; on both sides, complete when it is done.
struct Round {
  std::uint64_t sent_bytes = 0;     ///< over the pipe, to the receiver
  std::uint64_t told_bytes = 0;     ///< over the pipe, from the receiver
  std::uint64_t files = 0;          ///< paths of which something was sent: content, attributes, a new link
  std::uint64_t removed = 0;        ///< paths that are gone
  std::uint64_t content_bytes = 0;  ///< of files, that were sent
  std::uint64_t skipped_bytes = 0;  ///< of files, that the receiver had
  std::uint64_t left_out = 0;       ///< fifos, sockets, devices
  /// Changed at the source while the round ran, and to be looked at in the next: what one more round sends at most.
  /// Nothing in a consistent round.
  std::uint64_t left_files = 0;
  std::uint64_t left_bytes = 0;
  Duration took{0};    ///< from the first byte of the receiver's
  std::string digest;  ///< of everything: names, attributes, content; hex
};

struct SendOptions {
  /// Nobody writes: the file system is frozen, or everything that writes has ended. Such a round makes the copy a
  /// consistent one.
  bool consistent = false;
  /// On tmpfs, too, what a file's times say counts: a write through a mapping may be missed there. For rounds that
  /// follow each other closely, of which some are not quick.
  bool quick = false;
  /// Of a round with `release`: when more has changed than is read at once while the writers stand still, it is broken
  /// off, Error(too_large), and nobody stands still for what can be sent before. Otherwise they wait until all is sent.
  bool brief = false;
  /// Writers stand still for so long at most: then the round is broken off, Error(timeout). 0: for as long as it takes.
  Duration longest_hold{0};
  /// Says what the copy is of, e.g. the owner's epoch; kept in CopyState.
  std::string label;
  /// Before anything is looked at, when the receiver has said what it has: here writers are stopped, so that they do
  /// not wait for the way there.
  std::function<void()> hold;
  /// When everything has been read, and before the receiver takes it for good: here a freeze is thawed. When it throws,
  /// the receiver forgets that the round was consistent, and next() throws the same.
  std::function<void()> release;
};

/// One side of a round. Thread: any, one at a time. After an exception of next() or receive() what next() still gives
/// tells the peer why, if the pipe still stands.
class Party {
 public:
  virtual ~Party() = default;
  /// Bytes for the peer, at most about 1 MiB; nothing: it waits for the peer, or is done.
  /// Errors: conflict when a file changed in a consistent round; those of the disk; the peer's own.
  virtual std::string next() = 0;
  /// Errors: invalid when this is no peer's.
  virtual void receive(std::string_view bytes) = 0;
  virtual bool done() const = 0;
  virtual const Round& round() const = 0;
};

class Sender final : public Party {
 public:
  /// `upper`: Mounted::upper().
  Sender(const std::string& upper, SendOptions options);
  ~Sender() override;
  std::string next() override;
  void receive(std::string_view bytes) override;
  bool done() const override;
  const Round& round() const override;
  /// What look_at() would have said when the round looked; what changed later is in another.
  const std::string& looked() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What the receiver takes from a peer.
struct ReceiveLimits {
  std::uint64_t paths = 4'000'000;
  std::uint64_t content_bytes = std::uint64_t{1} << 40;  ///< sizes of all files together
};

class Receiver final : public Party {
 public:
  /// Creates `dir` if there is none. Errors: conflict while another receives there.
  explicit Receiver(const std::string& dir, ReceiveLimits limits = {});
  ~Receiver() override;
  std::string next() override;
  void receive(std::string_view bytes) override;
  bool done() const override;
  const Round& round() const override;
  /// What it failed with was told by the sender: it says nothing of this host.
  bool failed_there() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What the times, sizes and names below `upper` are now, in a few bytes: as long as they stay, nothing was written
/// that a round would send. (A write through a mapping changes them when the kernel writes it out.) Blocks: looks at
/// every path, at about a microsecond each.
std::string look_at(const std::string& upper);

/// A whole round on this host. Blocks: yes.
Round copy_here(const std::string& upper, const std::string& dir, SendOptions options = {});

/// What a copy is.
struct CopyState {
  std::int64_t version = 1;
  /// The tree is what the source was at one moment.
  bool consistent = false;
  std::int64_t at = 0;  ///< that moment by the source's clock, ns since the epoch
  std::string label;    ///< of the round that made it
  std::string digest;
  std::int64_t files = 0;
  std::int64_t bytes = 0;
  /// A consistent round is complete, and is being put into the tree.
  bool applying = false;
  std::int64_t generation = 0;  ///< the <n> of the files
  std::int64_t tree_inode = 0;
};
const describe::Structure& description(describe::Tag<CopyState>);

/// Nothing where there is no copy. Puts a complete round into the tree first, if a crash kept it from being done.
std::optional<CopyState> find_copy(const std::string& dir);
/// Reads the whole tree and compares it with the index. Errors: internal, naming the first path that differs.
void verify_copy(const std::string& dir);
/// Makes the copy the overlay's upper layer, in one step; what was there is removed, and the copy is gone. May be
/// called again after a crash, or once more. Errors: conflict when the copy is not consistent; not_found when there is
/// none and `upper` did not come of one.
void install_copy(const std::string& dir, const std::string& upper);
/// Makes an upper layer that is of no more use (the capsule has moved away) a consistent copy of what was written until
/// `at`, so that the way back sends differences only. `upper` is empty afterwards. Nothing happens when there is a copy
/// already. Blocks: reads all of it.
void keep_as_copy(const std::string& upper, const std::string& dir, const std::string& label, TimePoint at);
void remove_copy(const std::string& dir);

}  // namespace underway::overlay
