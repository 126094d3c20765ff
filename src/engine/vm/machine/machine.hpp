#pragma once
/// @file
/// A machine that runs, and what can be done to it. It is a QEMU under a keeper (driver.hpp starts it); this is how
/// whoever is about at the moment talks to it. Agents come and go: all that a verb has to remember while the guest
/// stands still is in the machine's directory (journal.hpp), and `settle` makes up its mind for a dead one.
///
///   Machine machine = Machine::open(run_directory);
///   machine.pause(); machine.unpause();            // in memory: stop, cont
///   Saved saved = machine.suspend();               // to the disk; the QEMU has ended. Start goes on from there
///   Saved then = machine.checkpoint(3);            // goes on running; restore() goes back
///   machine.send("tcp:10.0.0.7:4444"); …           // to a QEMU that waits there, see migrate()
///
/// Each verb is a row of steps that `on_step` is told of, each before it is begun. What fails, or ends, in any of them
/// leaves the guest running where it was, or asleep with everything described: never both, never neither.
/// Blocks: yes: milliseconds to pause, else as long as it takes to move the memory. Thread: one at a time.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vm/machine/machine_spec.hpp"
#include "vm/qmp/guest_agent.hpp"
#include "vm/qmp/qmp.hpp"
#include "vm/state/journal.hpp"
#include "vm/state/saved.hpp"

namespace underway::vm {

/// A run of a machine: what its run directory says of it (run.json).
struct Run {
  MachineSpec machine;
  std::string directory;  ///< the machine's own, where its state is
  std::string lease;      ///< the file that its QEMU has locked
  bool incoming = false;  ///< its memory is on the way from another QEMU, or here and not let run yet
};
const describe::Structure& description(describe::Tag<Run>);

struct MachineOptions {
  /// Told before each part of a verb: for tests that end somebody there.
  std::function<void(const std::string&)> on_step;
  /// How long QEMU may make no progress with anything.
  Duration patience = std::chrono::seconds{60};
};

/// As QEMU has it (RunState of its QMP reference).
enum class Phase : std::uint8_t {
  prelaunch,  ///< not let run yet
  running,
  paused,       ///< suspended to RAM, or in the middle of a verb
  inmigrate,    ///< its memory is coming
  postmigrate,  ///< its memory has gone: to a file, or to another QEMU
  other         ///< "io-error", "shutdown", …
};

struct SendOptions {
  /// Its guest runs while most of its memory goes, and stands still for the rest of it. Absent: with real KVM.
  std::optional<bool> live = {};
  /// How long such a guest may write faster than that goes; then it stands still for what is left.
  Duration converge_within = std::chrono::minutes{2};
  /// Once all is sent it stands still here until stay() or leave(), whoever dies meanwhile: somebody else knows which.
  /// Else it is then the other's.
  bool asks = false;
};

struct Sent {
  bool reset = false;       ///< its guest was reset meanwhile: QEMU calls that a success
  bool converged = true;    ///< false: it had to be stopped, see SendOptions
  Duration stood_still{0};  ///< until all was sent
};

class Machine {
 public:
  /// Of a run that lives. Errors: not_found, unavailable (its QEMU has ended), timeout (it hangs).
  static Machine open(const std::string& run_directory, MachineOptions options = {},
                      Duration within = std::chrono::seconds{10});

  Phase phase();
  const MachineSpec& spec() const { return run_.machine; }
  const std::string& directory() const { return run_.directory; }
  const std::string& run_directory() const { return run_directory_; }
  Qmp& qmp() { return qmp_; }

  /// Suspends to RAM: its processors stand still, its memory stays. Nothing happens when they do.
  void pause();
  /// Errors: conflict when it is not paused, or when its memory has gone elsewhere.
  void unpause();

  /// Steps: stop, stream, seal, commit, quit. Errors: exhausted (the disk is full) and others: it runs on.
  Saved suspend();
  /// Steps: stop, snapshot, stream, seal, commit, run, forget. Keeps the newest `keep`, and at least this one. Errors:
  /// unsupported (a disk without snapshots) and those of suspend: it runs on, and nothing is left of it.
  Saved checkpoint(std::size_t keep);

  /// Takes in what was saved, `memory` as open_verified opened it; it runs afterwards as it did then. Steps: incoming,
  /// stream, run, forget. Errors: then the QEMU is to be ended; what was saved is good as before.
  void wake(const Saved& saved, const os::Fd& memory);

  /// Sends everything to the QEMU that listens at `uri`. Its processors stand still before the rest of its memory when
  /// it goes live, and else from the step `stop` on, before all of it. It returns when the other has all: then exactly
  /// one of stay and leave is to be called. `disks`: where the other takes them (serve_disks), when it does not see
  /// these; they are copied while the guest runs. Steps: copy (with `disks`), stop, drain (with `disks`), send; live:
  /// copy, send, stop (only when it has to be made to), drain. Errors: it runs on here, as when the target dies;
  /// unsupported (it has devices of this host).
  Sent send(const std::string& uri, const std::string& disks = {}, const SendOptions& options = {});
  /// The other does not run it and never will: go on here. Nothing happens when it does.
  void stay();
  /// The other runs it: this QEMU ends.
  void leave();

  /// The other end: listens at `uri` ("tcp:10.0.0.7:4444", "unix:/path").
  void listen(const std::string& uri);
  /// Takes its disks over the network (NBD) until it is accepted.
  void serve_disks(const std::string& uri);
  /// Until its memory is here; it stands still. Errors: timeout; conflict when it did not arrive whole.
  void await_memory(Duration within);
  /// Once the memory is here: runs. Errors: as of await_memory.
  void accept(Duration within);

  /// Makes up its mind for whoever began something and died. Idempotent; true when the machine goes on here. False: its
  /// QEMU is to be ended, because it sleeps or runs elsewhere.
  bool settle();

  /// Takes a device of the host out of the running guest, by its name, and what it needs of the host can be another's.
  /// Errors: not_found; timeout, conflict (the guest does not let go).
  void unplug(const std::string& name, Duration within);
  /// Into a port that is free; the turn is the caller's, as a start has it. Errors: exhausted (it has no such port),
  /// conflict.
  void plug(const SharedMemorySpec& memory);
  void plug(const HostDeviceSpec& device);
  /// Errors: unavailable, timeout (no agent answers in the guest); unsupported (it has no port for one).
  GuestAgent agent(Duration within) const;
  /// Whether the guest sees its networks' cables.
  void set_links(bool up);

  /// ACPI's power button, or the guest agent when the machine has one that answers.
  void power_down();
  /// Ends its QEMU at once, as pulling the plug does, and returns when it has ended.
  void quit();
  /// The threads of its processors, in their order; one for all where it is translated.
  std::vector<pid_t> vcpu_threads();

 private:
  Machine(Qmp qmp, Run run, std::string run_directory, MachineOptions options);
  void step(const char* name) const {
    if (options_.on_step) options_.on_step(name);
  }
  std::string who() const;
  /// Whether it runs; false: it is paused. Errors: conflict (it is on its way, or hangs).
  bool runs();
  void stop_for(Journal journal);
  void go_on();
  void settle_target(Phase now);
  void arrived();
  void give_up(const std::string& half_made);
  Saved stream_out(const std::string& place, const std::string& name, const std::string& id);
  /// `pauses`: it stops before it hands the disks over, until it is told to go on (pre-switchover).
  void set_migration_up(bool pauses = false);
  std::string migration_status();
  /// Its status. Errors: conflict, saying why it failed.
  std::string migration_goes_on();
  /// To its end. Errors: conflict, saying why it failed.
  void finish_migration(Duration within);
  /// Until a guest that goes live stands still; false: it had to be made to.
  bool await_standstill(Duration within);
  void send_live(const std::string& uri, bool copied, const SendOptions& options, Sent& sent);
  void send_still(const std::string& uri, const Journal& journal, Sent& sent);
  void cancel_migration();
  void take_snapshots(const std::string& id);
  void delete_snapshots(const std::string& id);
  /// Those that the guest writes to.
  std::vector<std::string> writable_disks() const;
  /// Errors: unsupported (a disk that keeps no earlier state).
  void require_snapshots() const;
  void require_movable(const char* what) const;
  void copy_disks(const std::string& uri);
  void finish_copies();
  void forget_copies();
  void cancel_copies();
  void stop_serving_disks();
  void remove_device(const std::string& name, Duration within);
  /// Until QEMU has let go of memory that nothing uses any more.
  void await_freed(const std::string& memory, Duration within);
  void require_port(const std::string& name, std::int64_t port) const;
  void write_run_file() const;

  Qmp qmp_;
  Run run_;
  std::string run_directory_;
  MachineOptions options_;
};

struct Moved {
  /// The guest has booted anew on the way, by its own doing or because its memory was damaged: what ran in it has
  /// ended, although every QEMU says that all went well. Known by its boot id where an agent answers, else by a reset.
  bool rebooted = false;
};
/// Moves a machine from one QEMU to another that listens at `uri`; this process can reach both. The source is only left
/// when the target runs it. Errors: those of send and accept: it runs on at the source.
/// `disks`: as in send.
Moved migrate(Machine& source, Machine& target, const std::string& uri, Duration within, const std::string& disks = {});

}  // namespace underway::vm
