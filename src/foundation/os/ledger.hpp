#pragma once
/// @file
/// The ledger: what we are about to leave in the kernel, written down first, so that the next start can undo what a
/// `kill -9` left behind, and nothing else.
///
///   auto entry = ledger.record({.kind = "mount", .object = root, .owner = host});   // before the kernel knows
///   Mount mount = Mount::bind(source, root);
///   …
///   mount.unmount();  entry.settle();                                               // the kernel has forgotten it
///
/// Form: one append-only file of checksummed lines, one write(2) per batch. `<path>.lock` is held while it is open.
///
///     offset  size  field
///     0       8     FNV-1a (32 bits) of the JSON, in lower-case hexadecimal
///     8       1     a blank
///     9       n     JSON, one of
///                     {"op":"record","id":N,"boot":B,"kind":K,"object":O,"context":C,"owner":W}
///                     {"op":"settle","id":N}
///     9 + n   1     a newline
///
///   id     counts up; a `settle` closes the `record` with its number
///   boot   /proc/sys/kernel/random/boot_id when it was written
///   kind, object, context, owner: LedgerItem
///
/// Kernel objects die with the kernel, and what was written survives the death of the writer, so only entries that
/// outlive a boot (directories, files) cost an fsync; a file per entry would cost two renames and two fsyncs for each
/// of a host's twelve objects. Entries of an earlier boot that the kernel has forgotten are dropped on opening. A line
/// whose sum is wrong (a torn tail, a torn line after a power failure) is skipped. Once more than 4096 lines are
/// settled, and twice as many as are open, the file is written anew with the open ones.

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "os/fd.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"

namespace underway::os {

struct LedgerItem {
  /// "mount", "netns", "cgroup", "process", "directory" are undone by this library; other libraries add theirs
  /// ("link").
  std::string kind;
  /// A path; for "process" what to_object() gives; for "cgroup" the relative path; for "link" its name.
  std::string object;
  /// What more it takes to undo it, e.g. the pinned network namespace that a link is in.
  std::string context;
  /// On whose behalf: a host's or an allocation's name.
  std::string owner;
  bool operator==(const LedgerItem&) const = default;
};
/// "4711:88123", the object of a "process" item.
std::string to_object(const ProcessIdentity& identity);
std::optional<ProcessIdentity> parse_process_object(std::string_view object);

class Ledger {
 public:
  using EntryId = std::uint64_t;
  struct Open {
    EntryId id;
    LedgerItem item;
  };
  /// Undoing must be idempotent: the object may be half made or gone. Throws Error when it could not be undone.
  using Undo = std::function<void(const LedgerItem&)>;

  /// A recorded item. Moves; its destructor does nothing: an entry stays open until settled.
  class Entry {
   public:
    Entry(Entry&&) noexcept = default;
    Entry& operator=(Entry&&) noexcept = default;
    EntryId id() const { return id_; }
    void settle();

   private:
    friend class Ledger;
    Entry(Ledger* ledger, EntryId id) : ledger_(ledger), id_(id) {}
    Ledger* ledger_;
    EntryId id_;
  };

  /// Opens or creates the file, with a lock beside it ("<path>.lock").
  /// Errors: conflict when another process has it open, naming that process.
  explicit Ledger(std::string path);
  Ledger(const Ledger&) = delete;

  /// Thread: any, for all of these.
  Entry record(const LedgerItem& item);
  std::vector<Entry> record(const std::vector<LedgerItem>& items);
  void settle(EntryId id);
  /// In the order of recording.
  std::vector<Open> unsettled() const;
  std::vector<Open> unsettled(const std::string& owner) const;
  /// Lines that could not be read on opening.
  std::size_t skipped_lines() const { return skipped_; }

  void on_undo(const std::string& kind, Undo undo);
  /// Undoes what `wanted` chooses, latest first, and settles what succeeded. The failures come back, each naming its
  /// item; those entries stay.
  std::vector<Error> undo(const std::function<bool(const LedgerItem&)>& wanted);
  std::vector<Error> undo_all();

 private:
  void load();
  void append(const std::string& lines, bool flush);
  void compact();

  FileLock lock_;
  std::string path_;
  Fd file_;
  mutable std::mutex mutex_;
  std::map<EntryId, LedgerItem> open_;
  std::map<std::string, Undo, std::less<>> undo_;
  EntryId next_ = 1;
  std::size_t skipped_ = 0;
  std::size_t settled_lines_ = 0;
};

}  // namespace underway::os
