#include "vm/machine/machine.hpp"

#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "os/file.hpp"
#include "vm/machine/command_line.hpp"
#include "vm/qmp/guest_agent.hpp"
#include "vm/state/lease.hpp"

namespace underway::vm {

using underway::json::text_at;

const describe::Structure& description(describe::Tag<Run>) {
  static const describe::Structure s = describe::Builder<Run>("run", "A run of a machine.")
                                           .wire<&Run::machine>("Machine", "The machine.")
                                           .wire<&Run::directory>("Directory", "Where its state is.")
                                           .wire<&Run::lease>("Lease", "The file that it has locked.")
                                           .wire<&Run::incoming>("Incoming", "Whether its memory is on the way.")
                                           .done();
  return s;
}

Machine::Machine(Qmp qmp, Run run, std::string run_directory, MachineOptions options)
    : qmp_(std::move(qmp)),
      run_(std::move(run)),
      run_directory_(std::move(run_directory)),
      options_(std::move(options)) {}

Machine Machine::open(const std::string& run_directory, MachineOptions options, Duration within) {
  const auto text = os::find_file(run_directory + "/run.json");
  if (!text) throw Error(Code::not_found, fmt::format("no machine runs in '{}'", run_directory));
  auto run = underway::json::decode_text<Run>(*text);
  const auto who = fmt::format("machine '{}'", run.machine.name);
  return {Qmp::connect(run_directory, std::string(kControlSocket), who, within), std::move(run), run_directory,
          std::move(options)};
}

std::string Machine::who() const { return fmt::format("machine '{}'", run_.machine.name); }

Phase Machine::phase() {
  const auto status = text_at(qmp_.execute("query-status"), "status");
  if (status == "prelaunch") return Phase::prelaunch;
  if (status == "running") return Phase::running;
  if (status == "paused") return Phase::paused;
  if (status == "inmigrate") return Phase::inmigrate;
  // "finish-migrate" is the end of one from a machine that stood still.
  if (status == "postmigrate" || status == "finish-migrate") return Phase::postmigrate;
  return Phase::other;
}

void Machine::pause() {
  const auto turn = Turn::take(run_.directory, fmt::format("pause of {}", who()));
  if (phase() != Phase::running) return;
  write_journal(run_.directory, {Verb::paused, {}, true, false});
  qmp_.execute("stop");
}

void Machine::unpause() {
  const auto turn = Turn::take(run_.directory, fmt::format("unpause of {}", who()));
  const auto now = phase();
  if (now == Phase::running) return clear_journal(run_.directory);
  if (now != Phase::paused)
    throw Error(Code::conflict, fmt::format("{} cannot go on", who())).because("it is not suspended to RAM");
  qmp_.execute("cont");
  clear_journal(run_.directory);
}

bool Machine::runs() {
  const auto now = phase();
  if (now != Phase::running && now != Phase::paused)
    throw Error(Code::conflict, fmt::format("{} neither runs nor is paused", who()));
  return now == Phase::running;
}

void Machine::stop_for(Journal journal) {
  journal.running = runs();
  write_journal(run_.directory, journal);
  step("stop");
  if (journal.running) qmp_.execute("stop", {}, options_.patience);
}

void Machine::go_on() {
  const auto journal = read_journal(run_.directory);
  // After its memory has gone its disks are not its own: `cont` takes them back, for which nobody else may have them.
  if (journal.running || phase() == Phase::postmigrate) qmp_.execute("cont", {}, options_.patience);
  if (journal.running) return clear_journal(run_.directory);
  if (phase() == Phase::running) qmp_.execute("stop");
  write_journal(run_.directory, {Verb::paused, {}, true, false});
}

/// Of a target. Whoever moves the machine says when it may run: but for one whose source has ended meanwhile, nobody
/// is left to say so, and nobody else has it.
void Machine::settle_target(Phase now) {
  if (now == Phase::running) return arrived();
  if (now == Phase::inmigrate || migration_status() != "completed") return;
  const bool shares = os::exists(run_.directory + "/journal.json");
  if (shares && !other_is_held(run_.directory, run_.lease)) accept(options_.patience);
}

bool Machine::settle() {
  const auto turn = Turn::take(run_.directory, fmt::format("settling of {}", who()));
  const auto now = phase();
  if (run_.incoming) {
    settle_target(now);
    return true;
  }
  const auto journal = read_journal(run_.directory);
  if (now == Phase::running) {
    if (journal.verb == Verb::migrate) {
      cancel_migration();
      cancel_copies();
    }
    clear_journal(run_.directory);
    // It was woken, and nobody was left to say so.
    remove_saved(run_.directory);
    return true;
  }
  if (find_saved(run_.directory)) return false;
  switch (journal.verb) {
    case Verb::paused:
      return true;
    case Verb::suspend:
    case Verb::checkpoint:
      cancel_migration();
      go_on();
      clear_half_made(run_.directory);
      // Those of a checkpoint that is described stay. After go_on: before, its disks are nobody's.
      if (journal.verb == Verb::checkpoint &&
          !os::exists(fmt::format("{}/{}.json", checkpoint_directory(run_.directory), journal.id)))
        delete_snapshots(journal.id);
      return true;
    case Verb::migrate:
      // Sent whole: the other may run it at any moment, whatever became of who wanted it.
      cancel_migration();
      if (migration_status() == "completed") {
        if (journal.asks) return true;
        if (journal.copied) write_moved(run_.directory, {journal.id, unix_nanos(os::file_clock_now())});
        return false;
      }
      cancel_copies();
      go_on();
      return true;
    case Verb::none:
      break;
  }
  if (now == Phase::inmigrate) return true;  // whoever sends it says when it may run
  if (now == Phase::prelaunch || now == Phase::paused) qmp_.execute("cont");
  return true;
}

GuestAgent Machine::agent(Duration within) const {
  if (!run_.machine.guest_agent)
    throw Error(Code::unsupported, fmt::format("{} has no port for an agent", who()))
        .advise("guest_agent = true in the task's config");
  return GuestAgent::connect(run_directory_, std::string(kAgentSocket), who(), within);
}

void Machine::set_links(bool up) {
  for (const auto& nic : run_.machine.nics) qmp_.execute("set_link", {{"name", nic.name}, {"up", up}});
}

void Machine::power_down() {
  const auto now = phase();
  if (now == Phase::postmigrate) return quit();    // another has all of it, and nobody here hears the button
  if (now == Phase::paused) qmp_.execute("cont");  // who stands still does not see it
  if (run_.machine.guest_agent) {
    // A translated guest on a busy host takes seconds to answer; one whose agent never will loses no more than these of
    // the time that it has.
    constexpr auto kAgent = std::chrono::seconds{5};
    try {
      if (GuestAgent::connect(run_directory_, std::string(kAgentSocket), who(), kAgent).shut_down(kAgent)) return;
    } catch (const Error&) {
      // None answers: the button is there for everybody.
    }
  }
  qmp_.execute("system_powerdown");
}

void Machine::quit() {
  try {
    qmp_.execute("quit", {}, options_.patience);
  } catch (const Error& e) {
    if (e.code() != Code::unavailable) throw;
  }
  // It has answered and is about to end. Until it has, the machine cannot be started.
  const Deadline deadline(options_.patience);
  while (is_held(run_.lease)) {
    if (deadline.passed())
      throw Error(Code::timeout, fmt::format("the QEMU of {} does not end", who()))
          .because(fmt::format("it holds '{}' after {}", run_.lease, human_duration(options_.patience)));
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
}

std::vector<pid_t> Machine::vcpu_threads() {
  std::vector<pid_t> threads;
  const auto processors = qmp_.execute("query-cpus-fast");
  if (!processors.is_array()) return threads;
  for (const auto& processor : processors.get_array()) {
    const auto* object = processor.if_object();
    const auto* thread = object != nullptr ? object->if_contains("thread-id") : nullptr;
    if (thread == nullptr || !thread->is_int64()) continue;
    const auto id = static_cast<pid_t>(thread->get_int64());
    if (std::find(threads.begin(), threads.end(), id) == threads.end()) threads.push_back(id);
  }
  return threads;
}

}  // namespace underway::vm
