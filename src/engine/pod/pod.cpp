#include "pod/pod.hpp"

#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <boost/json/serialize.hpp>
#include <filesystem>

#include "base/error.hpp"
#include "base/json/enumerators.hpp"
#include "detail/parts.hpp"
#include "detail/stage.hpp"
#include "detail/surroundings.hpp"
#include "driver/seccomp.hpp"
#include "os/file.hpp"

namespace underway::pod {
namespace {

namespace json = boost::json;
using namespace detail;
namespace local = driver::local;

int entered(const TaskSpec& spec, const Config& config) {
  return CLONE_NEWNS | CLONE_NEWCGROUP | (config.own_pids ? CLONE_NEWPID : 0) | (config.own_ipc ? CLONE_NEWIPC : 0) |
         (config.own_uts ? CLONE_NEWUTS : 0) |
         CLONE_NEWUSER |  // where it has one: its namespace may have given more, or less, when it was started
         (config.own_network ? CLONE_NEWNET : local::entered_network(spec));
}

class PodTask final : public driver::TaskHandle {
 public:
  PodTask(std::unique_ptr<driver::TaskHandle> task, Surroundings around, int stop_signal)
      : task_(std::move(task)), around_(std::move(around)), stop_signal_(stop_signal) {}

  int fd() const override { return task_->fd(); }
  bool poll() override { return task_->poll(); }
  const driver::TaskStatus& status() const override { return task_->status(); }
  bool wait(Duration within) override { return task_->wait(within); }
  void signal(int number) override { task_->signal(number); }
  /// SIGINT is what a task gets whose job names no kill_signal: then the image decides.
  void stop(int number, Duration grace) override { task_->stop(number == SIGINT ? stop_signal_ : number, grace); }
  os::CgroupStats usage() const override { return task_->usage(); }
  void set_cpuset(const std::string& cores) override { task_->set_cpuset(cores); }
  driver::ExecSession exec(const driver::ExecRequest& request) override { return task_->exec(request); }
  void destroy() override {
    task_->destroy();
    around_.clear_away();
  }

 private:
  std::unique_ptr<driver::TaskHandle> task_;
  Surroundings around_;
  int stop_signal_;
};

/// A start while it is not complete.
class PodStart {
 public:
  PodStart(const Options& options, const Runtime& runtime, const TaskSpec& spec, Config config, Surroundings around)
      : options_(options), runtime_(runtime), spec_(spec), place_(spec), around_(std::move(around)) {
    bundle_.config = std::move(config);
    if (bundle_.config.hostname.empty()) bundle_.config.hostname = spec_.network.hostname;
    lend();
  }

  std::unique_ptr<driver::TaskHandle> carry_out() {
    try {
      check_ports();
      pull();
      write_bundle();
      auto task = launch();
      image_.lease.keep();
      return std::make_unique<PodTask>(std::move(task), std::move(around_), stop_signal());
    } catch (Error& e) {
      around_.clear_away(e);
      const auto where = fmt::format("on node '{}'", spec_.node);
      if (std::find(e.reasons().begin(), e.reasons().end(), where) == e.reasons().end()) e.because(where);
      e.while_doing(fmt::format("starting container {}", local::describe(spec_)));
      throw;
    }
  }

 private:
  /// What the node gave the task beside its config: volumes of its group, and devices that it holds.
  void lend() {
    for (const auto& mount : spec_.mounts) {
      static constexpr std::array kOptions{"rprivate", "rslave", "rshared"};
      static_assert(kOptions.size() == kEnumerators<decltype(mount.propagation)>);
      bundle_.config.volumes.push_back({mount.source,
                                        mount.destination,
                                        mount.read_only,
                                        {std::string(kOptions[static_cast<std::size_t>(mount.propagation)])},
                                        true});
    }
    for (const auto& path : spec_.devices) bundle_.config.devices.push_back({path, path});
  }

  /// A port of the group is where the container binds it, in the host's network or the group's own; what is not there
  /// is a typo.
  void check_ports() const {
    for (const auto& label : bundle_.config.ports) {
      std::string name = "NOMAD_PORT_" + label;
      for (char& c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
      }
      if (spec_.env.contains(name)) continue;
      throw Error(Code::invalid, "the task's config is wrong")
          .because(fmt::format("config.ports: the group's network has no port '{}'", label));
    }
  }

  void pull() {
    around_.record();
    oci::PullOptions how;
    const auto& config = bundle_.config;
    if (!config.username.empty()) how.credentials = oci::Credentials{config.username, config.password, {}};
    how.auth_file = options_.auth_file;
    how.tls_verify = config.tls_verify;
    how.force = config.force_pull;
    how.timeout = config.pull_timeout;
    how.lease = around_.lease;
    image_ = options_.store->pull(oci::parse_reference(config.image), how);
    bundle_.image = image_.config;
    if (image_.layers.empty())
      throw Error(Code::invalid, fmt::format("image '{}' is empty", config.image)).because("it has no layer");
  }

  void write_bundle() {
    os::remove_tree(place_.directory);
    for (const auto* name : {"l", "upper", "work", "rootfs", "etc", "state"})
      os::make_directories(place_.path(name), 0755);
    if (::chmod(place_.directory.c_str(), 0700) != 0)
      throw errno_error(errno, fmt::format("cannot close '{}' to others", place_.directory));
    refuse_an_overlay();
    const auto& space = bundle_.config.user_namespace;
    if (space.mode != UserNamespace::Mode::host) stage_.emplace(around_.take_ids(space));
    link_layers(place_, image_.layers);
    auto& in = bundle_;
    in.user = find_user(image_.layers, place_.directory, user_wanted(), in.config.groups);
    os::User owner;
    owner.name = in.user.name.empty() ? std::to_string(in.user.uid) : in.user.name;
    owner.uid = in.user.uid;
    owner.gid = in.user.gid;
    local::prepare_directories(spec_, owner);
    in.env = spec_.env;
    in.task = spec_.task;
    in.alloc_id = spec_.alloc_id;
    in.rootfs = place_.path("rootfs");
    in.task_dir = spec_.task_dir;
    in.alloc_dir = spec_.alloc_dir;
    in.etc = place_.path("etc");
    in.cgroup = "/" + spec_.cgroup;
    for (const auto& device : in.config.devices) add_node(in.devices, device);
    if (in.config.init) in.init = find_init();
    if (argv_of(in.config, in.image).empty()) {
      throw Error(Code::invalid, "the task's config is wrong")
          .because(fmt::format("config.command: is required: image '{}' names no program", in.config.image));
    }
    if (!in.config.apparmor.empty() && in.config.apparmor != "unconfined") require_apparmor();
    const auto held = capabilities_of(in.config);
    if (in.config.seccomp.empty())
      in.seccomp = driver::default_seccomp(held);
    else if (in.config.seccomp != "unconfined")
      in.seccomp = driver::read_seccomp(in.config.seccomp, held);
    prepare_volumes();
    const auto hostname = hostname_of(in.config, in.task, in.alloc_id);
    const auto put = [&](const char* name, const std::string& text) {
      os::write_file(in.etc + "/" + name, text, 0644, {}, os::Durability::cached);
    };
    put("hostname", hostname + "\n");
    put("hosts", hosts_file(in.config, hostname, names("/etc/hosts", spec_.network.hosts_file)));
    put("resolv.conf", resolv_conf(in.config, names("/etc/resolv.conf", spec_.network.resolver_file)));
    if (stage_) map_users();
  }

  std::string user_wanted() const {
    if (!spec_.user.empty()) return spec_.user;
    const auto& wanted = bundle_.config.user_namespace;
    if (wanted.mode != UserNamespace::Mode::keep_id) return image_.config.user;
    // As podman run by root has it.
    return fmt::format("{}:{}", wanted.uid.value_or(0), wanted.gid.value_or(0));
  }

  /// The number that the host has for a user or group of the container.
  static std::uint32_t on_host(const os::IdMap& map, const char* what, std::uint32_t id) {
    if (const auto found = os::find_outside(map, id)) return *found;
    throw Error(Code::invalid, "the task's config is wrong")
        .because(fmt::format("config.userns: the container runs as {} {}, and its user namespace has none", what, id))
        .advise(fmt::format("userns = \"auto:size={}\"", std::uint64_t{id} + 1));
  }

  void map_users() {
    auto& in = bundle_;
    in.uids = stage_->ids().uids;
    in.gids = stage_->ids().gids;
    output_ = {on_host(in.uids, "user", in.user.uid), on_host(in.gids, "group", in.user.gid)};
    for (const auto group : in.user.groups) on_host(in.gids, "group", group);
    // The layers are the image's, this one is the run's: its root is that of the container's root directory.
    const auto upper = place_.path("upper");
    if (::chown(upper.c_str(), on_host(in.uids, "user", 0), on_host(in.gids, "group", 0)) != 0)
      throw errno_error(errno, fmt::format("cannot give '{}' to the container's root", upper));
    in.rootfs = stage_->root();
    in.alloc_dir = stage_->show(in.alloc_dir, true);
    in.task_dir = stage_->show(in.task_dir, true);
    in.etc = stage_->show(in.etc, true);
    if (!in.init.empty()) in.init = stage_->show(in.init, false);
    for (auto& volume : in.config.volumes) {
      if (volume.source.starts_with('/')) volume.source = stage_->show(volume.source, volume.mapped);
    }
    if (!in.config.own_pids) in.proc = stage_->proc();
    if (!in.config.own_network) in.sys = stage_->sys();
  }

  static std::string names(const char* of_host, const std::string& of_group) {
    return os::find_file(of_group.empty() ? of_host : of_group).value_or("");
  }

  void refuse_an_overlay() const {
    struct statfs found{};
    if (::statfs(place_.directory.c_str(), &found) != 0)
      throw errno_error(errno, fmt::format("cannot look at '{}'", place_.directory));
    if (found.f_type != OVERLAYFS_SUPER_MAGIC) return;
    throw Error(Code::unsupported, fmt::format("no container's writable layer can lie in '{}'", place_.directory))
        .because("it is on an overlay file system itself")
        .advise("put the agent's data_dir on a plain file system");
  }

  static void require_apparmor() {
    if (os::find_file("/sys/module/apparmor/parameters/enabled").value_or("N").starts_with('Y')) return;
    throw Error(Code::unsupported, "the task's config is wrong")
        .because("config.apparmor_profile: this node's kernel has no AppArmor");
  }

  static std::string find_init(const std::string& named) {
    for (const auto& path : named.empty()
                                ? std::vector<std::string>{"/usr/bin/catatonit", "/usr/libexec/podman/catatonit",
                                                           "/usr/bin/tini", "/usr/bin/docker-init"}
                                : std::vector<std::string>{named}) {
      if (::access(path.c_str(), X_OK) == 0) return path;
    }
    throw Error(Code::not_found, "the container cannot have an init")
        .because(named.empty() ? "neither catatonit nor tini is there" : fmt::format("'{}' cannot be run", named))
        .advise("install the package catatonit on the node");
  }
  std::string find_init() const { return find_init(bundle_.config.init_path); }

  /// Sources in the task's directory are made, as podman's driver does; those of the host must be there.
  void prepare_volumes() const {
    for (const auto& volume : bundle_.config.volumes) {
      if (volume.source.empty()) continue;
      if (volume.source.starts_with('/')) {
        if (os::exists(volume.source)) continue;
        throw Error(Code::not_found, fmt::format("cannot show '{}' to the container", volume.target))
            .because(fmt::format("this host has no '{}'", volume.source));
      }
      const auto path = spec_.task_dir + "/" + volume.source;
      if (os::exists(path)) {
        // A link that the task made would lead out of its directory.
        const auto real = std::filesystem::canonical(path).string();
        const auto home = std::filesystem::canonical(spec_.task_dir).string();
        if (real != home && !real.starts_with(home + "/"))
          throw Error(Code::denied, fmt::format("cannot show '{}' to the container", volume.source))
              .because("it leads out of the task's directory");
      } else {
        os::make_directories(path, 0755, os::Owner{bundle_.user.uid, bundle_.user.gid});
      }
    }
  }

  std::unique_ptr<driver::TaskHandle> launch() {
    TaskSpec spec = spec_;
    if (!bundle_.config.log) spec.log_files = 0;
    local::LocalLaunch launch;
    launch.limits = limits_of(options_.driver, spec_, bundle_.config);
    launch.adopts = true;
    // The runtime starts in the group's network, and leaves its container there.
    const auto network = local::network_of(spec_);
    if (network && !bundle_.config.own_network) launch.network = &*network;
    launch.plan = [&](const os::Cgroup& group) { return plan(group); };
    try {
      return local::LocalTask::start(options_.driver, spec, launch, command_of(place_.directory),
                                     entered(spec_, bundle_.config));
    } catch (Error& e) {
      const auto said = last_error(os::find_file(place_.path("runtime.log"), 1U << 20).value_or(""));
      if (said.empty()) {
        if (stage_) stage_->explain(e);
        throw;
      }
      const bool missing = said.find("executable file") != std::string::npos ||
                           said.find("No such file") != std::string::npos ||
                           said.find("no such file") != std::string::npos;
      throw Error(missing ? Code::not_found : Code::unavailable,
                  fmt::format("{} cannot start the container", runtime_.name))
          .because(said);
    }
  }

  os::LaunchPlan plan(const os::Cgroup& group) {
    const bool crun = runtime_.is_crun();
    for (const auto& file : group.join_files()) {
      const auto directory = file.substr(0, file.rfind('/'));
      const auto mount = directory.substr(0, directory.size() - group.path().size() - 1);
      // prepare_cgroups takes that tree away.
      if (crun && options_.driver.cgroups.mode() == "hybrid" && mount == options_.driver.cgroups.v2_mount()) continue;
      bundle_.cgroups.emplace_back(directory, mount);
    }
    os::write_file(place_.path("config.json"), json::serialize(make_bundle(bundle_)), 0600, {}, os::Durability::cached);

    os::LaunchPlan plan;
    tune(plan, group, spec_, bundle_.config, device_rules(bundle_.config, bundle_.devices));
    // runc joins the group itself, and (from 1.2 on) refuses one in which somebody is already.
    if (crun) {
      for (const auto& file : group.join_files()) plan.write_file(file, "0");
    }
    plan.new_session().unshare(CLONE_NEWNS).make_mounts_private();
    if (stage_) {
      stage_->build(plan, image_.layers, place_.directory);
      // A program may open its output anew, as /dev/stdout: crun sees to that, runc fails to in a user namespace.
      if (bundle_.config.log && spec_.log_files != 0)
        plan.give_fd(1, output_.uid, output_.gid).give_fd(2, output_.uid, output_.gid);
    } else {
      plan.change_directory(place_.path("l"));
      plan.mount("overlay", bundle_.rootfs, "overlay", MS_NODEV, overlay_options(image_.layers.size(), ".."));
      plan.change_directory("/");
    }
    prepare_cgroups(plan, runtime_, options_.driver.cgroups);
    const auto argv = run_command(runtime_, place_.run_paths(spec_));
    return plan.exec({runtime_.program}, argv, {std::string("PATH=") + std::string(os::kDefaultPath)});
  }

  int stop_signal() const { return os::find_signal(image_.config.stop_signal).value_or(SIGTERM); }

  const Options& options_;
  const Runtime& runtime_;
  const TaskSpec& spec_;
  Place place_;
  Surroundings around_;
  BundleInput bundle_;
  oci::Image image_;
  std::optional<Stage> stage_;
  os::Owner output_;  ///< with a stage: of the pipes to the log, as the host numbers it
};

class Pods final : public driver::Driver {
 public:
  explicit Pods(Options options) : options_(std::move(options)) {
    undo_holdings(options_.driver.ledger, options_.store);
  }

  std::string name() const override { return options_.name; }

  driver::Fingerprint fingerprint() const override {
    driver::Fingerprint found;
    std::string why_not;
    const auto runtime = find_runtime(options_.runtime, why_not);
    found.detected = runtime.has_value();
    if (!runtime) {
      found.description = why_not;
    } else if (::geteuid() != 0) {
      found.description = "needs root: the agent runs as another user; the driver charliecloud does not";
    } else if (options_.driver.cgroups.mode() == "none") {
      found.description = "needs cgroups: none are mounted";
    } else {
      found.healthy = true;
      const auto key = "driver." + options_.name;
      const auto flag = [](bool on) { return std::string(on ? "true" : "false"); };
      found.attributes = {{key, "1"},
                          {key + ".version", runtime->version},
                          {key + ".runtime", runtime->name},
                          {key + ".rootless", "false"},
                          {key + ".cgroupVersion", options_.driver.cgroups.mode() == "v2" ? "v2" : "v1"},
                          {key + ".volumes.enabled", flag(options_.policy.volumes)},
                          {key + ".privileged.enabled", flag(options_.policy.privileged)}};
    }
    return found;
  }

  bool mounts() const override { return true; }
  bool joins_networks() const override { return true; }

  std::vector<std::string> validate(const json::value& config) const override {
    std::vector<std::string> problems;
    static_cast<void>(parse_config(config, options_.policy, problems));
    return problems;
  }

  std::unique_ptr<driver::TaskHandle> start(const TaskSpec& spec) override {
    std::vector<std::string> problems;
    Policy policy = options_.policy;
    policy.host_users = spec.may_be_root;
    auto config = parse_config(spec.config, policy, problems);
    if (!problems.empty()) throw Error(Code::invalid, "the task's config is wrong").because(problems);
    std::string why_not;
    const auto runtime = find_runtime(options_.runtime, why_not);
    if (!runtime)
      throw Error(Code::unsupported, "no container can be started")
          .because(why_not)
          .because(fmt::format("on node '{}'", spec.node));
    return PodStart(options_, *runtime, spec, std::move(config), around(spec)).carry_out();
  }

  std::unique_ptr<driver::TaskHandle> recover(const TaskSpec& spec) override {
    std::vector<std::string> problems;
    // What the client allows now does not matter to what runs already.
    const auto config = parse_config(spec.config, options_.policy, problems);
    int stop_signal = SIGTERM;
    try {
      stop_signal =
          os::find_signal(options_.store->find_leased(around(spec).lease).config.stop_signal).value_or(SIGTERM);
    } catch (const Error&) {
      // Its agent died before it had the image: there is nothing to stop.
    }
    auto task =
        local::LocalTask::recover(options_.driver, spec, command_of(Place(spec).directory), entered(spec, config));
    return std::make_unique<PodTask>(std::move(task), around(spec), stop_signal);
  }

  bool reap_leftovers(bool end_them) override { return local::reap_leftovers(options_.driver, end_them); }

 private:
  Surroundings around(const TaskSpec& spec) const { return {spec, options_.driver.ledger, options_.store}; }

  Options options_;
};

}  // namespace

std::unique_ptr<driver::Driver> make_pod(Options options) { return std::make_unique<Pods>(std::move(options)); }

}  // namespace underway::pod
