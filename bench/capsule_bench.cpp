// How fast a capsule starts, and for how long a client misses it when it goes from one host to another. Beside it the
// same by podman, and by a script that does nothing but what has to be done. Needs root; what is not there is left out.
//
//   capsule_bench [ROUNDS]
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/json/parse.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "image/key.hpp"
#include "image/pack.hpp"
#include "net/neighbours.hpp"
#include "net/netlink.hpp"
#include "os/file.hpp"
#include "run/capsule.hpp"
#include "run/control.hpp"
#include "run/tests/slurm_root.hpp"

namespace {

using namespace underway;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kAddress = "10.9.0.5";

double ms_since(steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - begin).count();
}

void report(const std::string& what, std::vector<double> all) {
  std::sort(all.begin(), all.end());
  if (all.empty()) return;
  std::cout << fmt::format("{:<64} median {:7.1f} ms   least {:7.1f}   most {:7.1f}   n={}\n", what,
                           all[all.size() / 2], all.front(), all.back(), all.size())
            << std::flush;
}

/// Connects every 5 ms, as a client that needs the service, and remembers the longest time without an answer.
class Client {
 public:
  explicit Client(const net::Namespace& in) : in_(in), thread_([this] { run(); }) {}
  ~Client() {
    stop_ = true;
    thread_.join();
  }
  /// Waits for an answer, then forgets what was.
  void settle() {
    wait_for(10);
    longest_ = 0;
  }
  double longest() {
    wait_for(3);
    return longest_;
  }

 private:
  void wait_for(int more) const {
    const auto seen = answers_.load();
    const auto deadline = steady_clock::now() + std::chrono::seconds{30};
    while (answers_ < seen + more) {
      if (steady_clock::now() > deadline) throw Error(Code::timeout, "the service does not answer");
      std::this_thread::sleep_for(milliseconds{1});
    }
  }
  bool answered() const {
    const os::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(7);
    ::inet_pton(AF_INET, kAddress, &to.sin_addr);
    ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
    if (!os::wait_for(socket.get(), POLLOUT, 5)) return false;
    int problem = 0;
    socklen_t size = sizeof problem;
    return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &problem, &size) == 0 && problem == 0;
  }
  void run() {
    in_.run([this] {
      auto last = steady_clock::now();
      while (!stop_) {
        const auto begin = steady_clock::now();
        if (answered()) {
          const double gap = ms_since(last);
          if (gap > longest_) longest_ = gap;
          last = steady_clock::now();
          ++answers_;
        }
        std::this_thread::sleep_until(begin + milliseconds{5});
      }
    });
  }

  const net::Namespace& in_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> answers_ = 0;
  std::atomic<double> longest_ = 0;
  std::thread thread_;
};

/// A stand-in for a stateless service: accepts and closes.
constexpr const char* kService = R"(#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
int main(void) {
  int one = 1, s = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(7)};
  setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(s, (void*)&a, sizeof a) || listen(s, 64)) return 1;
  for (;;) close(accept(s, 0, 0));
})";

class Bed {
 public:
  Bed() {
    char name[] = "/var/lib/underway-bench-XXXXXX";
    directory_ = ::mkdtemp(name);
    ::chmod(directory_.c_str(), 0755);
    if (::unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) throw errno_error(errno, "cannot make namespaces");
    ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    os::make_directories("/run/netns");  // ip(8) keeps its names there: ours go with this process
    ::mount("tmpfs", "/run/netns", "tmpfs", 0, "");
    here_.emplace(net::Namespace::current());
    here_->set_up("lo");
    here_->add_bridge("br-test");
    client_.emplace(net::Namespace::create("client"));
    here_->add_veth({.name = "client", .peer = &*client_, .master = "br-test"});
    net::Netlink at(*client_);
    at.set_up("eth0");
    at.add_address("eth0", *net::parse_cidr("10.9.0.1/24"));
    os::make_directories(directory_ + "/keys");
    const auto key = image::generate_key(directory_ + "/ops.key", "ops", SystemClock().now() + std::chrono::hours(24));
    os::write_file(directory_ + "/keys/ops.pub", image::write_public_key(key));
    for (const auto* host : {"a", "b"}) hosts_.push_back(agent(host));
  }
  ~Bed() {
    hosts_.clear();
    ledgers_.clear();
    os::remove_tree(directory_);
  }

  const net::Namespace& client() const { return *client_; }
  driver::Driver& host(std::size_t number) { return *hosts_[number]; }
  const std::string& directory() const { return directory_; }

  std::string root(const std::string& name) {
    const auto root = directory_ + "/root-" + name;
    for (const auto* part : {"/bin", "/etc", "/run", "/usr/lib/tmpfiles.d", "/var/lib"})
      os::make_directories(root + part);
    std::filesystem::copy_file("/bin/busybox", root + "/bin/busybox");
    for (const auto* applet : {"sh", "cat", "test", "grep", "sleep"})
      std::filesystem::create_symlink("busybox", root + "/bin/" + applet);
    os::write_file(root + "/usr/lib/tmpfiles.d/munge.conf", "d /run/munge 0755 munge munge -\n");
    return root;
  }
  std::string pack(const std::string& name, const std::vector<image::Service>& services) {
    image::Manifest manifest;
    manifest.name = name;
    manifest.version = "1";
    manifest.architecture = "amd64";
    manifest.created = 1'700'000'000'000'000'000;
    manifest.services = services;
    const auto key = image::read_private_key(directory_ + "/ops.key");
    image::pack(directory_ + "/root-" + name, manifest, directory_ + "/" + name + ".capsule", {.key = &key});
    return directory_ + "/" + name + ".capsule";
  }

  driver::TaskSpec spec(const std::string& host, const std::string& image) {
    driver::TaskSpec spec;
    spec.alloc_id = fmt::format("{:08x}-0000-4000-8000-000000000000", ++runs_);
    spec.task = "capsule";
    spec.node = host;
    const auto allocation = directory_ + "/" + host + "/alloc/" + spec.alloc_id;
    spec.task_dir = allocation + "/capsule";
    spec.alloc_dir = allocation + "/alloc";
    spec.keeper_dir = allocation + "/capsule/private/run-1";
    spec.cgroup = fmt::format("underway-bench-{}/{}/capsule", ::getpid(), runs_);
    spec.run_cgroup = fmt::format("underway-bench-{}/{}.runs/capsule/1", ::getpid(), runs_);
    spec.env = {{"PATH", "/usr/sbin:/usr/bin:/bin"}, {"NOMAD_JOB_ID", "ctl"}, {"NOMAD_GROUP_NAME", "ctl"}};
    spec.config = boost::json::parse(fmt::format(
        R"({{"image": "{}", "network": [{{"test": [{{"addresses": ["{}/24"]}}]}}], "dns": [{{"hosts": [{{"c1": "10.9.0.11"}}]}}],
             "hostname": "ctl"}})",
        image, kAddress));
    return spec;
  }

 private:
  std::unique_ptr<driver::Driver> agent(const std::string& host) {
    const auto place = directory_ + "/" + host;
    os::make_directories(place);
    ledgers_.push_back(std::make_unique<os::Ledger>(place + "/ledger"));
    const auto programs = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin";
    run::Options options;
    options.driver.keeper_program = (programs / "underway-keeper").string();
    options.driver.ledger = ledgers_.back().get();
    options.init_program = (programs / "underway-capsule-init").string();
    options.capsules = place + "/capsules";
    options.images = place + "/images";
    options.keys = {directory_ + "/keys"};
    return run::make_capsule(options);
  }

  std::string directory_;
  std::optional<net::Netlink> here_;
  std::optional<net::Namespace> client_;
  std::vector<std::unique_ptr<os::Ledger>> ledgers_;
  std::vector<std::unique_ptr<driver::Driver>> hosts_;
  int runs_ = 0;
};

void end(driver::TaskHandle& task) {
  task.stop(SIGTERM, std::chrono::seconds{30});
  if (!task.wait(std::chrono::seconds{40})) throw Error(Code::timeout, "a capsule does not end");
  task.destroy();
}

void sh(const std::string& script) {
  os::SpawnSpec spec;
  spec.argv = {"/bin/bash", "-c", script};
  spec.env = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"};
  const auto done = os::run_program(spec, std::chrono::seconds{60});
  if (!done.status.success()) throw Error(Code::internal, "a script failed").because(done.err + done.out);
}

std::string service_program(Bed& bed) {
  os::write_file(bed.directory() + "/service.c", kService);
  sh(fmt::format("cc -O2 -static -o {0}/service {0}/service.c || clang-19 -O2 -static -o {0}/service {0}/service.c",
                 bed.directory()));
  return bed.directory() + "/service";
}

void start_of_slurmctld(Bed& bed, int rounds) {
  if (!run::has_slurm()) {
    std::cout << "slurmctld: left out, it is not installed\n";
    return;
  }
  run::fill_slurm_root(bed.root("slurm"));
  const auto image = bed.pack("slurm", run::slurm_services());
  std::vector<double> first, again, stops;
  for (int round = 0; round <= rounds; ++round) {
    const auto begin = steady_clock::now();
    const auto task = bed.host(0).start(bed.spec("a", image));
    const auto inside = net::Namespace::of_process(task->status().process.pid, "capsule");
    while (!net::tcp_listening(inside, 6817)) {
      if (ms_since(begin) > 30'000) throw Error(Code::timeout, "slurmctld does not listen");
      std::this_thread::sleep_for(milliseconds{1});
    }
    (round == 0 ? first : again).push_back(ms_since(begin));
    const auto stop = steady_clock::now();
    end(*task);
    stops.push_back(ms_since(stop));
  }
  report("slurmctld + munge: image verified, started, listening", first);
  report("slurmctld + munge: image known, started, listening", again);
  report("slurmctld + munge: stopped cleanly", stops);
}

void gap_of_capsule(Bed& bed, const std::string& program, int rounds) {
  std::filesystem::copy_file(program, bed.root("web") + "/bin/service");
  image::Service service;
  service.name = "service";
  service.command = {"/bin/service"};
  const auto image = bed.pack("web", {service});
  std::vector<double> gaps;
  // Both hosts have verified the image: pre-staged.
  end(*bed.host(1).start(bed.spec("b", image)));
  auto task = bed.host(0).start(bed.spec("a", image));
  Client client(bed.client());
  for (int round = 1; round <= rounds; ++round) {
    client.settle();
    const std::size_t target = static_cast<std::size_t>(round) % 2;
    end(*task);
    task = bed.host(target).start(bed.spec(target == 0 ? "a" : "b", image));
    gaps.push_back(client.longest());
  }
  end(*task);
  report("stateless capsule, stop on a, start on b: gap of a client", gaps);
}

/// What it first sends to the client tells everybody between where the address is now.
std::string addressed(int number) {
  return fmt::format(
      "ip -n bench{0} link set lo up; ip -n bench{0} addr add {1}/24 dev eth0; ip -n bench{0} link set eth0 up; "
      "ip netns exec bench{0} ping -q -c 5 -i 0.01 10.9.0.1 >/dev/null 2>&1 &",
      number, kAddress);
}

/// What has to be done and nothing else: a namespace, a veth, an address, the program, some packets. It asks
/// nobody whether the address is free. It lives until the program has left its process group, which ends with it.
void gap_of_script(Bed& bed, const std::string& program, int rounds) {
  const auto start = [&](int number) {
    return fmt::format(
        "ip netns add bench{0}; ip link add s{0} type veth peer name eth0 netns bench{0}; ip link set s{0} master "
        "br-test up; {1} ip netns exec bench{0} setsid {2} </dev/null >/dev/null 2>&1 & sleep 0.2",
        number, addressed(number), program);
  };
  const auto stop = [&](int number) {
    return fmt::format("ip netns pids bench{0} | xargs -r kill -9; ip link del s{0}; ip netns del bench{0}", number);
  };
  std::vector<double> gaps;
  sh("mkdir -p /run/netns; " + start(0));
  {
    Client client(bed.client());
    for (int round = 1; round <= rounds; ++round) {
      client.settle();
      sh(stop(round - 1) + "; " + start(round));
      gaps.push_back(client.longest());
    }
  }
  sh(stop(rounds));
  report("the same program by a script (ip netns): gap of a client", gaps);
}

void gap_of_podman(Bed& bed, int rounds) {
  if (::access("/usr/bin/podman", X_OK) != 0) {
    std::cout << "podman: left out, it is not installed\n";
    return;
  }
  const auto place = bed.directory() + "/podman";
  const auto podman = fmt::format(
      "podman --root {0}/root --runroot {0}/run --tmpdir {0}/tmp --storage-driver vfs --cgroup-manager=cgroupfs "
      "--events-backend=file --runtime {1}",
      place, ::access("/usr/bin/runc", X_OK) == 0 ? "runc" : "crun");
  const auto start = [&](int number) {
    return fmt::format(
        "ip netns add bench{0}; ip link add s{0} type veth peer name eth0 netns bench{0}; ip link set s{0} master "
        "br-test up; {1} {2} run -d --rm --name bench{0} --net=ns:/run/netns/bench{0} --ulimit "
        "nofile=1024:1024 "
        "--ulimit "
        "nproc=1024:1024 --rootfs {3}/root-web:O /bin/service >/dev/null",
        number, addressed(number), podman, bed.directory());
  };
  const auto stop = [&](int number) {
    return fmt::format("{1} stop -t 1 bench{0} >/dev/null; ip link del s{0}; ip netns del bench{0}", number, podman);
  };
  std::vector<double> gaps;
  try {
    os::make_directories(place);
    sh("mkdir -p /run/netns; " + start(0));
    {
      Client client(bed.client());
      for (int round = 1; round <= rounds; ++round) {
        client.settle();
        sh(stop(round - 1) + "; " + start(round));
        gaps.push_back(client.longest());
      }
    }
    sh(stop(rounds));
    // What podman leaves to clean up behind the last container needs the directory that is removed next.
    sh(fmt::format(
        "for i in $(seq 500); do pgrep -f '([c]onmon|[p]odman) .*{}' >/dev/null || exit 0; sleep 0.02; done; "
        "exit 1",
        place));
    report("the same root by podman stop, podman run: gap of a client", gaps);
  } catch (const Error& e) {
    std::cout << "podman: " << e.one_line().substr(0, 300) << "\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
  if (::geteuid() != 0) {
    std::cout << "left out: it needs root\n";
    return 0;
  }
  try {
    Bed bed;
    const auto program = service_program(bed);
    start_of_slurmctld(bed, rounds);
    gap_of_capsule(bed, program, rounds);
    gap_of_script(bed, program, rounds);
    gap_of_podman(bed, std::min(rounds, 5));
  } catch (const Error& e) {
    std::cerr << e.text() << "\n";
    return 1;
  }
  return 0;
}
