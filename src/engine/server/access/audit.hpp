#pragma once
/// @file
/// The audit log: one line of JSON for every request that changes something, in `audit.log` (mode 0600) of the server's
/// directory. Who, what, from where, with which result, and what it looked like before and after; never a secret.
///
///     {"Time":"…","RequestID":"…","Accessor":"…","Name":"…","Address":"…","Method":"PUT","Route":"…","Target":"…",
///      "Namespace":"…","Subject":"jobs default/web","Before":41,"After":42,"Changes":["Priority: 50 -> 60"],
///      "Status":200}                                      on one line; "Error" too, when it was refused or failed
///
/// A line is written and synchronised before the request is answered: what somebody was told is done is in the log.
/// Room on the disk is taken before a request is let in, so that a full disk refuses the change and not its line
/// (docs/adr/0013). Lines of requests that end together are synchronised together.

#include <deque>

#include <boost/json/object.hpp>

#include "async/event.hpp"
#include "async/group.hpp"
#include "os/fd.hpp"
#include "server/trouble.hpp"

namespace underway::server {

struct AuditOptions {
  std::string path;                          ///< empty: there is no log
  std::uint64_t rotate_bytes = 64ULL << 20;  ///< then a new file is begun
  std::int64_t keep = 10;                    ///< older files: audit.log.1 is the youngest
  bool refuse_unlogged = true;               ///< changes that cannot be logged are refused; else they are warned of
};

/// What one request did.
struct AuditRecord {
  TimePoint time;
  std::string request_id;
  std::string accessor, name;  ///< of the token; "root@unix", "anonymous"
  std::string address;         ///< of the peer
  std::string method, route, target;
  std::string ns;
  std::string subject;                 ///< "jobs default/web"
  std::int64_t before = 0, after = 0;  ///< modify index of the subject; 0: it is not there
  std::vector<std::string> changes;    ///< "Priority: 50 -> 60"
  int status = 0;
  std::string error;

  /// One line, without its end; long texts are cut, so that it has at most kMaxRecordBytes.
  std::string line() const;
};

/// Bounds what a request may take of the disk.
constexpr std::size_t kMaxRecordBytes = 16 * 1024;

struct AuditQuery {
  TimePoint since;  ///< of the epoch: everything
  std::string who;  ///< accessor id (or its beginning) or name; empty: anybody
  std::size_t limit = 1000;
};

/// Whether the line tells of `who`; of anybody when that is empty.
bool is_of(const std::string& line, const std::string& who);

/// Thread: loop only; files are written on the pool.
class AuditLog {
 public:
  /// Opens or makes the file. Throws Error naming it. `pool` and `clock` outlive the log.
  AuditLog(async::Executor executor, async::Pool& pool, const Clock& clock, AuditOptions options);
  ~AuditLog();

  /// A place for one line, taken before the change and given back with it. Throws Error(exhausted) when there is no
  /// room or the log cannot be written, and refuse_unlogged.
  class Place;
  Place reserve();
  /// Why lines cannot be written; after a failure found out anew. Absent when they can.
  std::optional<Trouble> trouble();
  /// Whether changes are refused while lines cannot be written.
  bool refuses() const { return options_.refuse_unlogged; }
  /// Resumes when the line is on the disk. Throws what writing it threw.
  async::awaitable<void> write(Place place, AuditRecord record);

  /// The newest lines that the query asks for, oldest first. Lines that are no JSON are passed over.
  async::awaitable<std::vector<std::string>> read(AuditQuery query);
  /// Number of lines written since the start; changed() is notified when it grew.
  std::uint64_t written() const { return written_; }
  async::Event& changed() { return changed_; }
  /// Lines after the first `from` that were written since the start; the oldest may be gone, then fewer.
  std::vector<std::string> recent(std::uint64_t from) const;

  /// Waits until everything is on the disk.
  async::awaitable<void> stop();

 private:
  struct Pending;
  void open();
  void make_ready();
  void take_room();
  void try_again();
  async::awaitable<void> flush();
  void publish(const std::deque<std::shared_ptr<Pending>>& batch);
  void write_batch(const std::string& text);
  void rotate();

  AuditOptions options_;
  async::Pool& pool_;
  const Clock& clock_;
  os::Fd file_;
  std::uint64_t size_ = 0;      ///< of the file, with what is being written
  std::uint64_t reserved_ = 0;  ///< the file has room up to here
  std::size_t places_ = 0;      ///< taken and not given back
  std::deque<std::shared_ptr<Pending>> pending_;
  bool flushing_ = false;
  std::optional<Error> failure_;    ///< of the last write; a later one may succeed
  std::optional<Trouble> trouble_;  ///< since lines could not be written
  std::deque<std::string> recent_;
  std::uint64_t written_ = 0;
  async::Event changed_;
  async::TaskGroup tasks_;
};

class AuditLog::Place {
 public:
  Place() = default;
  explicit Place(AuditLog& log) : log_(&log) { ++log.places_; }
  Place(Place&& other) noexcept : log_(std::exchange(other.log_, nullptr)) {}
  Place& operator=(Place&& other) noexcept {
    std::swap(log_, other.log_);
    return *this;
  }
  ~Place() {
    if (log_ != nullptr) --log_->places_;
  }

 private:
  AuditLog* log_ = nullptr;
};

}  // namespace underway::server
