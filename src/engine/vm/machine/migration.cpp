// Memory that goes: to a file, or to another QEMU.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/json/json_member.hpp"
#include "base/text.hpp"
#include "os/file.hpp"
#include "vm/machine/command_line.hpp"
#include "vm/machine/machine.hpp"
#include "vm/qmp/guest_agent.hpp"
#include "vm/state/lease.hpp"

namespace underway::vm {
namespace {

namespace json = boost::json;
using underway::json::text_at;

/// Bytes a second. QEMU's own limit is 128 MiB/s, which a guest that stands still would wait for.
constexpr std::int64_t kBandwidth = 10'000'000'000;

/// That memory takes to another QEMU, at most.
constexpr Duration kLongestMove = std::chrono::hours{1};

bool is_over(const std::string& status) {
  return status == "completed" || status == "failed" || status == "cancelled" || status == "none";
}

std::string new_id() {
  // Sorts by time, and is no other's: a clock may have been set back.
  const auto now = unix_nanos(os::file_clock_now());
  return fmt::format("{:016x}", static_cast<std::uint64_t>(now));
}

/// A directory entry is on the disk when its directory is.
void flush_directory(const std::string& path) {
  const auto directory = os::open_directory(path);
  if (::fsync(directory.get()) != 0) throw errno_error(errno, fmt::format("cannot flush '{}'", path));
}

}  // namespace

void Machine::set_migration_up(bool pauses) {
  const json::array capabilities = {json::object{{"capability", "events"}, {"state", true}},
                                    json::object{{"capability", "pause-before-switchover"}, {"state", pauses}}};
  qmp_.execute("migrate-set-capabilities", {{"capabilities", capabilities}});
  qmp_.execute("migrate-set-parameters", {{"max-bandwidth", kBandwidth}});
}

std::string Machine::migration_status() {
  const auto status = text_at(qmp_.execute("query-migrate"), "status");
  return status.empty() ? "none" : status;
}

std::string Machine::migration_goes_on() {
  const auto answer = qmp_.execute("query-migrate");
  auto status = text_at(answer, "status");
  // "none": one that is waited for has not begun.
  if (is_over(status) && status != "completed" && status != "none") {
    const auto why = text_at(answer, "error-desc");
    throw Error(Code::conflict, fmt::format("the memory of {} did not arrive", who()))
        .because(why.empty() ? fmt::format("QEMU says '{}'", status) : why);
  }
  return status;
}

void Machine::finish_migration(Duration within) {
  const Deadline deadline(within);
  for (;;) {
    const auto status = migration_goes_on();
    if (status == "completed") return;
    if (deadline.passed())
      throw Error(Code::timeout, fmt::format("the memory of {} does not arrive", who()))
          .because(fmt::format("QEMU says '{}' after {}", status, human_duration(within)));
    // An event comes sooner than the next question, when it comes at all.
    static_cast<void>(
        qmp_.wait_event({"MIGRATION"}, std::min<Duration>(deadline.left(), std::chrono::milliseconds{20})));
  }
}

void Machine::cancel_migration() {
  if (is_over(migration_status())) return;
  qmp_.execute("migrate_cancel");
  const Deadline deadline(options_.patience);
  while (!is_over(migration_status())) {
    if (deadline.passed()) throw Error(Code::timeout, fmt::format("{} does not stop sending its memory", who()));
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
}

Saved Machine::stream_out(const std::string& place, const std::string& name, const std::string& id) {
  step("stream");
  os::make_directories(place, 0700);
  const auto path = place + "/" + name;
  auto file = os::open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  set_migration_up();
  auto stream = open_stream();
  qmp_.give_fd("memory", stream.theirs);
  stream.theirs.reset();
  qmp_.execute("migrate", {{"uri", "fd:memory"}});
  const auto stored = pack(stream.ours, file, path, options_.patience);
  finish_migration(options_.patience);
  step("seal");
  if (::fsync(file.get()) != 0) throw errno_error(errno, fmt::format("cannot flush '{}'", path));
  flush_directory(place);
  Saved saved;
  saved.id = id;
  saved.machine = run_.machine;
  saved.qemu = qmp_.version();
  saved.created = unix_nanos(os::file_clock_now());
  saved.memory = name;
  saved.raw_bytes = static_cast<std::int64_t>(stored.raw_bytes);
  saved.stored_bytes = static_cast<std::int64_t>(stored.stored_bytes);
  saved.sha256 = stored.sha256;
  saved.disks = look_at_disks(run_.machine);
  saved.running = read_journal(run_.directory).running;
  return saved;
}

/// After a failure: as it was before, and nothing half made. The QEMU may have ended meanwhile.
void Machine::give_up(const std::string& half_made) {
  if (!half_made.empty()) ::unlink(half_made.c_str());
  const auto verb = read_journal(run_.directory).verb;
  if (verb == Verb::none || verb == Verb::paused) return;  // it was not begun
  cancel_migration();
  go_on();
}

Saved Machine::suspend() {
  const auto turn = Turn::take(run_.directory, fmt::format("suspension of {}", who()));
  const auto id = new_id();
  const auto name = fmt::format("memory-{}.zst", id);
  require_movable("sleep");
  try {
    stop_for({.verb = Verb::suspend, .id = id});
    auto saved = stream_out(run_.directory, name, id);
    step("commit");
    write_saved(run_.directory, saved);
    step("quit");
    quit();
    clear_journal(run_.directory);
    return saved;
  } catch (Error& e) {
    if (os::exists(run_.directory + "/saved.json")) throw;  // it sleeps; who recovers it ends its QEMU
    try {
      give_up(run_.directory + "/" + name);
      e.because(fmt::format("{} goes on running", who()));
    } catch (const Error& second) {
      e.because(second.one_line());
    }
    e.while_doing(fmt::format("suspending {} to the disk", who()));
    throw;
  }
}

std::vector<std::string> Machine::writable_disks() const {
  std::vector<std::string> names;
  for (const auto& disk : run_.machine.disks) {
    if (!disk.read_only) names.push_back(disk.name);
  }
  return names;
}

void Machine::require_snapshots() const {
  for (const auto& disk : run_.machine.disks) {
    if (disk.read_only || disk.format == "qcow2") continue;
    throw Error(Code::unsupported, fmt::format("{} can have no checkpoint", who()))
        .because(fmt::format("its disk '{}' is {}, which keeps no earlier state", disk.file, disk.format))
        .advise("name it as `image`, for a layer over it that does, or convert it: qemu-img convert -O qcow2");
  }
}

void Machine::take_snapshots(const std::string& id) {
  const auto disks = writable_disks();
  if (disks.empty()) return;
  json::array actions;
  for (const auto& disk : disks)
    actions.push_back(
        {{"type", "blockdev-snapshot-internal-sync"}, {"data", {{"device", disk}, {"name", snapshot_name(id)}}}});
  // All of them or none.
  qmp_.execute("transaction", {{"actions", std::move(actions)}}, options_.patience);
}

void Machine::delete_snapshots(const std::string& id) {
  for (const auto& disk : writable_disks()) {
    try {
      qmp_.execute("blockdev-snapshot-delete-internal-sync", {{"device", disk}, {"name", snapshot_name(id)}},
                   options_.patience);
    } catch (const Error& e) {
      if (e.code() == Code::unavailable || e.code() == Code::timeout) throw;
      // It has none of that name: it was not taken, or is gone already.
    }
  }
}

Saved Machine::checkpoint(std::size_t keep) {
  const auto turn = Turn::take(run_.directory, fmt::format("checkpoint of {}", who()));
  const auto id = new_id();
  const auto place = checkpoint_directory(run_.directory);
  require_snapshots();
  require_movable("have a checkpoint");
  try {
    stop_for({.verb = Verb::checkpoint, .id = id});
    step("snapshot");
    take_snapshots(id);
    auto saved = stream_out(place, id + ".zst", id);
    step("commit");
    write_checkpoint(run_.directory, saved);
    step("run");
    go_on();
    step("forget");
    auto all = list_checkpoints(run_.directory);
    for (std::size_t i = 0; i + std::max<std::size_t>(keep, 1) < all.size(); ++i) {
      remove_checkpoint(run_.directory, all[i].id);
      delete_snapshots(all[i].id);
    }
    return saved;
  } catch (Error& e) {
    if (read_journal(run_.directory).verb == Verb::checkpoint) {
      try {
        remove_checkpoint(run_.directory, id);
        give_up({});
        delete_snapshots(id);
        e.because(fmt::format("{} goes on running", who()));
      } catch (const Error& second) {
        e.because(second.one_line());
      }
    }
    e.while_doing(fmt::format("making a checkpoint of {}", who()));
    throw;
  }
}

void Machine::wake(const Saved& saved, const os::Fd& memory) {
  step("incoming");
  set_migration_up();
  auto stream = open_stream();
  qmp_.give_fd("memory", stream.theirs);
  stream.theirs.reset();
  qmp_.execute("migrate-incoming", {{"uri", "fd:memory"}});
  step("stream");
  try {
    unpack(memory, saved.memory, stream.ours, options_.patience);
    stream.ours.reset();
    finish_migration(options_.patience);
  } catch (Error& e) {
    throw e.because(fmt::format("QEMU {} does not take what {} wrote", qmp_.version(), saved.qemu))
        .advise("boot it cold: resume = \"cold\" in the task's config");
  }
  step("run");
  if (saved.running)
    qmp_.execute("cont", {}, options_.patience);
  else
    write_journal(run_.directory, {Verb::paused, {}, true, false});
  // From here on its disks know more than what was saved.
  step("forget");
  remove_saved(run_.directory);
  if (saved.running && run_.machine.guest_agent) {
    constexpr auto kAgent = std::chrono::seconds{5};  // of a busy host
    try {
      GuestAgent::connect(run_directory_, std::string(kAgentSocket), who(), kAgent).set_time(kAgent);
    } catch (const Error&) {
      // Its clock is behind until its own time service sees to it.
    }
  }
}

bool Machine::await_standstill(Duration within) {
  const Deadline deadline(within), last(within + kLongestMove);
  for (bool converged = true;;) {
    const auto status = migration_goes_on();
    if (status == "pre-switchover" || status == "device" || status == "completed") return converged;
    if (converged && deadline.passed()) {
      step("stop");
      qmp_.execute("stop", {}, options_.patience);
      converged = false;
    }
    if (last.passed()) throw Error(Code::timeout, fmt::format("{} does not stop sending its memory", who()));
    static_cast<void>(qmp_.wait_event({"MIGRATION"}, std::chrono::milliseconds{20}));
  }
}

void Machine::send_live(const std::string& uri, bool copied, const SendOptions& options, Sent& sent) {
  step("send");
  set_migration_up(copied);
  qmp_.execute("migrate", {{"uri", uri}});
  sent.converged = await_standstill(options.converge_within);
  const auto still = std::chrono::steady_clock::now();
  if (copied) {
    step("drain");
    sent.reset = qmp_.wait_event({"RESET"}, Duration{0}).has_value();  // finish_copies reads all events
    finish_copies();
    qmp_.execute("migrate-continue", {{"state", "pre-switchover"}}, options_.patience);
  }
  finish_migration(options_.patience);
  sent.stood_still = std::chrono::steady_clock::now() - still;
}

/// Whose disks are copied stands still for the last of them, too: what is written behind the copy would be lost.
void Machine::send_still(const std::string& uri, const Journal& journal, Sent& sent) {
  stop_for(journal);
  const auto still = std::chrono::steady_clock::now();
  if (journal.copied) {
    step("drain");
    finish_copies();
  }
  step("send");
  set_migration_up();
  qmp_.execute("migrate", {{"uri", uri}});
  finish_migration(kLongestMove);
  sent.stood_still = std::chrono::steady_clock::now() - still;
}

Sent Machine::send(const std::string& uri, const std::string& disks, const SendOptions& options) {
  const auto turn = Turn::take(run_.directory, fmt::format("migration of {}", who()));
  require_movable("move");
  Journal journal{.verb = Verb::migrate, .id = uri, .copied = !disks.empty(), .asks = options.asks};
  Sent sent;
  try {
    static_cast<void>(qmp_.take_events());
    journal.running = runs();
    write_journal(run_.directory, journal);
    if (journal.copied) {
      step("copy");
      copy_disks(disks);
    }
    if (options.live.value_or(run_.machine.accelerator == Accelerator::kvm))
      send_live(uri, journal.copied, options, sent);
    else
      send_still(uri, journal, sent);
    if (qmp_.wait_event({"RESET"}, Duration{0})) sent.reset = true;
    return sent;
  } catch (Error& e) {
    try {
      if (journal.copied) cancel_copies();
      give_up({});
      e.because(fmt::format("{} goes on running here", who()));
    } catch (const Error& second) {
      e.because(second.one_line());
    }
    e.while_doing(fmt::format("moving {} to {}", who(), uri));
    throw;
  }
}

void Machine::stay() {
  if (read_journal(run_.directory).verb == Verb::migrate) go_on();
}

void Machine::leave() {
  if (const auto journal = read_journal(run_.directory); journal.copied)
    write_moved(run_.directory, {journal.id, unix_nanos(os::file_clock_now())});
  quit();
  clear_journal(run_.directory);
}

void Machine::listen(const std::string& uri) {
  set_migration_up();
  qmp_.execute("migrate-incoming", {{"uri", uri}});
}

void Machine::await_memory(Duration within) { finish_migration(within); }

void Machine::accept(Duration within) {
  finish_migration(within);
  stop_serving_disks();
  step("run");
  if (phase() != Phase::running) qmp_.execute("cont", {}, options_.patience);
  arrived();
}

void Machine::arrived() {
  // Its disks are those of now, here.
  clear_moved(run_.directory);
  run_.incoming = false;
  write_run_file();
}

namespace {

/// Empty when no agent answers.
std::string boot_id_of(const std::string& run_directory, const MachineSpec& spec) {
  constexpr auto kAgent = std::chrono::seconds{2};
  if (!spec.guest_agent) return {};
  try {
    const auto who = fmt::format("machine '{}'", spec.name);
    return GuestAgent::connect(run_directory, std::string(kAgentSocket), who, kAgent).boot_id(kAgent);
  } catch (const Error&) {
    return {};
  }
}

/// That it cannot be told is no news: it ends by itself when its memory stops coming.
void discard(Machine& target) {
  try {
    target.quit();
  } catch (const Error& e) {
    if (e.code() == Code::timeout) throw;
  }
}

}  // namespace

Moved migrate(Machine& source, Machine& target, const std::string& uri, Duration within, const std::string& disks) {
  const auto before = boot_id_of(source.run_directory(), source.spec());
  Moved moved;
  try {
    moved.rebooted = source.send(uri, disks).reset;
  } catch (...) {
    discard(target);  // it has nothing, or a part
    throw;
  }
  try {
    target.accept(within);
  } catch (...) {
    // It has all, and perhaps runs: only when it is surely gone does the source go on.
    discard(target);
    source.stay();
    throw;
  }
  source.leave();
  if (target.qmp().wait_event({"RESET"}, Duration{0})) moved.rebooted = true;
  const auto after = before.empty() ? before : boot_id_of(target.run_directory(), target.spec());
  if (!after.empty() && after != before) moved.rebooted = true;
  return moved;
}

}  // namespace underway::vm
