// What it costs to put a virtual machine to sleep, to wake it, and to move it: each beside what cannot be beaten, or
// what it is instead of, in the same run on the same machine.
//   suspend     its bytes written and flushed by a plain program to the same disk
//   resume      a cold boot of the same guest, until the program in it answers over TCP
// Needs root, qemu-system-x86 and build/guest. The guest is translated (TCG) where KVM is not asked for by the
// argument.
//
//   vm_bench [ROUNDS [MIB [tcg|kvm]]]
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <thread>

#include "base/error.hpp"
#include "driver/driver.hpp"
#include "harness/places.hpp"
#include "net/netlink.hpp"
#include "os/file.hpp"
#include "vm/driver.hpp"

namespace {

using namespace underway;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

double since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

class Series {
 public:
  explicit Series(std::string name) : name_(std::move(name)) {}
  void add(double value) { all_.push_back(value); }
  double median() {
    std::sort(all_.begin(), all_.end());
    return all_[all_.size() / 2];
  }
  void print(const char* unit) {
    const double middle = median();
    fmt::print("{:<64} median {:8.0f} {}   least {:8.0f}   most {:8.0f}   n={}\n", name_, middle, unit, all_.front(),
               all_.back(), all_.size());
  }

 private:
  std::string name_;
  std::vector<double> all_;
};

/// A line for a line over TCP.
class Guest {
 public:
  explicit Guest(milliseconds within) {
    const auto end = Clock::now() + within;
    while (Clock::now() < end) {
      socket_ = os::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      const timeval limit{0, 200'000};
      ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_port = htons(7000);
      ::inet_pton(AF_INET, "10.99.0.2", &to.sin_addr);
      if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return;
      std::this_thread::sleep_for(milliseconds{2});
    }
    throw Error(Code::timeout, "the guest does not listen");
  }
  std::string ask(const std::string& question) {
    const auto line = question + "\n";
    if (::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0) throw errno_error(errno, "cannot ask");
    char bytes[256];
    const ssize_t n = ::recv(socket_.get(), bytes, sizeof bytes, 0);
    if (n <= 1) throw Error(Code::unavailable, "the guest does not answer");
    return {bytes, static_cast<std::size_t>(n - 1)};
  }

 private:
  os::Fd socket_;
};

class Bench {
 public:
  Bench(int rounds, int mib, std::string accelerator)
      : rounds_(rounds), mib_(mib), accelerator_(std::move(accelerator)) {
    if (::unshare(CLONE_NEWNET) != 0) throw errno_error(errno, "cannot make a network");
    net::Netlink links(net::Namespace::current());
    links.set_up("lo");
    links.add_bridge("br-lan");
    links.add_address("br-lan", *net::parse_cidr("10.99.0.1/24"));
    links.set_up("br-lan");
    if (::mkdtemp(path_.data()) == nullptr) throw errno_error(errno, "cannot make a directory");
    os::make_directories(path_ + "/files");
    const auto guest = source_dir() + "/build/guest";
    const auto command = fmt::format(
        "set -e; cp {1}/bin/vm_guest_worker {0}/files/worker; (cat {2}/initrd; cd {0}/files; echo worker | busybox "
        "cpio "
        "-o -H newc 2>/dev/null | gzip -n) > {0}/initrd",
        path_, binary_dir(), guest);
    if (std::system(command.c_str()) != 0)
      throw Error(Code::not_found, "needs build/guest: packaging/guest build/guest");
    vm::Options options;
    options.driver.keeper_program = binary_dir() + "/bin/underway-keeper";
    options.machines = path_ + "/machines";
    options.clock = &host_clock_;
    if (accelerator_ == "tcg") options.probe.device = "/nowhere";
    driver_ = vm::make_qemu(std::move(options));
    spec_.config = boost::json::object{
        {"name", "bench"},
        {"kernel", guest + "/vmlinuz"},
        {"initrd", path_ + "/initrd"},
        {"append", fmt::format("console=ttyS0 panic=-1 quiet address=10.99.0.2/24 memory={}", mib_)},
        {"accelerator", accelerator_},
        {"network", boost::json::array{
                        boost::json::object{{"lan", boost::json::array{boost::json::object{{"bridge", "br-lan"}}}}}}}};
    spec_.node = "bench";
    spec_.task = "bench";
    spec_.memory_mb = static_cast<std::uint64_t>(mib_) + 160;
  }
  Bench(const Bench&) = delete;
  ~Bench() {
    if (task_) end();
    os::remove_tree(path_);
  }

  void run() {
    Series boot("cold boot: start until the program answers"), suspend("suspend to the disk: asked until it has ended");
    Series write("  the same bytes as they are in memory, written and flushed"),
        resume("resume: start until it answers");
    Series pause("suspend to RAM and back"), checkpoint("checkpoint: the guest stands still or is slowed");
    double raw = 0, stored = 0;
    for (int round = 0; round < rounds_; ++round) {
      auto begin = start();
      {
        Guest guest(std::chrono::minutes{2});
        guest.ask("next");
        boot.add(since(begin));
        begin = Clock::now();
        machine().pause();
        machine().unpause();
        guest.ask("next");
        pause.add(since(begin));
        begin = Clock::now();
        machine().checkpoint(1);
        guest.ask("next");
        checkpoint.add(since(begin));
        begin = Clock::now();
        const auto saved = machine().suspend();
        suspend.add(since(begin));
        raw = static_cast<double>(saved.raw_bytes);
        stored = static_cast<double>(saved.stored_bytes);
        write.add(plain_write(saved.raw_bytes));
        end();
        begin = start();
        if (guest.ask("next").empty()) throw Error(Code::internal, "it answers nothing");
        resume.add(since(begin));
        if (const auto sound = guest.ask("check"); sound != "ok 4")
          throw Error(Code::internal, "it woke with: " + sound);
      }
      end();
    }
    fmt::print("a guest of {} MiB ({}), {:.0f} MiB in memory, {:.0f} MiB stored\n", spec_.memory_mb, accelerator_,
               raw / (1 << 20), stored / (1 << 20));
    for (auto* series : {&boot, &resume, &suspend, &write, &pause, &checkpoint}) series->print("ms");
    fmt::print("{:<64} {:.2f} (target: at most 1.1)\n", "suspend, of bytes / bandwidth",
               suspend.median() / write.median());
    fmt::print("{:<64} {:.2f}\n", "resume, of a cold boot", resume.median() / boot.median());
  }

 private:
  vm::Machine machine() const { return vm::Machine::open(vm::run_directory(spec_)); }

  Clock::time_point start() {
    const auto run = ++runs_;
    spec_.alloc_id = fmt::format("{:08x}-0000-4000-8000-000000000000", run);
    spec_.task_dir = fmt::format("{}/alloc-{}/bench", path_, run);
    spec_.alloc_dir = fmt::format("{}/alloc-{}/alloc", path_, run);
    spec_.keeper_dir = fmt::format("{}/keepers/bench-{}", path_, run);
    os::make_directories(path_ + "/keepers");
    spec_.cgroup = fmt::format("underway-bench-{}/{}/bench", ::getpid(), run);
    spec_.run_cgroup = fmt::format("underway-bench-{}/{}.runs/bench/1", ::getpid(), run);
    const auto begin = Clock::now();
    task_ = driver_->start(spec_);
    return begin;
  }

  void end() {
    if (task_->status().phase == driver::TaskStatus::Phase::running) task_->stop(SIGKILL, {});
    task_->wait(std::chrono::seconds{60});
    task_->destroy();
    task_.reset();
  }

  /// As dd does, of what does not compress, with the size of a part that the suspension reads.
  double plain_write(std::int64_t bytes) const {
    std::string part(1U << 20, '\0');
    std::uint64_t x = 1;
    for (auto& c : part) c = static_cast<char>((x = x * 6364136223846793005U + 1442695040888963407U) >> 56);
    const auto file = path_ + "/plain";
    const auto begin = Clock::now();
    const auto out = os::open_file(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (std::int64_t left = bytes; left > 0; left -= static_cast<std::int64_t>(part.size()))
      os::write_all(
          out, std::string_view(part).substr(0, static_cast<std::size_t>(std::min<std::int64_t>(left, 1 << 20))), file);
    ::fsync(out.get());
    const auto took = since(begin);
    ::unlink(file.c_str());
    return took;
  }

  int rounds_, mib_;
  std::string accelerator_;
  SystemClock host_clock_;
  std::string path_ = "/var/lib/underway-bench-vm-XXXXXX";
  driver::TaskSpec spec_;
  std::unique_ptr<driver::Driver> driver_;
  std::unique_ptr<driver::TaskHandle> task_;
  int runs_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 5;
  const int mib = argc > 2 ? std::max(16, std::atoi(argv[2])) : 256;
  try {
    Bench(rounds, mib, argc > 3 ? argv[3] : "tcg").run();
  } catch (const std::exception& e) {
    std::cerr << "vm_bench: " << e.what() << "\n";
    return 1;
  }
  return 0;
}
