#include "vm/tests/machines.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <thread>

#include <boost/json/parse.hpp>

#include "base/numbers.hpp"
#include "harness/command.hpp"
#include "vm/state/lease.hpp"

namespace underway::vm {
namespace {

std::string guest() { return source_dir() + "/build/guest"; }

/// The guest's archive with our program in a second one behind it.
std::string make_initrd(const std::string& place, const std::string& archives, const std::string& name) {
  const auto path = place + "/" + name;
  if (os::exists(path)) return path;
  const auto made = harness::shell(
      fmt::format("set -e; mkdir -p {0}/files; cp {1}/bin/vm_guest_worker {0}/files/worker; "
                  "(cat {2}; cd {0}/files; echo worker | busybox cpio -o -H newc 2>/dev/null | gzip -n) > {3}",
                  place, binary_dir(), archives, path));
  EXPECT_EQ(made.exit_code, 0) << made.err;
  return path;
}

os::Fd try_connect(const std::string& address) {
  os::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(7000);
  ::inet_pton(AF_INET, address.c_str(), &to.sin_addr);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 && errno != EINPROGRESS)
    return {};
  if (!os::wait_for(socket.get(), POLLOUT, 1000)) return {};
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? std::move(socket) : os::Fd();
}

}  // namespace

Client::Client(const std::string& address, Duration within) {
  const Deadline deadline(within);
  while (!socket_ && !deadline.passed()) {
    socket_ = try_connect(address);
    if (!socket_) std::this_thread::sleep_for(milliseconds{50});
  }
  EXPECT_TRUE(static_cast<bool>(socket_)) << "no guest listens at " << address;
}

std::string Client::ask(const std::string& question, Duration within) {
  if (!socket_) return "not connected";
  const auto line = question + "\n";
  if (::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0) return "no connection";
  const Deadline deadline(within);
  for (;;) {
    if (const auto end = buffer_.find('\n'); end != std::string::npos) {
      auto answer = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return answer;
    }
    if (!os::wait_for(socket_.get(), POLLIN, deadline.milliseconds())) return "no answer";
    char bytes[256];
    const ssize_t n = ::recv(socket_.get(), bytes, sizeof bytes, 0);
    if (n <= 0) return "no connection";
    buffer_.append(bytes, static_cast<std::size_t>(n));
  }
}

std::uint64_t Client::next(Duration within) {
  const auto answer = ask("next", within);
  return parse_number<std::uint64_t>(answer.substr(0, answer.find(' '))).value_or(0);
}

void MachineTest::SetUp() {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  if (probe({.device = "/nowhere"}).program.empty()) GTEST_SKIP() << "needs qemu-system-x86";
  if (!os::exists(guest() + "/version")) GTEST_SKIP() << "needs build/guest: packaging/guest build/guest makes it";
  path_ = "/var/lib/underway-vm-XXXXXX";
  ASSERT_NE(::mkdtemp(path_.data()), nullptr);
  machines_ = path_ + "/machines";
  parent_ = fmt::format("underway-test-{}", ::getpid());
  os::make_directories(path_ + "/keepers");
  os::make_directories(machines_);
  net::Netlink links(net::Namespace::current());
  if (!links.find_link("br-lan")) {
    links.add_bridge("br-lan");
    links.add_address("br-lan", *net::parse_cidr("10.99.0.1/24"));
  }
  spec_ = task_spec("web", ++runs_);
  spec_.config = config();
  driver_ = make_driver();
}

void MachineTest::TearDown() {
  if (path_.empty()) return;
  if (task_) end();
  task_.reset();
  EXPECT_TRUE(os::list_directory(path_ + "/keepers").empty()) << "a keeper, or the directory of a run, is left";
  for (const auto& link : net::Netlink(net::Namespace::current()).links())
    EXPECT_THAT(link.name, Not(HasSubstr("vm-"))) << "a tap is left";
  EXPECT_EQ(lease_holder(state()), "");
  if (auto left = os::Cgroup::find(cgroups_, parent_)) {
    EXPECT_TRUE(left->processes().empty());
    left->remove();
  }
  os::remove_tree(path_);
}

boost::json::object MachineTest::config(boost::json::object more) const {
  boost::json::object out = {
      {"name", "web"},
      {"kernel", guest() + "/vmlinuz"},
      {"initrd", make_initrd(path_, guest() + "/initrd", "initrd")},
      {"append", fmt::format("console=ttyS0 panic=-1 quiet address={}/24", kAddress)},
      {"guest_agent", true},
      {"network", boost::json::parse(R"([{"lan": [{"bridge": "br-lan"}]}])")},
  };
  for (const auto& [key, value] : more) out[key] = value;
  return out;
}

boost::json::object MachineTest::with_agent(boost::json::object more) const {
  more["initrd"] = make_initrd(path_, fmt::format("{0}/initrd {0}/agent", guest()), "initrd-agent");
  return config(std::move(more));
}

driver::TaskSpec MachineTest::task_spec(const std::string& task, int run) const {
  driver::TaskSpec spec;
  spec.alloc_id = fmt::format("7f3a9c{:02x}-0000-4000-8000-000000000000", run);
  spec.task = task;
  spec.node = "gpu-014";
  spec.task_dir = fmt::format("{}/alloc-{}/{}", path_, run, task);
  spec.alloc_dir = fmt::format("{}/alloc-{}/alloc", path_, run);
  spec.keeper_dir = fmt::format("{}/keepers/{}-{}", path_, task, run);
  spec.cgroup = fmt::format("{}/{}/{}", parent_, run, task);
  spec.run_cgroup = fmt::format("{}/{}.runs/{}/1", parent_, run, task);
  spec.memory_mb = 160;
  return spec;
}

std::unique_ptr<driver::Driver> MachineTest::make_driver(std::function<void(const std::string&)> on_step,
                                                         const std::string& machines) const {
  Options options;
  options.driver.keeper_program = binary_dir() + "/bin/underway-keeper";
  options.driver.cgroups = cgroups_;
  options.machines = machines.empty() ? machines_ : machines;
  // What is under test works the same with both, and most machines that run tests have no KVM that does.
  options.probe.device = "/nowhere";
  options.identify_program = binary_dir() + "/bin/underway-identify";
  options.clock = &clock_;
  options.shared_memory = path_ + "/shared";
  options.on_step = std::move(on_step);
  return make_qemu(std::move(options));
}

void MachineTest::start() { task_ = driver_->start(spec_); }

bool MachineTest::die_in(const std::string& step, const std::function<void(const MachineOptions&)>& what) const {
  const pid_t child = ::fork();
  if (child == 0) {
    MachineOptions options;
    options.on_step = [&](const std::string& now) {
      if (now == step) ::raise(SIGKILL);
    };
    try {
      what(options);
    } catch (const std::exception& e) {
      fmt::print(stderr, "in step {}: {}\n", step, e.what());
      ::_exit(3);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

bool MachineTest::start_dies_in(const std::string& step) const {
  return die_in(step, [&](const MachineOptions& options) {
    EXPECT_NE(make_driver(options.on_step)->start(spec_).release(), nullptr) << "left as whoever dies leaves it";
  });
}

Machine MachineTest::machine(std::function<void(const std::string&)> on_step) const {
  return Machine::open(run_directory(spec_), {std::move(on_step)});
}

void MachineTest::recover() {
  task_.reset();
  driver_ = make_driver();
  task_ = driver_->recover(spec_);
}

void MachineTest::end() {
  if (task_->status().phase == driver::TaskStatus::Phase::running) task_->stop(SIGKILL, {});
  ASSERT_TRUE(task_->wait(seconds{60}));
  task_->destroy();
  task_.reset();
  spec_ = task_spec("web", ++runs_);
  spec_.config = config();
}

std::string MachineTest::failure(const std::function<void()>& what) const {
  try {
    what();
  } catch (const Error& e) {
    return e.text();
  }
  return "it did not fail";
}

std::string MachineTest::out() const {
  std::string all;
  for (const auto* stream : {"stdout", "stderr"})
    all += os::find_file(fmt::format("{}/logs/web.{}.0", spec_.alloc_dir, stream)).value_or("");
  return all;
}

std::vector<std::string> MachineTest::memories() const {
  std::vector<std::string> found;
  for (const auto& place : {state(), checkpoint_directory(state())}) {
    if (!os::exists(place)) continue;
    for (const auto& entry : os::list_directory(place)) {
      if (entry.name.ends_with(".zst")) found.push_back(place + "/" + entry.name);
    }
  }
  return found;
}

std::string MachineTest::make_image() const {
  const auto image = path_ + "/data.ext4";
  const auto made = harness::shell(fmt::format("truncate -s 32M {0} && mkfs.ext4 -q -F {0}", image));
  EXPECT_EQ(made.exit_code, 0) << made.err;
  return image;
}

}  // namespace underway::vm
