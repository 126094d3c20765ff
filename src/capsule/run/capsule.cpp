#include "run/capsule.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <filesystem>
#include <future>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "driver/local_task.hpp"
#include "os/file.hpp"
#include "os/mount.hpp"
#include "overlay/overlay.hpp"
#include "run/config/config.hpp"
#include "run/config/init_text.hpp"
#include "run/config/overlay_spec.hpp"
#include "run/control.hpp"
#include "run/detail/capsule_task.hpp"
#include "run/network.hpp"
#include "run/plan.hpp"
#include "run/root/image_cache.hpp"
#include "run/running.hpp"
#include "run/saving.hpp"
#include "run/sync.hpp"

namespace underway::run {
namespace {

using driver::TaskSpec;

constexpr int kNamespaces = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC;
constexpr int kEntered = kNamespaces | CLONE_NEWCGROUP | CLONE_NEWNET;

std::string variable(const TaskSpec& spec, const std::string& name, const std::string& otherwise) {
  const auto found = spec.env.find(name);
  return found != spec.env.end() && !found->second.empty() ? found->second : otherwise;
}

/// In a rehearsal without what changes the machine itself: its clock, its kernel, its power.
os::Capabilities bounding_of(const Config& config, bool rehearsal) {
  auto set = config.bounding();
  if (!rehearsal) return set;
  for (const auto* name : {"sys_time", "sys_module", "sys_boot", "sys_rawio", "wake_alarm", "syslog", "mknod"}) {
    set &= ~os::find_capability(name).value_or(0);
  }
  return set;
}

constexpr std::int64_t kRehearsalAttempts = 3;
constexpr auto kStillPatience = std::chrono::minutes{1};

std::string owner_of(const TaskSpec& spec) { return fmt::format("capsule/{}/{}", spec.alloc_id, spec.task); }

Run run_of(const TaskSpec& spec, const Config& config) {
  Run run;
  run.ns = variable(spec, "NOMAD_NAMESPACE", "default");
  run.job = variable(spec, "NOMAD_JOB_ID", spec.task);
  run.group = variable(spec, "NOMAD_GROUP_NAME", spec.task);
  run.name = capsule_name(config.name, run.job, run.group, variable(spec, "NOMAD_ALLOC_INDEX", "0"),
                          variable(spec, "UNDERWAY_ONLY_CAPSULE", "true") == "true");
  run.allocation = spec.alloc_id;
  run.task = spec.task;
  run.keeper_dir = spec.keeper_dir;
  run.cgroup = spec.cgroup;
  for (const auto& network : config.networks) {
    for (const auto& address : network.addresses) run.addresses.push_back(address);
  }
  return run;
}

/// A start while it is not complete: the parts in the order in which they are made.
class Start {
 public:
  Start(const Options& options, ImageCache& images, const TaskSpec& spec)
      : options_(options), images_(images), spec_(spec), config_(parse_config(spec.config)) {
    around_.owner = owner_of(spec);
    around_.capsules = options.capsules;
    around_.ledger = options.driver.ledger;
    around_.clock = options.clock;
    run_ = run_of(spec, config_);
    directory_ = capsule_directory(options.capsules, run_.ns, run_.name);
    if (!options.rehearsal) return;
    for (auto& bind : config_.binds) bind.read_only = true;
    config_.attempts =
        config_.attempts == 0 ? kRehearsalAttempts : std::min<std::int64_t>(config_.attempts, kRehearsalAttempts);
  }

  std::unique_ptr<driver::TaskHandle> carry_out() {
    try {
      prepare();
      step("launch");
      auto task = launch();
      try {
        step("probe");
        enter_service(*task);
      } catch (...) {
        task->stop(SIGKILL, {});
        task->wait(std::chrono::seconds{10});
        mount_.reset();  // it lies in what is removed next
        task->destroy();
        throw;
      }
      if (overlay_) overlay_->release();
      return detail::make_task(std::move(task), around_);
    } catch (Error& e) {
      undo(e);
      const auto where = fmt::format("on node '{}'", spec_.node);
      if (std::ranges::find(e.reasons(), where) == e.reasons().end()) e.because(where);
      e.while_doing(fmt::format("starting capsule '{}' ({})", run_.name, driver::local::describe(spec_)));
      throw;
    }
  }

 private:
  void step(const char* what) const {
    if (options_.on_step) options_.on_step(what);
  }

  void prepare() {
    refuse_a_second();
    if (sync()) require_sync();
    step("image");
    image_ = images_.open(config_.image, spec_.task_dir, options_.clock->now());
    program_ = program_of(spec_.config, image_.image->manifest());
    if (options_.rehearsal) {
      // Who it would ask is out of reach, as is everybody.
      std::erase_if(program_.steps, [](const auto& step) {
        return step.moment == image::Moment::probe || step.moment == image::Moment::before_stop;
      });
    }
    for (const auto& bind : config_.binds) require_source(bind);
    driver::local::prepare_directories(spec_, os::get_user("root"));
    for (const auto* part : {"/image", "/layer", "/overlay", "/root", "/control"}) {
      os::make_directories(spec_.keeper_dir + part, 0700);
    }
    step("overlay");
    open_overlay();
    step("mount");
    mount_image();
    step("layer");
    write_own_files();
    step("links");
    network_.emplace(Network::plug(config_.networks, around_.owner, around_.ledger));
    network_->set(config_.sysctl);
  }

  void refuse_a_second() {
    const auto last = find_run(options_.capsules, run_.ns, run_.name);
    if (!last || last->keeper_dir == spec_.keeper_dir || !last->running()) return;
    throw Error(Code::conflict, fmt::format("capsule '{}' runs on this node already", run_.name))
        .because(fmt::format("in allocation {}, since {}", last->allocation.substr(0, 8),
                             format_time(from_unix_nanos(last->started))))
        .advise("two of one name would write to one overlay: stop that one, or give this one another `name`");
  }

  void require_source(const BindConfig& bind) {
    const auto source = bind.source.empty() ? bind.path : bind.source;
    if (os::exists(source)) return;
    throw Error(Code::not_found, fmt::format("cannot show '{}' to the capsule", bind.path))
        .because(fmt::format("this host has no '{}'", source))
        .advise("mount the file system there first, or name another `source`");
  }

  void open_overlay() {
    const auto spec = overlay_spec(config_.overlay.value_or(OverlayConfig()));
    os::make_directories(directory_, 0700);
    refuse_an_overlay(directory_);
    if (!options_.rehearsal) write_saving(options_.capsules, run_.ns, run_.name, saving());
    // Somebody may be putting back what was saved.
    const auto still = overlay::hold_still(directory_, kStillPatience, "its start");
    overlay_.emplace(overlay::open_overlay(spec, directory_ + "/overlay",
                                           {.ledger = around_.ledger, .owner = around_.owner, .stop_writers = {}}));
    for (const auto& warning : overlay_->warnings()) {
      log::warn("capsule {}/{}: {}", run_.ns, run_.name, warning);
    }
  }

  /// What it takes to save it, and to try what was saved, when nobody can be asked.
  Saving saving() const {
    Saving saving{.snapshot = config_.snapshot, .backup = config_.backup, .job = {}, .group = run_.group};
    saving.job.id = run_.job;
    saving.job.ns = run_.ns;
    auto& group = saving.job.groups.emplace_back();
    group.name = run_.group;
    auto& task = group.tasks.emplace_back();
    task.name = spec_.task;
    task.driver = "capsule";
    task.config = spec_.config;
    task.resources.cpu = static_cast<std::int64_t>(spec_.cpu_shares);
    task.resources.memory_mb = static_cast<std::int64_t>(spec_.memory_mb);
    task.resources.memory_max_mb = static_cast<std::int64_t>(spec_.memory_max_mb);
    task.resources.pids = static_cast<std::int64_t>(spec_.pids);
    return saving;
  }

  /// The kernel would say EINVAL.
  static void refuse_an_overlay(const std::string& directory) {
    struct statfs found{};
    if (::statfs(directory.c_str(), &found) != 0)
      throw errno_error(errno, fmt::format("cannot look at '{}'", directory));
    if (found.f_type != OVERLAYFS_SUPER_MAGIC) return;
    throw Error(Code::unsupported, fmt::format("no capsule's overlay can lie in '{}'", directory))
        .because("it is on an overlay file system itself")
        .advise("put the agent's data_dir on a plain file system");
  }

  void mount_image() {
    const auto target = spec_.keeper_dir + "/image";
    if (around_.ledger != nullptr)
      around_.ledger->record({.kind = "mount", .object = target, .context = {}, .owner = around_.owner});
    // By the descriptor that was verified: whatever happened to the path since, this is what was signed.
    try {
      mount_.emplace(os::Mount::make(fmt::format("/proc/self/fd/{}", image_.image->fd()), target, "erofs",
                                     MS_RDONLY | MS_NODEV, ""));
    } catch (Error& e) {
      struct statfs found{};
      if (::fstatfs(image_.image->fd(), &found) == 0 && found.f_type == TMPFS_MAGIC) {
        e.because(fmt::format("'{}' lies on a tmpfs, of which the kernel mounts no file", image_.path));
        e.advise("put the images on a disk");
      }
      throw;
    }
  }

  void write_own_files() {
    const ImageRoot image(spec_.keeper_dir + "/image");
    LayerInput layer;
    layer.hostname = hostname();
    layer.networks = config_.networks;
    layer.dns = config_.dns.value_or(DnsConfig());
    if (layer.dns.host_file) layer.host_file = os::find_file("/etc/hosts").value_or("");
    auto points = own_mount_points();
    for (const auto& bind : config_.binds) {
      const auto source = bind.source.empty() ? bind.path : bind.source;
      const bool directory = std::filesystem::is_directory(source);
      plan_.binds.push_back({source, image.resolve(bind.path), bind.read_only, directory});
      points.push_back({plan_.binds.back().target, directory});
    }
    write_layer(spec_.keeper_dir + "/layer", layer, points, image);
    plan_.run_directories = run_directories(image, overlay_->upper());
    const auto control = spec_.keeper_dir + "/control";
    std::optional<os::Capabilities> own;
    if (sync()) own = sync_capabilities() & ~bounding_of(config_, false);
    os::write_file(control + "/spec", encode_init_spec(program_, config_.attempts, own), 0600, {},
                   os::Durability::cached);
    os::write_file(control + "/init", "", 0700, {}, os::Durability::cached);
  }

  std::unique_ptr<driver::TaskHandle> launch() {
    driver::local::LocalLaunch launch;
    launch.limits = driver::local::common_limits(options_.driver, spec_);
    const auto hard = std::max(spec_.memory_mb, spec_.memory_max_mb);
    if (hard != 0) launch.limits.memory_max = hard << 20;
    if (spec_.memory_max_mb > spec_.memory_mb) launch.limits.memory_soft = spec_.memory_mb << 20;
    launch.namespaces = kNamespaces;
    // setns(2) takes the descriptor of one namespace as it takes a pidfd, with the kinds to enter.
    const auto inside =
        os::Namespace::of_pidfd(os::Fd(::fcntl(network_->inside().fd(), F_DUPFD_CLOEXEC, 3)), CLONE_NEWNET);
    launch.network = &inside;
    launch.plan = [&](const os::Cgroup& group) { return plan(group); };
    // Asked while keeper and init begin: neither needs an address for that.
    probing_ = std::async(std::launch::async, [&] { network_->require_free(options_.probes); });
    return driver::local::LocalTask::start(options_.driver, spec_, launch,
                                           command(spec_, bounding_of(config_, options_.rehearsal)), kEntered);
  }

  os::LaunchPlan plan(const os::Cgroup& group) {
    plan_.directory = spec_.keeper_dir;
    plan_.overlay = overlay_->layer();
    plan_.init_program = options_.init_program;
    plan_.hostname = hostname();
    plan_.join_cgroup = group.join_files();
    for (const auto& file : plan_.join_cgroup) {
      const auto directory = file.substr(0, file.rfind('/'));
      plan_.cgroups.emplace_back(directory, directory.substr(0, directory.size() - group.path().size() - 1));
    }
    plan_.task_dir = spec_.task_dir;
    plan_.alloc_dir = spec_.alloc_dir;
    plan_.bounding = bounding_of(config_, options_.rehearsal) | (sync() ? sync_capabilities() : 0);
    plan_.environment = os::environment(driver::local::environment_of(spec_));
    return plan_capsule(plan_);
  }

  void enter_service(driver::TaskHandle& task) {
    auto control = Control::connect(spec_.keeper_dir);
    probing_.get();
    step("addresses");
    network_->use_addresses();
    network_->announce();
    step("record");
    const auto process = task.status().process;
    run_.image = image_.image->manifest().reference();
    run_.digest = image_.image->digest();
    run_.image_path = image_.path;
    run_.upper = overlay_->upper();
    run_.pid = process.pid;
    run_.start_time = static_cast<std::int64_t>(process.start_time);
    run_.started = unix_nanos(options_.clock->now());
    write_run(options_.capsules, run_);
    around_.run = run_;
    step("go");
    control.go();
    step("unmount");
    // The capsule has the image in its own mount namespace; here nobody needs it any more.
    mount_->unmount();
    mount_.reset();
    settle_mount();
  }

  void settle_mount() {
    if (around_.ledger == nullptr) return;
    const auto target = spec_.keeper_dir + "/image";
    for (const auto& open : around_.ledger->unsettled(around_.owner)) {
      if (open.item.kind == "mount" && open.item.object == target) around_.ledger->settle(open.id);
    }
  }

  void undo(Error& cause) {
    if (probing_.valid()) {
      try {
        probing_.get();
      } catch (const Error&) {
        // What failed first is what is told.
      }
    }
    try {
      network_.reset();
      mount_.reset();
      if (overlay_) overlay_.reset();
      detail::clear_away(around_);
      os::remove_tree(spec_.keeper_dir);
    } catch (const Error& second) {
      cause.because(fmt::format("and what was made of it stays: {}", second.one_line()));
    }
  }

  /// A rehearsal has no standby.
  bool sync() const { return config_.protect && config_.protect->sync && !options_.rehearsal; }
  std::string hostname() const { return config_.hostname.empty() ? run_.name : config_.hostname; }

  static driver::local::CommandTemplate command(const TaskSpec& spec, os::Capabilities keep) {
    return [spec, keep] {
      os::SpawnSpec command;
      command.env = os::environment(driver::local::environment_of(spec));
      command.bounding = keep;
      return command;
    };
  }
  friend class Capsules;

  const Options& options_;
  ImageCache& images_;
  const TaskSpec& spec_;
  Config config_;
  detail::Surroundings around_;
  Run run_;
  std::string directory_;
  OpenImage image_;
  Program program_;
  PlanInput plan_;
  std::optional<overlay::Mounted> overlay_;
  std::optional<os::Mount> mount_;
  std::optional<Network> network_;
  std::future<void> probing_;
};

class Capsules final : public driver::Driver {
 public:
  explicit Capsules(Options options)
      : options_(std::move(options)), images_({options_.images, options_.fetch, options_.keys}) {
    if (options_.driver.ledger != nullptr) register_undo(*options_.driver.ledger);
  }

  std::string name() const override { return "capsule"; }

  driver::Fingerprint fingerprint() const override {
    driver::Fingerprint found;
    found.detected = true;
    if (::geteuid() != 0) {
      found.description = "needs root: the agent runs as another user";
    } else if (!has_erofs()) {
      found.description = "needs erofs: this kernel does not have it (CONFIG_EROFS_FS)";
    } else if (::access(options_.init_program.c_str(), X_OK) != 0) {
      found.description = fmt::format("needs its init: '{}' cannot be run", options_.init_program);
    } else {
      found.healthy = true;
      found.attributes = {{"driver.capsule", "1"}};
    }
    return found;
  }

  std::vector<std::string> validate(const boost::json::value& config) const override { return problems(config); }

  std::unique_ptr<driver::TaskHandle> start(const TaskSpec& spec) override {
    return Start(options_, images_, spec).carry_out();
  }

  std::unique_ptr<driver::TaskHandle> recover(const TaskSpec& spec) override {
    detail::Surroundings around{owner_of(spec), options_.capsules, options_.driver.ledger, options_.clock, {}};
    const auto config = parse_config(spec.config);
    const auto expected = run_of(spec, config);
    const auto last = find_run(options_.capsules, expected.ns, expected.name);
    if (last && last->keeper_dir == spec.keeper_dir) around.run = last;
    auto task = driver::local::LocalTask::recover(
        options_.driver, spec, Start::command(spec, bounding_of(config, options_.rehearsal)), kEntered);
    // Its agent died before it was complete: it has no business, and ends by itself in a while.
    if (!around.run && task->status().phase == driver::TaskStatus::Phase::running) {
      task->stop(SIGKILL, {});
      task->wait(std::chrono::seconds{10});
    }
    return detail::make_task(std::move(task), std::move(around));
  }

  bool reap_leftovers(bool end_them) override { return driver::local::reap_leftovers(options_.driver, end_them); }

 private:
  static bool has_erofs() {
    const auto known = os::find_file("/proc/filesystems").value_or("");
    return known.find("\terofs\n") != std::string::npos;
  }

  Options options_;
  ImageCache images_;
};

}  // namespace

std::unique_ptr<driver::Driver> make_capsule(Options options) { return std::make_unique<Capsules>(std::move(options)); }

}  // namespace underway::run
