// A machine's start, in the order that driver.hpp has.
#include <sched.h>
#include <signal.h>

#include <cerrno>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "driver/local_task.hpp"
#include "net/netlink.hpp"
#include "os/file.hpp"
#include "vm/clone/clone.hpp"
#include "vm/clone/identity.hpp"
#include "vm/config.hpp"
#include "vm/detail/start.hpp"
#include "vm/layout.hpp"
#include "vm/live.hpp"
#include "vm/machine/command_line.hpp"
#include "vm/seed.hpp"
#include "vm/state/arrival.hpp"
#include "vm/state/disk_image.hpp"
#include "vm/state/lease.hpp"
#include "vm/state/shared_memory.hpp"

namespace underway::vm {
namespace {

namespace local = driver::local;
using driver::TaskSpec;

/// From its start to its control socket: some 0.1 s, and seconds on a machine that does much else.
constexpr auto kStartPatience = std::chrono::seconds{30};

/// What QEMU itself said before it ended: its last lines, the cause first.
std::string last_words(const TaskSpec& spec, std::size_t lines = 1) {
  std::string last;
  for (std::uint32_t i = 0; i < std::max<std::uint32_t>(spec.log_files, 1); ++i) {
    const auto text = os::find_file(fmt::format("{}/logs/{}.stderr.{}", spec.alloc_dir, spec.task, i));
    if (text && !trim(*text).empty()) last = std::string(trim(*text));
  }
  auto all = split(last, '\n');
  if (all.size() > lines) all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(lines));
  return join(all, "; ");
}

/// Where the kernel runs a thread; nothing happens to one that has ended.
void pin(const std::vector<pid_t>& threads, const std::string& cpuset) {
  std::vector<int> cores;
  for (const auto& part : split_list(cpuset)) {
    const auto dash = part.find('-');
    const int first = std::stoi(part);
    const int last = dash == std::string::npos ? first : std::stoi(part.substr(dash + 1));
    for (int core = first; core <= last; ++core) cores.push_back(core);
  }
  for (std::size_t i = 0; i < threads.size() && !cores.empty(); ++i) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cores[i % cores.size()]), &set);
    if (::sched_setaffinity(threads[i], sizeof set, &set) != 0 && errno != ESRCH)
      throw errno_error(errno, fmt::format("cannot keep a processor on core {}", cores[i % cores.size()]));
  }
}

}  // namespace

void join_bridges(const MachineSpec& machine, const TaskSpec& spec) {
  if (machine.nics.empty()) return;
  net::Netlink links(spec.network.namespace_path.empty() ? net::Namespace::current()
                                                         : net::Namespace::open(spec.network.namespace_path));
  for (const auto& nic : machine.nics) {
    if (!links.find_link(nic.bridge))
      throw Error(Code::not_found, fmt::format("machine '{}' cannot join its network", machine.name))
          .because(fmt::format("there is no bridge '{}' on node '{}'", nic.bridge, spec.node))
          .advise("name a `bridge` that is there, or declare the network's bridge for the node's pool");
    links.set_master(nic.tap, nic.bridge);
    links.set_up(nic.tap);
  }
}

void identify(const Options& options, Machine& machine, const TaskSpec& spec) {
  const auto identity = find_identity(machine.directory());
  if (!identity) return;
  const auto step = [&](const char* name) {
    if (options.on_step) options.on_step(name);
  };
  step("identify");
  const auto who = fmt::format("machine '{}'", machine.spec().name);
  const Deadline deadline(options.identify_within);
  auto agent = machine.agent(deadline.left());
  apply_identity(agent, *identity, os::read_file(options.identify_program), who, options.clock->now(), deadline.left());
  step("attach");
  join_bridges(machine.spec(), spec);
  machine.set_links(true);
  clear_identity(machine.directory());
}

namespace {

class Start {
 public:
  Start(const Options& options, const Probed& found, const TaskSpec& spec)
      : options_(options), found_(found), spec_(spec), config_(parse_config(spec.config)) {}

  std::unique_ptr<driver::TaskHandle> carry_out() {
    const auto word = [&](const char* name) {
      const auto found = spec_.env.find(name);
      return found == spec_.env.end() ? std::string() : found->second;
    };
    incoming_ = spec_.takes_in ? "unix:" + entrance_name(driver::MachinePart::memory) : word(Options::kIncoming);
    incoming_disks_ =
        spec_.takes_in ? "unix:" + entrance_name(driver::MachinePart::disk) : word(Options::kIncomingDisks);
    local::prepare_directories(spec_, os::current_user());
    layout_ = lay_out(config_, spec_, options_.machines, accelerator());
    if (!spec_.arrived.empty()) {
      step("arrive");
      settle_arrival(spec_.arrived, layout_);
    }
    os::make_directories(layout_.directory, 0700);
    const auto& name = layout_.machine.name;
    step("turn");
    const auto turn = Turn::take(layout_.directory, fmt::format("start of machine '{}' by {}", name, whose()));
    lease_ =
        choose_lease(layout_.directory, name, fmt::format("machine '{}' of {}", name, whose()), !incoming_.empty());
    look_where_it_is();
    if (!spec_.restore.empty() && incoming_.empty()) {
      step("restore");
      restore(layout_.directory, spec_.restore, layout_.machine);
    }
    look_for_saved();
    prepare_disks();
    layout_.machine.generation = generation();
    try {
      share();
      write_run();
      // One that takes in a machine of the same directory finds that machine's there.
      if (incoming_.empty() || !incoming_disks_.empty()) clear_journal(layout_.directory);
      step("launch");
      auto task = launch();
      try {
        bring_up(*task);
      } catch (...) {
        end(*task);
        throw;
      }
      return task;
    } catch (...) {
      for (const auto& shared : layout_.shared_names) release_memory(options_.shared_memory, shared, layout_.directory);
      throw;
    }
  }

 private:
  void step(const char* name) const {
    if (options_.on_step) options_.on_step(name);
  }
  std::string whose() const { return fmt::format("{} on {}", local::describe(spec_), spec_.node); }

  Accelerator accelerator() const {
    if (config_.accelerator == "tcg") return Accelerator::tcg;
    if (config_.accelerator == "kvm" && found_.accelerator != Accelerator::kvm)
      throw Error(Code::unsupported, "no machine can have KVM here")
          .because(found_.why_no_kvm)
          .because(fmt::format("on node '{}'", spec_.node))
          .advise("leave out `accelerator`, or constrain the task: ${attr.driver.qemu.accelerator} is \"kvm\"");
    return found_.accelerator;
  }

  /// A machine that took its disks along left some here, of yesterday.
  void look_where_it_is() {
    const auto moved = find_moved(layout_.directory);
    const auto& name = layout_.machine.name;
    if (!incoming_disks_.empty()) {
      for (const auto& disk : layout_.to_make) {
        if (!os::exists(disk.path)) continue;
        if (!moved)
          throw Error(Code::conflict, fmt::format("machine '{}' cannot come here", name))
              .because(fmt::format("one of that name has its disks here, in '{}'", layout_.directory))
              .advise("if they are of no use any more, remove that directory");
        os::remove_tree(disk.path);
      }
      // Until they are here whole, these are nobody's.
      write_moved(layout_.directory, {"here, but has not arrived", unix_nanos(os::file_clock_now())});
      return;
    }
    if (!moved) return;
    throw Error(Code::conflict, fmt::format("machine '{}' is not here any more", name))
        .because(fmt::format("it went to {} at {}; the disks in '{}' are of that moment", moved->to,
                             format_time(from_unix_nanos(moved->when)), layout_.directory))
        .advise("move it back, or, if it is lost, remove 'moved.json' there to begin with these disks again");
  }

  /// What a guest that goes on is to take for new: a return to an earlier moment is, a night's sleep is not.
  std::string generation() const {
    if (layout_.machine.generation.empty()) return {};
    if (saved_ && saved_->machine.generation != kNoGeneration) return saved_->machine.generation;
    return SystemIds().uuid();
  }

  void make_clone_of() {
    const auto& clone = *config_.clone;
    CloneRequest request;
    request.source = options_.machines + "/" + clone.machine;
    request.checkpoint = clone.checkpoint;
    request.directory = layout_.directory;
    request.machine = layout_.machine;
    for (const auto& disk : layout_.to_make) request.bases.emplace_back(disk.path, disk.base);
    request.hostname = clone.hostname;
    for (const auto& network : config_.networks) {
      const auto address = clone.addresses.find(network.name);
      request.addresses.push_back(address == clone.addresses.end() ? std::string() : address->second);
    }
    step("clone");
    make_clone(request);
  }

  void look_for_saved() {
    if (config_.clone && incoming_.empty() && !find_origin(layout_.directory)) make_clone_of();
    if (config_.resume == Resume::cold && incoming_.empty()) {
      remove_saved(layout_.directory);
      return;
    }
    if (!incoming_.empty()) {
      if (!find_saved(layout_.directory)) return;
      throw Error(Code::conflict, fmt::format("machine '{}' cannot come here", layout_.machine.name))
          .because(fmt::format("one of that name sleeps here, in '{}'", layout_.directory));
    }
    finish_restore(layout_.directory, layout_.machine);
    clear_half_made(layout_.directory);
    try {
      saved_ = find_saved(layout_.directory);
      if (saved_) memory_ = open_verified(layout_.directory, *saved_, layout_.machine);
    } catch (const Error& error) {
      if (config_.resume != Resume::or_boot) throw;
      log::warn("vm: machine '{}' boots anew: {}", layout_.machine.name, error.one_line());
      saved_.reset();
      remove_saved(layout_.directory);
    }
  }

  void prepare_disks() {
    for (const auto& disk : layout_.to_make) {
      if (disk.base.empty())
        make_disk(disk.path, disk.bytes);
      else
        make_layer(disk.path, disk.base, disk.bytes);
    }
    if (!layout_.seed.empty())
      write_seed(layout_.seed, completed(*config_.cloud_init, spec_.task_dir), layout_.machine.name);
  }

  void share() {
    for (std::size_t i = 0; i < layout_.shared_names.size(); ++i) {
      auto& memory = layout_.machine.shared_memory[i];
      memory.file = share_memory(options_.shared_memory, layout_.shared_names[i], memory.memory_mb, layout_.directory);
    }
    // What is neither saved nor sent is plugged in when the rest is there.
    if (!saved_ && incoming_.empty()) return;
    plug_later_ = layout_.machine;
    layout_.machine.shared_memory.clear();
    layout_.machine.host_devices.clear();
  }

  void write_run() const {
    const auto directory = run_directory(spec_);
    os::remove_tree(directory);
    os::make_directories(directory, 0700);
    os::write_file(directory + "/run.json",
                   underway::json::encode(Run{layout_.machine, layout_.directory, lease_, !incoming_.empty()}) + "\n",
                   0600, {}, os::Durability::cached);
  }

  std::unique_ptr<driver::TaskHandle> launch() {
    const auto network = local::network_of(spec_);
    local::LocalLaunch launch;
    launch.network = network ? &*network : nullptr;
    // Not its memory: what QEMU needs beside the guest's is not told by anybody, and a guest that is killed for a few
    // megabytes is worse than a host that lends them.
    launch.limits = local::common_limits(options_.driver, spec_);
    launch.plan = [&](const os::Cgroup& group) {
      os::LaunchPlan plan;
      for (const auto& file : group.join_files()) plan.write_file(file, "0");
      plan.optionally().write_file("/proc/self/oom_score_adj", "0");
      plan.new_session().change_directory(run_directory(spec_)).parent_death_signal(SIGKILL);
      Launch how;
      how.lease = lease_;
      how.incoming = saved_ || !incoming_.empty();
      auto argv = command_line(layout_.machine, how);
      argv.insert(argv.begin(), found_.program);
      return plan.exec({found_.program}, argv, {std::string("PATH=") + std::string(os::kDefaultPath)});
    };
    return local::LocalTask::start(options_.driver, spec_, launch, [] { return os::SpawnSpec(); }, 0);
  }

  Machine connect(driver::TaskHandle& task) const {
    const Deadline deadline(kStartPatience);
    for (;;) {
      try {
        return Machine::open(run_directory(spec_), {options_.on_step, std::chrono::seconds{60}},
                             std::chrono::milliseconds{500});
      } catch (const Error& e) {
        task.poll();
        if (task.status().phase != driver::TaskStatus::Phase::running)
          throw Error(Code::conflict, fmt::format("machine '{}' cannot start", layout_.machine.name))
              .because(fmt::format("QEMU ended with {}: {}", os::to_string(task.status().exit), last_words(spec_)))
              .because(fmt::format("on node '{}'", spec_.node));
        if (deadline.passed()) throw;
      }
    }
  }

  void bring_up(driver::TaskHandle& task) {
    step("connect");
    auto machine = connect(task);
    step("join");
    const bool somebody_else = find_identity(layout_.directory).has_value();
    if (!somebody_else) join_bridges(layout_.machine, spec_);
    if (config_.pin) pin(machine.vcpu_threads(), spec_.cpuset);
    if (!incoming_.empty()) {
      if (!incoming_disks_.empty()) machine.serve_disks(incoming_disks_);
      return machine.listen(incoming_);
    }
    if (somebody_else) machine.set_links(false);
    if (saved_) {
      wake(machine, task);
      plug(machine);
    } else {
      step("boot");
      machine.qmp().execute("cont");
    }
    if (somebody_else) identify(options_, machine, spec_);
  }

  void wake(Machine& machine, driver::TaskHandle& task) const {
    try {
      machine.wake(*saved_, memory_);
    } catch (Error& e) {
      // One that does not take its memory says why, and ends.
      if (task.wait(std::chrono::seconds{2})) e.because(fmt::format("it said: {}", last_words(spec_, 4)));
      throw;
    }
  }

  void plug(Machine& machine) const {
    for (const auto& memory : plug_later_.shared_memory) machine.plug(memory);
    for (const auto& device : plug_later_.host_devices) machine.plug(device);
  }

  void end(driver::TaskHandle& task) const {
    try {
      task.stop(SIGKILL, {});
      task.wait(std::chrono::seconds{10});
      os::remove_tree(run_directory(spec_));
      task.destroy();
    } catch (const Error&) {
      // The error that is on its way says more; the ledger has what is left.
    }
  }

  const Options& options_;
  const Probed& found_;
  const TaskSpec& spec_;
  Config config_;
  Layout layout_;
  std::string incoming_, incoming_disks_;
  std::string lease_;
  MachineSpec plug_later_;
  std::optional<Saved> saved_;
  os::Fd memory_;
};

}  // namespace

std::unique_ptr<driver::TaskHandle> start_machine(const Options& options, const Probed& found, const TaskSpec& spec) {
  return Start(options, found, spec).carry_out();
}

}  // namespace underway::vm
