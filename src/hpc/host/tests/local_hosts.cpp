#include "tests/local_hosts.hpp"

#include <filesystem>
#include <future>

#include "base/text.hpp"
#include "harness/places.hpp"
#include "host/detail/groups.hpp"
#include "host/detail/layout.hpp"
#include "host/exec.hpp"
#include "net/netlink.hpp"
#include "net/nftables.hpp"
#include "os/file.hpp"
#include "os/mount.hpp"

namespace underway::host {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

bool eventually(const std::function<bool()>& holds, seconds within) {
  const auto deadline = steady_clock::now() + within;
  while (!holds()) {
    if (steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds{5});
  }
  return true;
}

std::string describe(const std::vector<Error>& errors) {
  std::string text;
  for (const auto& error : errors) text += error.text() + "\n";
  return text;
}

std::vector<std::string> traces(const std::string& state_dir, const std::string& cluster) {
  std::vector<std::string> found;
  for (const auto& mount : os::list_mounts()) {
    if (mount.target.starts_with(state_dir + "/")) found.push_back("mount " + mount.target);
  }
  for (const auto& hierarchy : find_hierarchies()) {
    const auto group = hierarchy.mount + "/underway/" + cluster;
    if (os::exists(group)) found.push_back("cgroup " + group);
  }
  for (const auto& link : net::Netlink(net::Namespace::current()).links()) {
    if (link.name == uplink_name(cluster, "cluster")) found.push_back("link " + link.name);
  }
  for (const auto& table : net::list_tables(net::Namespace::current())) {
    if (table == nat_table(cluster)) found.push_back("table " + table);
  }
  for (const auto& entry : os::list_directory("/proc")) {
    if (entry.name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::string groups;
    try {
      const auto identity = os::process_identity(std::stoi(entry.name));
      if (!identity || !os::is_running(*identity)) continue;  // dead, and the machine's own first process will reap it
      groups = os::find_file("/proc/" + entry.name + "/cgroup").value_or("");
    } catch (const Error&) {  // ended meanwhile
    }
    if (groups.find("/underway/" + cluster + "/") != std::string::npos) found.push_back("process " + entry.name);
  }
  if (os::exists(state_dir + "/clusters")) found.push_back("directory " + state_dir + "/clusters");
  return found;
}

LocalHosts::LocalHosts() {
  if (::geteuid() != 0) return;
  std::filesystem::create_directories(state_dir_ + "/socket");
  start();
}

LocalHosts::~LocalHosts() {
  if (provider_) {
    const auto failures = provider_->clean();
    EXPECT_TRUE(failures.empty()) << describe(failures);
    EXPECT_EQ(traces(state_dir_, cluster_), std::vector<std::string>{});
  }
  provider_.reset();
  ledger_.reset();
  std::filesystem::remove_all(state_dir_);
}

void LocalHosts::SetUp() {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
}

void LocalHosts::start() {
  provider_.reset();
  ledger_.reset();
  ledger_ = std::make_unique<os::Ledger>(state_dir_ + "/ledger");
  provider_ = std::make_unique<LocalProvider>(options(), *ledger_, clock_);
}

LocalOptions LocalHosts::options() const {
  return {.state_dir = state_dir_,
          .init_program = binary_dir() + "/bin/underway-init",
          .visible = {state_dir_ + "/socket"}};
}

ClusterSpec LocalHosts::cluster(bool nat) const {
  return {.name = cluster_,
          .networks = {{.name = "cluster", .cidr = *net::parse_cidr("10.177.0.0/24"), .nat = nat}},
          .shares = {{.path = "/srv/shared", .mode = "1777"}}};
}

HostSpec LocalHosts::host(const std::string& name, int number) const {
  return {.cluster = cluster_,
          .name = name,
          .pool = "compute",
          .addresses = {{"cluster", {net::parse_cidr("10.177.0.0/24")->host(static_cast<std::uint64_t>(number)), 24}}}};
}

std::vector<HostInfo> LocalHosts::create_in_parallel(int count) {
  std::vector<std::future<HostInfo>> pending;
  for (int n = 1; n <= count; ++n) {
    pending.push_back(
        std::async(std::launch::async, [this, n] { return provider_->create(host(fmt::format("c{}", n), 10 + n)); }));
  }
  std::vector<HostInfo> hosts;
  for (auto& started : pending) hosts.push_back(started.get());
  return hosts;
}

std::string LocalHosts::shell(const HostInfo& in, const std::string& command, const std::string& user) {
  auto pipe = os::open_pipe();
  auto child = exec_in_host(
      in, {.argv = {"/bin/sh", "-c", command}, .user = user, .out = pipe.write.get(), .err = pipe.write.get()});
  pipe.write.reset();
  auto text = os::read_all(pipe.read, 1U << 20, "the output of " + command);
  const auto status = child.wait(seconds{20});
  if (!status) return text + "[does not end]";
  return std::string(trim(text)) + (status->success() ? "" : "[" + to_string(*status) + "]");
}

}  // namespace underway::host
