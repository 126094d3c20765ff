#include "pod/charliecloud.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "detail/parts.hpp"
#include "detail/surroundings.hpp"
#include "driver/scalar.hpp"
#include "driver/settings.hpp"
#include "os/file.hpp"
#include "os/new_root.hpp"
#include "os/process/process.hpp"

namespace underway::pod {
namespace {

using namespace detail;
namespace local = driver::local;
namespace settings = driver::settings;

const std::string kPlace(kStage);
/// What is shown of the task's directories, each at a place of this name in the container.
constexpr std::string_view kOwn[] = {"alloc", "local", "secrets", "tmp"};

const std::vector<settings::Key>& keys() {
  using settings::Kind;
  static const std::vector<settings::Key> kKeys = {
      {"image", Kind::text, true}, {"command", Kind::text},  {"args", Kind::texts},     {"bind", Kind::texts},
      {"work_dir", Kind::text},    {"home", Kind::flag},     {"write", Kind::flag},     {"set_env", Kind::texts},
      {"unset_env", Kind::texts},  {"uid", Kind::number},    {"gid", Kind::number},     {"force_pull", Kind::flag},
      {"username", Kind::text},    {"password", Kind::text}, {"tls_verify", Kind::flag}};
  return kKeys;
}

bool clean_absolute(const std::string& path) {
  return path.starts_with('/') && (path + "/").find("/../") == std::string::npos && path.find(':') == std::string::npos;
}

/// Of a directory that the node has; else it is for the store.
bool is_directory_image(const std::string& image) { return image.starts_with('/'); }

std::string escaped(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (c == ':' || c == ',' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::optional<std::string> find_program(const std::string& named) {
  for (const auto& path : named.empty() ? os::command_candidates("ch-run", os::kDefaultPath) : std::vector{named}) {
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return std::nullopt;
}

os::User user_of_task(const TaskSpec& spec) { return local::user_of(spec, spec.user.empty() ? "nobody" : spec.user); }

/// What is to be run, and where: the job's word before the image's.
struct Program {
  std::vector<std::string> argv, env;
  std::string directory;
};

std::map<std::string, std::string> environment_of(const TaskSpec& spec, const os::User& user,
                                                  const std::vector<std::string>& of_image) {
  auto env = spec.env;
  for (const auto& variable : of_image) {
    const auto at = variable.find('=');
    if (at != std::string::npos) env.emplace(variable.substr(0, at), variable.substr(at + 1));
  }
  env.emplace("PATH", os::kDefaultPath);
  env.emplace("USER", user.name.empty() ? std::to_string(user.uid) : user.name);  // ch-run asks for both
  env.emplace("HOME", user.home.empty() ? "/" : user.home);
  return env;
}

Program program_of(const TaskSpec& spec, const os::User& user, const oci::ImageConfig& image) {
  Program program;
  const auto command = settings::text(spec.config, "command");
  auto args = settings::texts(spec.config, "args");
  program.argv = image.entrypoint;
  if (!command.empty()) program.argv.push_back(command);
  if (command.empty() && args.empty()) args = image.cmd;
  for (auto& argument : args) program.argv.push_back(std::move(argument));
  program.env = os::environment(environment_of(spec, user, image.env));
  program.directory = settings::text(spec.config, "work_dir");
  if (program.directory.empty()) program.directory = image.working_dir;
  if (program.directory.empty()) program.directory = "/";
  return program;
}

class CharliecloudTask final : public driver::TaskHandle {
 public:
  CharliecloudTask(std::unique_ptr<driver::TaskHandle> task, Surroundings around, std::string program)
      : task_(std::move(task)), around_(std::move(around)), program_(std::move(program)) {}

  int fd() const override { return task_->fd(); }
  bool poll() override { return task_->poll(); }
  const driver::TaskStatus& status() const override { return task_->status(); }
  bool wait(Duration within) override { return task_->wait(within); }
  void signal(int number) override { task_->signal(number); }
  void stop(int number, Duration grace) override { task_->stop(number, grace); }
  os::CgroupStats usage() const override { return task_->usage(); }
  void set_cpuset(const std::string& cores) override { task_->set_cpuset(cores); }
  /// ch-run itself joins: nobody else may enter a user's namespaces without becoming root in them.
  driver::ExecSession exec(const driver::ExecRequest& request) override {
    driver::ExecRequest joined = request;
    joined.argv = {program_, fmt::format("--join-pid={}", task_->status().process.pid), kPlace, "--"};
    joined.argv.insert(joined.argv.end(), request.argv.begin(), request.argv.end());
    return task_->exec(joined);
  }
  void destroy() override {
    task_->destroy();
    around_.clear_away();
  }

 private:
  std::unique_ptr<driver::TaskHandle> task_;
  Surroundings around_;
  std::string program_;
};

local::CommandTemplate command_in(const TaskSpec& spec) {
  return [spec] {
    os::SpawnSpec command;
    const auto user = user_of_task(spec);
    command.env = os::environment(environment_of(spec, user, {}));
    command.cwd = "/";
    command.user = user;
    command.no_new_privileges = true;
    return command;
  };
}

/// A start while it is not complete.
class CharliecloudStart {
 public:
  CharliecloudStart(const CharliecloudOptions& options, std::string program, const TaskSpec& spec)
      : options_(options),
        program_(std::move(program)),
        spec_(spec),
        user_(user_of_task(spec)),
        place_(spec),
        around_(spec, options.driver.ledger, options.store) {}

  std::unique_ptr<driver::TaskHandle> carry_out() {
    try {
      find_image();
      check_command();
      local::prepare_directories(spec_, user_);
      os::make_directories(kPlace, 0755);
      local::LocalLaunch launch;
      launch.limits = limits_of(options_.driver, spec_, Config{});
      const auto network = local::network_of(spec_);
      if (network) launch.network = &*network;
      launch.plan = [&](const os::Cgroup& group) { return plan(group); };
      auto task =
          local::LocalTask::start(options_.driver, spec_, launch, command_in(spec_), local::entered_network(spec_));
      if (pulled_) image_.lease.keep();
      return std::make_unique<CharliecloudTask>(std::move(task), std::move(around_), program_);
    } catch (Error& e) {
      around_.clear_away(e);
      e.because(fmt::format("on node '{}'", spec_.node));
      e.while_doing(fmt::format("starting task {} in its image", local::describe(spec_)));
      throw;
    }
  }

 private:
  void find_image() {
    const auto named = settings::text(spec_.config, "image");
    os::remove_tree(place_.directory);
    os::make_directories(place_.path("l"), 0700);
    if (is_directory_image(named)) {
      struct stat st{};
      if (::stat(named.c_str(), &st) != 0) throw errno_error(errno, fmt::format("cannot use image '{}'", named));
      if (!S_ISDIR(st.st_mode)) {
        throw Error(Code::unsupported, fmt::format("cannot use image '{}'", named))
            .because("it is not a directory")
            .advise(fmt::format("unpack it: `ch-convert {} {}.d`", named, named));
      }
      directory_ = named;
      return;
    }
    around_.record();
    oci::PullOptions how;
    if (const auto username = settings::text(spec_.config, "username"); !username.empty())
      how.credentials = oci::Credentials{username, settings::text(spec_.config, "password"), {}};
    how.auth_file = options_.auth_file;
    how.tls_verify = settings::flag(spec_.config, "tls_verify", true);
    how.force = settings::flag(spec_.config, "force_pull");
    how.lease = around_.lease;
    image_ = options_.store->pull(oci::parse_reference(named), how);
    pulled_ = true;
    if (image_.layers.empty())
      throw Error(Code::invalid, fmt::format("image '{}' is empty", named)).because("it has no layer");
    link_layers(place_, image_.layers);
  }

  void check_command() {
    run_ = program_of(spec_, user_, image_.config);
    if (!run_.argv.empty()) return;
    throw Error(Code::invalid, "the task's config is wrong")
        .because("config.command: is required: the image names no program");
  }

  /// The image as the task sees it, and in memory what may have to be made in it.
  void add_image(os::LaunchPlan& plan) const {
    const std::string root = kPlace + "/image";
    if (directory_ && settings::flag(spec_.config, "write")) {
      plan.bind(*directory_, root);
      return;
    }
    if (directory_) {
      const std::string upper = fmt::format(",upperdir={0}/upper,workdir={0}/work", kPlace);
      plan.mount("overlay", root, "overlay", MS_NODEV, "lowerdir=" + escaped(*directory_) + upper);
    } else {
      plan.change_directory(place_.path("l"));
      plan.mount("overlay", root, "overlay", MS_NODEV, overlay_options(image_.layers.size(), kPlace));
      plan.change_directory("/");
    }
    // Only at the top: deeper ones could lead out by a link of the image.
    for (const auto& name : kOwn) plan.optionally().make_directory(fmt::format("{}/{}", root, name), 0755);
    for (const auto& mount : spec_.mounts) {
      if (mount.destination.find('/', 1) == std::string::npos)
        plan.optionally().make_directory(root + mount.destination, 0755);
    }
  }

  /// The files by which programs find names in the group's network, and where they go.
  std::vector<std::pair<std::string, std::string>> name_files() const {
    std::vector<std::pair<std::string, std::string>> files;
    if (!spec_.network.hosts_file.empty()) files.emplace_back(spec_.network.hosts_file, "hosts");
    if (!spec_.network.resolver_file.empty()) files.emplace_back(spec_.network.resolver_file, "resolv.conf");
    return files;
  }

  void add_volumes(os::LaunchPlan& plan) const {
    for (const auto& [source, name] : name_files())
      plan.touch(kPlace + "/" + name, 0644).bind(source, kPlace + "/" + name);
    for (std::size_t i = 0; i < spec_.mounts.size(); ++i) {
      const std::string at = fmt::format("{}/volume-{}", kPlace, i);
      plan.make_directory(at, 0755).bind(spec_.mounts[i].source, at, true);
      std::uint64_t attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
      if (spec_.mounts[i].read_only) attributes |= MOUNT_ATTR_RDONLY;
      plan.set_mount_attributes(at, attributes, true);
    }
  }

  std::vector<std::string> arguments() const {
    std::vector<std::string> argv = {program_, "--private-tmp", "--cd=" + run_.directory};
    for (const auto& name : kOwn) argv.push_back(fmt::format("--bind={0}/{1}:/{1}", kPlace, name));
    for (std::size_t i = 0; i < spec_.mounts.size(); ++i)
      argv.push_back(fmt::format("--bind={}/volume-{}:{}", kPlace, i, spec_.mounts[i].destination));
    for (const auto& [source, name] : name_files())
      argv.push_back(fmt::format("--bind={0}/{1}:/etc/{1}", kPlace, name));
    for (const auto& bind : settings::texts(spec_.config, "bind")) argv.push_back("--bind=" + bind);
    for (const auto& variable : settings::texts(spec_.config, "set_env")) argv.push_back("--set-env=" + variable);
    for (const auto& glob : settings::texts(spec_.config, "unset_env")) argv.push_back("--unset-env=" + glob);
    if (settings::flag(spec_.config, "home")) argv.emplace_back("--home");
    if (settings::flag(spec_.config, "write")) argv.emplace_back("--write");
    if (const auto uid = settings::number(spec_.config, "uid")) argv.push_back(fmt::format("--uid={}", *uid));
    if (const auto gid = settings::number(spec_.config, "gid")) argv.push_back(fmt::format("--gid={}", *gid));
    argv.push_back(kPlace + "/image");
    argv.emplace_back("--");
    argv.insert(argv.end(), run_.argv.begin(), run_.argv.end());
    return argv;
  }

  os::LaunchPlan plan(const os::Cgroup& group) const {
    os::LaunchPlan plan;
    for (const auto& file : group.join_files()) plan.write_file(file, "0");
    plan.optionally().write_file("/proc/self/oom_score_adj", "0");
    plan.new_session().unshare(CLONE_NEWNS).make_mounts_private();
    os::mount_memory(plan, kPlace, "mode=755,size=1m");
    for (const auto* name : {"image", "upper", "work", "alloc", "local", "secrets", "tmp"})
      plan.make_directory(fmt::format("{}/{}", kPlace, name), 0755);
    plan.bind(spec_.alloc_dir, kPlace + "/alloc");
    for (const auto* name : {"/local", "/secrets", "/tmp"}) plan.bind(spec_.task_dir + name, kPlace + name);
    add_volumes(plan);
    add_image(plan);
    plan.change_directory("/").become(user_).no_new_privileges().parent_death_signal(SIGKILL);
    return plan.exec({program_}, arguments(), run_.env);
  }

  const CharliecloudOptions& options_;
  std::string program_;
  const TaskSpec& spec_;
  os::User user_;
  Place place_;
  Surroundings around_;
  std::optional<std::string> directory_;
  oci::Image image_;
  bool pulled_ = false;
  Program run_;
};

class Charliecloud final : public driver::Driver {
 public:
  explicit Charliecloud(CharliecloudOptions options) : options_(std::move(options)) {
    undo_holdings(options_.driver.ledger, options_.store);
  }

  std::string name() const override { return "charliecloud"; }
  bool mounts() const override { return true; }
  bool joins_networks() const override { return true; }

  driver::Fingerprint fingerprint() const override {
    driver::Fingerprint found;
    const auto program = find_program(options_.program);
    found.detected = program.has_value();
    if (!program) {
      found.description = "ch-run is not there: install the package charliecloud-runtime";
    } else if (::geteuid() != 0) {
      found.description = "the agent does not run as root: it could not become a task's user";
    } else if (os::find_file("/proc/sys/user/max_user_namespaces").value_or("1").starts_with("0") ||
               os::find_file("/proc/sys/kernel/unprivileged_userns_clone").value_or("1").starts_with("0")) {
      found.description = "this kernel allows users no namespaces: see sysctl user.max_user_namespaces";
    } else {
      found.healthy = true;
      found.attributes = {{"driver.charliecloud", "1"}};
      const auto said = os::run_program(
          {.argv = {*program, "--version"}, .env = {"USER=root", "HOME=/"}, .fds = {}, .setup = {}, .description = {}},
          std::chrono::seconds{10}, 1U << 16);
      const std::string version(trim(said.out + said.err));  // 0.31 says it on standard error
      if (said.status.success() && !version.empty()) found.attributes["driver.charliecloud.version"] = version;
    }
    return found;
  }

  std::vector<std::string> validate(const boost::json::value& config) const override {
    return charliecloud_problems(config);
  }

  std::unique_ptr<driver::TaskHandle> start(const TaskSpec& spec) override {
    settings::require_none(validate(spec.config));
    return CharliecloudStart(options_, program(spec), spec).carry_out();
  }

  std::unique_ptr<driver::TaskHandle> recover(const TaskSpec& spec) override {
    auto task = local::LocalTask::recover(options_.driver, spec, command_in(spec), local::entered_network(spec));
    return std::make_unique<CharliecloudTask>(std::move(task),
                                              Surroundings(spec, options_.driver.ledger, options_.store),
                                              find_program(options_.program).value_or("ch-run"));
  }

  bool reap_leftovers(bool end_them) override { return local::reap_leftovers(options_.driver, end_them); }

 private:
  std::string program(const TaskSpec& spec) const {
    if (auto found = find_program(options_.program)) return *std::move(found);
    throw Error(Code::unsupported, fmt::format("cannot start task {}", local::describe(spec)))
        .because(fmt::format("node '{}' has no ch-run", spec.node))
        .advise("install the package charliecloud-runtime on the node");
  }

  CharliecloudOptions options_;
};

}  // namespace

std::vector<std::string> charliecloud_problems(const boost::json::value& config) {
  auto found = settings::problems(config, keys());
  if (!found.empty()) return found;
  const auto image = settings::text(config, "image");
  if (!driver::is_open(boost::json::value(image))) {
    if (is_directory_image(image)) {
      if (!clean_absolute(image)) found.push_back("config.image: must be a clean absolute path, without ':'");
      if (settings::text(config, "command").empty())
        found.push_back("config.command: is required: a directory names no program");
    } else {
      if (settings::flag(config, "write"))
        found.push_back("config.write: only a directory can be written to: others share this image");
      try {
        static_cast<void>(oci::parse_reference(image));
      } catch (const Error& e) {
        found.push_back("config.image: " + e.one_line());
      }
    }
  }
  for (const auto& bind : settings::texts(config, "bind")) {
    const auto parts = split(bind, ':');
    const bool good = parts.size() <= 2 && std::all_of(parts.begin(), parts.end(), [](const std::string& path) {
                        return clean_absolute(path) || path.find("${") != std::string::npos;
                      });
    if (!good) found.push_back(fmt::format("config.bind: '{}' must be /path or /path:/path", bind));
  }
  for (const auto* id : {"uid", "gid"}) {
    if (const auto number = settings::number(config, id); number && (*number < 0 || *number >= 0xffffffff))
      found.push_back(fmt::format("config.{}: must be from 0 to 4294967294", id));
  }
  return found;
}

std::unique_ptr<driver::Driver> make_charliecloud(CharliecloudOptions options) {
  return std::make_unique<Charliecloud>(std::move(options));
}

}  // namespace underway::pod
