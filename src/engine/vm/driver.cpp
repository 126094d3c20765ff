#include "vm/driver.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "driver/local_task.hpp"
#include "os/file.hpp"
#include "vm/clone/identity.hpp"
#include "vm/config.hpp"
#include "vm/detail/start.hpp"
#include "vm/live.hpp"
#include "vm/machine/command_line.hpp"
#include "vm/qmp/line_socket.hpp"
#include "vm/state/arrival.hpp"
#include "vm/state/shared_memory.hpp"

namespace underway::vm {
namespace {

namespace local = driver::local;
using driver::MachinePart;
using driver::TaskSpec;

/// That a machine on its way may make no progress.
constexpr auto kMovePatience = std::chrono::seconds{60};

/// Below `root`, the places whose memory a machine sees.
std::vector<std::string> shared_names(const MachineSpec& machine, const std::string& root) {
  std::vector<std::string> names;
  for (const auto& memory : machine.shared_memory) {
    if (!memory.file.starts_with(root + "/")) continue;
    const auto rest = memory.file.substr(root.size() + 1);
    names.push_back(rest.substr(0, rest.find('/')));
  }
  return names;
}

class MachineTask final : public driver::TaskHandle {
 public:
  MachineTask(std::unique_ptr<driver::TaskHandle> task, std::string run, const Config& config, const Probed& here,
              const Options& options)
      : task_(std::move(task)),
        run_(std::move(run)),
        graceful_(config.graceful_shutdown),
        checkpoints_(static_cast<std::size_t>(config.checkpoints)),
        migrate_(config.migrate),
        is_clone_(config.clone.has_value()),
        here_(here),
        shared_root_(options.shared_memory),
        on_step_(options.on_step) {}

  int fd() const override { return task_->fd(); }
  bool poll() override { return task_->poll(); }
  const driver::TaskStatus& status() const override { return task_->status(); }
  bool wait(Duration within) override { return task_->wait(within); }
  void signal(int number) override {
    if (graceful_ && (number == SIGTERM || number == SIGINT || number == SIGHUP))
      press_button();
    else
      task_->signal(number);
  }
  void stop(int number, Duration grace) override {
    if (number == SIGKILL || grace <= Duration{0} || !graceful_) return task_->stop(number, grace);
    // Those signals would end QEMU at once, and this one says nothing to it: its keeper counts the time from here on,
    // whatever becomes of the guest's answer and of us.
    task_->stop(SIGCONT, grace);
    stopping_ = true;
    press_button();
  }
  os::CgroupStats usage() const override { return task_->usage(); }
  void set_cpuset(const std::string& cores) override { task_->set_cpuset(cores); }
  driver::ExecSession exec(const driver::ExecRequest& /*request*/) override {
    throw Error(Code::unsupported, "no command can be run in a virtual machine from outside")
        .because("what runs beside it is on its host, and inside there is whatever its image is")
        .advise("log in by its network, or by its console: underway alloc console");
  }
  void pause() override {
    with_machine([](Machine& machine) {
      machine.pause();
      if (machine.phase() != Phase::paused)
        throw Error(Code::conflict, fmt::format("machine '{}' cannot be paused", machine.spec().name))
            .because("it does not run: it is being started, or is on its way from or to another host")
            .advise("try again once it runs");
    });
  }
  void resume() override {
    with_machine([](Machine& machine) { machine.unpause(); });
  }
  void suspend() override {
    with_machine([](Machine& machine) { machine.suspend(); });
  }
  driver::Checkpoint checkpoint() override {
    driver::Checkpoint made;
    with_machine([&](Machine& machine) {
      auto saved = machine.checkpoint(checkpoints_);
      made = {std::move(saved.id), saved.stored_bytes, saved.created};
    });
    return made;
  }
  os::Fd console() override {
    if (auto line = connect_socket(run_, std::string(kConsoleSocket))) return line;
    const int error = errno;
    // The queue of those who wait until whoever is on it leaves is full: no session of this agent's, of which it knows.
    if (error == EAGAIN)
      throw Error(Code::conflict, "somebody else is on the machine's console")
          .because(fmt::format("others wait at '{}/{}'", run_, kConsoleSocket))
          .advise("end them: `ss -xp` on the node names their processes");
    throw Error(Code::unavailable, "the machine's console cannot be reached")
        .because(fmt::format("nobody listens at '{}/{}': {}", run_, kConsoleSocket, std::strerror(error)))
        .advise("it has ended, or is about to: underway alloc status");
  }
  std::string kept_in() const override {
    const auto run = find_run();
    if (!run) return {};
    // A disk that is written to where it was found is not the machine's to take along.
    const auto elsewhere = [&](const DiskSpec& disk) {
      return !disk.read_only && !disk.file.starts_with(run->directory + "/");
    };
    return std::any_of(run->machine.disks.begin(), run->machine.disks.end(), elsewhere) ? std::string()
                                                                                        : run->directory;
  }
  driver::LiveMachine live() const override {
    const auto run = find_run();
    if (!run) throw Error(Code::unavailable, "the machine has ended");
    return describe_live(migrate_, is_clone_, *run, here_);
  }
  driver::Departures departures() override {
    return {listen_socket(run_, departure_name(MachinePart::memory)),
            listen_socket(run_, departure_name(MachinePart::disk))};
  }
  driver::Departed depart() override {
    driver::Departed departed;
    with_machine([&](Machine& machine) {
      const auto sent = machine.send("unix:" + departure_name(MachinePart::memory),
                                     "unix:" + departure_name(MachinePart::disk), {.live = true, .asks = true});
      departed = {sent.reset, sent.converged, sent.stood_still};
    });
    return departed;
  }
  void stay() override {
    with_machine([](Machine& machine) { machine.stay(); });
  }
  void leave() override {
    with_machine([](Machine& machine) { machine.leave(); });
  }
  os::Fd entrance(MachinePart part) override {
    if (auto socket = connect_socket(run_, entrance_name(part))) return socket;
    throw errno_error(errno, fmt::format("nobody listens at '{}/{}'", run_, entrance_name(part)));
  }
  void await_memory() override {
    with_machine([](Machine& machine) { machine.await_memory(kMovePatience); });
  }
  void go_on() override {
    try {
      with_machine([](Machine& machine) { machine.accept(kMovePatience); });
    } catch (const Error&) {
      // Nobody else has it any more: without its memory its disks, which are here whole, are what there is of it.
      if (const auto run = find_run()) clear_moved(run->directory);
      throw;
    }
  }
  void destroy() override {
    const auto run = find_run();
    // What it shared with others is theirs.
    if (run && !shared_root_.empty()) {
      for (const auto& name : shared_names(run->machine, shared_root_))
        release_memory(shared_root_, name, run->directory);
    }
    // Of one that did not come after all, disks of which a part is there.
    if (run && run->incoming && find_moved(run->directory)) os::remove_tree(run->directory);
    os::remove_tree(run_);
    task_->destroy();
  }

 private:
  /// What the run directory says of it; nothing once it is removed.
  std::optional<Run> find_run() const {
    const auto text = os::find_file(run_ + "/run.json");
    if (!text) return std::nullopt;
    return underway::json::decode_text<Run>(*text);
  }
  /// A stop that comes meanwhile finds the control socket taken, and may wait for it in vain: the button is pressed
  /// here then, also of a machine that cannot do what was asked of it.
  void with_machine(const std::function<void(Machine&)>& verb) {
    auto machine = Machine::open(run_, {on_step_});
    const auto at_the_end = std::shared_ptr<void>(nullptr, [&](void*) {
      if (!stopping_) return;
      try {
        machine.power_down();
      } catch (const std::exception&) {
        // It has ended, or hangs: when time is up it is killed.
      }
    });
    verb(machine);
  }

  /// Off the caller's thread, who does not wait: a QEMU may hang.
  void press_button() {
    button_ = std::jthread([run = run_] {
      try {
        Machine::open(run, {}, std::chrono::seconds{5}).power_down();
      } catch (const std::exception&) {
        // It has ended, or somebody moves it, or it hangs: when time is up it is killed.
      }
    });
  }

  std::unique_ptr<driver::TaskHandle> task_;
  std::string run_;
  bool graceful_;
  std::size_t checkpoints_;
  Migrate migrate_;
  bool is_clone_;
  Probed here_;
  std::string shared_root_;
  std::function<void(const std::string&)> on_step_;
  std::atomic<bool> stopping_ = false;
  std::jthread button_;
};

class Qemu final : public driver::Driver {
 public:
  explicit Qemu(Options options) : options_(std::move(options)) {}

  std::string name() const override { return "qemu"; }
  bool joins_networks() const override { return true; }

  driver::Fingerprint fingerprint() const override {
    driver::Fingerprint found;
    const auto& here = look();
    if (here.program.empty()) {
      found.description = "qemu-system-x86_64 is not there: install the package qemu-system-x86";
      return found;
    }
    found.detected = true;
    if (::geteuid() != 0) {
      found.description = "needs root: the agent runs as another user";
      return found;
    }
    found.healthy = true;
    found.attributes = {{"driver.qemu", "1"},
                        {"driver.qemu.version", here.version},
                        {"driver.qemu.accelerator", std::string(describe::spell(here.accelerator))}};
    return found;
  }

  std::vector<std::string> validate(const boost::json::value& config) const override { return problems(config); }

  std::unique_ptr<driver::TaskHandle> start(const TaskSpec& spec) override {
    try {
      const auto& here = look();
      if (here.program.empty())
        throw Error(Code::unsupported, "no virtual machine can be started")
            .because("qemu-system-x86_64 is not there")
            .advise("install the package qemu-system-x86 on the node");
      return hold(start_machine(options_, here, spec), spec);
    } catch (Error& e) {
      e.while_doing(fmt::format("starting machine {}", local::describe(spec)));
      throw;
    }
  }

  std::vector<driver::KeptBase> bases(const std::string& directory) const override { return find_bases(directory); }
  std::vector<driver::Checkpoint> checkpoints(const std::string& directory) const override {
    std::vector<driver::Checkpoint> found;
    for (auto& saved : list_checkpoints(directory)) found.push_back({saved.id, saved.stored_bytes, saved.created});
    return found;
  }
  void verify_checkpoint(const std::string& directory, const std::string& id) const override {
    vm::verify_checkpoint(directory, id);
  }
  std::string lacks(const std::vector<driver::KeptBase>& bases) const override { return why_not_on(bases); }
  std::string why_not_live(const driver::LiveMachine& machine) const override {
    return vm::why_not_live(machine, look(), processor_of_node());
  }

  std::unique_ptr<driver::TaskHandle> recover(const TaskSpec& spec) override {
    auto task = local::LocalTask::recover(options_.driver, spec, [] { return os::SpawnSpec(); }, 0);
    if (task->status().phase == driver::TaskStatus::Phase::running) take_back(*task, spec);
    return hold(std::move(task), spec);
  }

  bool reap_leftovers(bool end_them) override {
    reap_memory(options_.shared_memory);
    return local::reap_leftovers(options_.driver, end_them);
  }

 private:
  std::unique_ptr<driver::TaskHandle> hold(std::unique_ptr<driver::TaskHandle> task, const TaskSpec& spec) const {
    Config config;  // of a run whose config is not understood any more: what it would have if it said nothing
    if (problems(spec.config).empty()) config = parse_config(spec.config);
    return std::make_unique<MachineTask>(std::move(task), run_directory(spec), config, look(), options_);
  }

  const Probed& look() const {
    const std::lock_guard lock(mutex_);
    if (!probed_ || probed_->program.empty()) probed_ = probe(options_.probe);
    return *probed_;
  }

  /// An agent that died in the middle of something left it to us. A machine that does not answer is taken back as it
  /// is: it may be busy for longer than anybody waits.
  void take_back(driver::TaskHandle& task, const TaskSpec& spec) const {
    try {
      auto machine = Machine::open(run_directory(spec), {options_.on_step, std::chrono::seconds{60}});
      const bool somebody_else = find_identity(machine.directory()).has_value();
      if (machine.phase() == Phase::prelaunch) {
        if (somebody_else)
          machine.set_links(false);
        else
          join_bridges(machine.spec(), spec);
      }
      if (machine.settle()) {
        if (somebody_else && machine.phase() == Phase::running) identify(options_, machine, spec);
        return;
      }
      machine.quit();
      task.wait(std::chrono::seconds{10});
    } catch (const Error& e) {
      if (e.code() != Code::unavailable && e.code() != Code::timeout) throw;
      // A QEMU whose memory stops coming ends by itself: it is gone, or about to be, and its keeper says so in a
      // moment.
      if (e.code() == Code::unavailable)
        task.wait(std::chrono::seconds{10});
      else
        task.poll();
    }
  }

  Options options_;
  mutable std::mutex mutex_;
  mutable std::optional<Probed> probed_;
};

}  // namespace

std::string run_directory(const TaskSpec& spec) { return spec.keeper_dir + ".vm"; }

std::unique_ptr<driver::Driver> make_qemu(Options options) { return std::make_unique<Qemu>(std::move(options)); }

}  // namespace underway::vm
