#include "tests/capsules.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/text.hpp"
#include "harness/places.hpp"
#include "os/file.hpp"
#include "os/mount.hpp"

namespace underway::run {

bool eventually(const std::function<bool()>& holds, seconds within) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds{5});
  }
  return true;
}

std::string Neighbour::ask(const std::string& address, int port) const {
  std::string said;
  inside.run([&] {
    const os::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    ::inet_pton(AF_INET, address.c_str(), &to.sin_addr);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 && errno != EINPROGRESS) return;
    if (!os::wait_for(socket.get(), POLLIN, 500)) return;
    char text[256];
    const auto size = ::recv(socket.get(), text, sizeof text, 0);
    if (size > 0) said.assign(text, static_cast<std::size_t>(size));
  });
  return std::string(trim(said));
}

Capsules::Capsules() {
  if (::geteuid() != 0) return;
  // Not /tmp: some machines have an overlay there.
  char name[] = "/var/lib/underway-capsule-XXXXXX";
  directory_ = ::mkdtemp(name);
  ::chmod(directory_.c_str(), 0755);
  group_ = fmt::format("underway-capsule-{}", ::getpid());
  os::make_directories(directory_ + "/keys");
  key_ = image::generate_key(directory_ + "/ops.key", "ops", SystemClock().now() + std::chrono::hours(24));
  os::write_file(directory_ + "/keys/ops.pub", image::write_public_key(*key_));
  // The test's own network stands for the host's.
  EXPECT_EQ(::unshare(CLONE_NEWNET), 0);
  net::Netlink(net::Namespace::current()).set_up("lo");
  add_bridge("br-test");
  restart_agent();
}

Capsules::~Capsules() {
  driver_.reset();
  ledger_.reset();
  if (!directory_.empty()) os::remove_tree(directory_);
}

void Capsules::SetUp() {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  if (::access("/bin/busybox", X_OK) != 0) GTEST_SKIP() << "needs busybox-static";
}

void Capsules::TearDown() {
  if (directory_.empty()) return;
  for (auto& [spec, task] : tasks_) {
    if (HasFailure()) std::cerr << "--- " << spec.alloc_id << "\n" << out(spec) << err(spec);
    end(*task, SIGKILL, seconds{0});
  }
  tasks_.clear();
  EXPECT_EQ(traces(), std::vector<std::string>{});
}

void Capsules::restart_agent() {
  driver_.reset();
  ledger_.reset();
  ledger_.emplace(directory_ + "/ledger");
  driver_ = make_capsule(options());
}

Options Capsules::options() {
  Options options;
  options.driver.keeper_program = binary_dir() + "/bin/underway-keeper";
  options.driver.ledger = &*ledger_;
  options.init_program = binary_dir() + "/bin/underway-capsule-init";
  options.capsules = directory_ + "/capsules";
  options.images = directory_ + "/images";
  options.keys = {directory_ + "/keys"};
  options.clock = &clock_;
  return options;
}

std::string Capsules::pack_image(const std::string& name, const std::function<void(const std::string&)>& change,
                                 std::vector<image::Service> services, std::vector<image::Step> steps) {
  const auto root = directory_ + "/root-" + name;
  for (const auto* part : {"/bin", "/etc", "/usr/lib/tmpfiles.d", "/var/lib", "/root", "/run"})
    os::make_directories(root + part, 0755);
  std::filesystem::copy_file("/bin/busybox", root + "/bin/busybox");
  for (const auto* applet : {"sh",    "cat",   "sleep", "echo", "ls",   "id",   "hostname", "mv",    "rm",
                             "mount", "ip",    "nc",    "ps",   "grep", "dd",   "true",     "false", "touch",
                             "kill",  "mkdir", "stat",  "env",  "sed",  "head", "wc",       "ping",  "mountpoint"}) {
    std::filesystem::create_symlink("busybox", root + "/bin/" + applet);
  }
  os::write_file(root + "/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nmunge:x:104:107::/run/munge:/bin/false\n");
  os::write_file(root + "/etc/group", "root:x:0:\nmunge:x:107:\nextra:x:200:munge\n");
  os::write_file(root + "/etc/motd", "welcome\n");
  os::write_file(root + "/usr/lib/tmpfiles.d/munge.conf", "d /run/munge 0755 munge munge -\n");
  std::filesystem::create_symlink("../run", root + "/var/run");
  if (change) change(root);
  image::Manifest manifest;
  manifest.name = name;
  manifest.version = "1.0";
  manifest.architecture = "amd64";
  manifest.created = 1'700'000'000'000'000'000;
  manifest.services = std::move(services);
  manifest.steps = std::move(steps);
  const auto key = image::read_private_key(directory_ + "/ops.key");
  image::pack(root, manifest, directory_ + "/" + name + ".capsule", {.key = &key});
  os::remove_tree(root);
  return directory_ + "/" + name + ".capsule";
}

std::string Capsules::plain_image() {
  const auto path = directory_ + "/plain.capsule";
  return os::exists(path) ? path : pack_image("plain");
}

TaskSpec Capsules::spec(const std::string& name, const std::string& config, int attempt) {
  TaskSpec spec;
  spec.alloc_id = name + "-0000-4000-8000-000000000000";
  spec.task = "capsule";
  spec.node = "sms1";
  const auto allocation = directory_ + "/alloc/" + spec.alloc_id;
  spec.task_dir = allocation + "/capsule";
  spec.alloc_dir = allocation + "/alloc";
  spec.keeper_dir = fmt::format("{}/capsule/private/run-{}", allocation, attempt);
  spec.cgroup = fmt::format("{}/{}/capsule", group_, name);
  spec.run_cgroup = fmt::format("{}/{}.runs/capsule/1", group_, name);
  spec.env = {{"PATH", "/usr/sbin:/usr/bin:/bin"},
              {"NOMAD_JOB_ID", name},
              {"NOMAD_GROUP_NAME", name},
              {"NOMAD_ALLOC_INDEX", "0"}};
  spec.config = boost::json::parse(config);
  return spec;
}

std::string Capsules::config(const std::string& script, const std::string& address, const std::string& more) {
  boost::json::object config;
  config["image"] = plain_image();
  config["service"] = boost::json::parse(R"([{"main": [{"command": ["/bin/sh", "-c", ""]}]}])");
  config["service"].at(0).at("main").at(0).at("command").at(2) = script;
  if (!address.empty()) {
    config["network"] = boost::json::parse(fmt::format(R"([{{"test": [{{"addresses": ["{}"]}}]}}])", address));
  }
  if (!more.empty()) {
    const auto others = boost::json::parse(more);
    for (const auto& [key, value] : others.as_object()) config[key] = value;
  }
  return boost::json::serialize(config);
}

TaskHandle& Capsules::start(const TaskSpec& spec) {
  tasks_.emplace_back(spec, driver_->start(spec));
  return *tasks_.back().second;
}

void Capsules::end(TaskHandle& task, int signal, seconds grace) {
  task.stop(signal, grace);
  EXPECT_TRUE(task.wait(seconds{30}));
  task.destroy();
  const auto found =
      std::find_if(tasks_.begin(), tasks_.end(), [&](const auto& running) { return running.second.get() == &task; });
  if (found != tasks_.end() && signal != SIGKILL) tasks_.erase(found);
}

std::string Capsules::shell(TaskHandle& task, const std::string& command) {
  auto session = task.exec({.argv = {"/bin/sh", "-c", command + " 2>&1"}});
  session.in.reset();
  auto text = os::read_all(session.out, 1U << 20, command);
  text += os::read_all(session.err, 1U << 20, command);
  const auto status = session.child.wait(seconds{20});
  if (!status) return text + "[does not end]";
  return std::string(trim(text)) + (status->success() ? "" : "[" + os::to_string(*status) + "]");
}

std::string Capsules::out(const TaskSpec& spec) const {
  return os::find_file(spec.alloc_dir + "/logs/capsule.stdout.0").value_or("");
}
std::string Capsules::err(const TaskSpec& spec) const {
  return os::find_file(spec.alloc_dir + "/logs/capsule.stderr.0").value_or("");
}

void Capsules::add_bridge(const std::string& name) { net::Netlink(net::Namespace::current()).add_bridge(name); }

Neighbour Capsules::neighbour(const std::string& name, const std::string& address, const std::string& bridge) {
  Neighbour made{net::Namespace::create(name)};
  net::Netlink here(net::Namespace::current());
  here.add_veth({.name = "n-" + name, .peer = &made.inside, .master = bridge});
  net::Netlink at(made.inside);
  at.set_up("lo");
  at.set_up("eth0");
  at.add_address("eth0", *net::parse_cidr(address));
  eventually([&] { return here.port_forwards("n-" + name); });
  return made;
}

std::vector<std::string> Capsules::traces() {
  std::vector<std::string> found;
  for (const auto& open : ledger_->unsettled())
    found.push_back(fmt::format("ledger {} {}", open.item.kind, open.item.object));
  for (const auto& mount : os::list_mounts()) {
    if (mount.target.starts_with(directory_ + "/")) found.push_back("mount " + mount.target);
  }
  for (const auto& link : net::Netlink(net::Namespace::current()).links()) {
    if (link.name.starts_with("cap")) found.push_back("link " + link.name);
  }
  if (auto group = os::Cgroup::find(os::CgroupSystem::probe(), group_)) {
    for (const auto pid : group->processes()) found.push_back(fmt::format("process {}", pid));
    group->remove();
  }
  for (const auto& device : std::filesystem::directory_iterator("/sys/block")) {
    const auto file = os::find_file(device.path().string() + "/loop/backing_file").value_or("");
    if (file.starts_with(directory_)) found.push_back("loop device of " + std::string(trim(file)));
  }
  return found;
}

}  // namespace underway::run
