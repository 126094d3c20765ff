// The critical services while there is a rush: a hundred nodes that boot at once, a node that floods the gateway.
#include <fmt/format.h>

#include <signal.h>
#include <filesystem>
#include <random>
#include <sstream>

#include "harness/places.hpp"
#include "integration/decoupled/decoupled.hpp"

namespace underway::harness {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Each;
using testing::IsEmpty;
using testing::SizeIs;

/// What each user of a service notices: above that, commands hang.
constexpr milliseconds kNoticed{1000};
const std::vector<std::string> kCompute = {"c1", "c2", "c3", "c4"};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::string noise(std::size_t size, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::string out;
  while (out.size() < size) {
    const auto value = engine();
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  out.resize(size);
  return out;
}

class DecoupledStorm : public DecoupledCluster {
 protected:
  static constexpr int kHosts = 20;      ///< that boot, agents and all
  static constexpr int kFetchers = 100;  ///< that fetch what a booting node does
  static constexpr int kFiles = 8;

  /// Hosts that are switched on later, and what they are to have.
  void SetUp() override {
    const std::string file = cluster_.directory() + "/cluster.hcl";
    std::string text = read_text(file);
    const auto end = text.rfind('}');
    text.replace(
        end, 1,
        "  pool \"booting\" {\n    size = var.booting\n    hostname = \"b%d\"\n    networks = [\"prov\"]\n  }\n}\n"
        "variable \"booting\" {\n  type = number\n  default = 0\n}\n");
    write_text(file, text);
    std::string files;
    for (int i = 0; i < kFiles; ++i) {
      const std::string name = fmt::format("part{}", i);
      write_text(cluster_.directory() + "/" + name, noise(1U << 20, 100U + static_cast<unsigned>(i)));
      files += fmt::format(
          "file \"/var/lib/site/{0}\" {{\n  source = \"{0}\"\n  targets {{\n    pools = [\"booting\"]\n  }}\n}}\n",
          name);
    }
    write_text(cluster_.directory() + "/booting.files.hcl", files);
    DecoupledCluster::SetUp();
  }

  /// An image in the server's store, and a loader on the management host: what nodes boot from.
  void prepare_boot_files() {
    std::filesystem::create_directories(work_.path() + "/tree");
    write_text(work_.path() + "/tree/root", noise(12U << 20, 1));
    write_text(work_.path() + "/node.hcl",
               "image \"node\" {\n  version = \"1\"\n  from directory \"tree\" {}\n"
               "  service \"none\" {\n    command = [\"/root\"]\n  }\n}\n");
    const std::string key = cluster_.directory() + "/images/capsules.key";
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"capsule", "build", work_.path() + "/node.hcl", "-o", work_.path() + "/node", "-key",
                                   key},
          {"capsule", "push", work_.path() + "/node"}}) {
      const auto done = cluster_.underway(arguments);
      ASSERT_EQ(done.exit_code, 0) << done.err;
    }
    write_text(work_.path() + "/loader", noise(1U << 20, 2));
    auto put = Command{.argv = {"nsenter", "--all", "--target", std::to_string(cluster_.agent_of("mgmt")), "sh", "-c",
                                "cat > /srv/tftp/loader"},
                       .input = read_text(work_.path() + "/loader")};
    ASSERT_EQ(run(put).exit_code, 0);
  }

  /// `count` nodes in the network of `host` that fetch loader and image, and say so when they have both, whole.
  Background fetchers(const std::string& host, int count) const {
    const std::string mgmt = cluster_.enter("mgmt", "hostname -I | tr ' ' '\\n' | grep ^10.78").out;
    const std::string line = fmt::format(
        "exec 2>>{}/complaints; cd {} && for i in $(seq {}); do ( d=$(mktemp -d ./node-XXXXXX) && "
        "busybox tftp -g -b 1408 -r loader -l $d/loader {} && cmp $d/loader loader && "
        "{} capsule pull node -o $d/image && cmp $d/image node && echo whole >> fetched.{}; rm -rf $d ) & done; wait",
        work_.path(), work_.path(), count, mgmt.substr(0, mgmt.find('\n')), binary_dir() + "/bin/underway", host);
    return Background(
        {.argv = {"nsenter", "--net", "--target", std::to_string(cluster_.agent_of(host)), "sh", "-c", line},
         .env = {{"UNDERWAY_STATE", cluster_.state()}}});
  }

  std::vector<std::string> fetched() const {
    return lines_of(shell("cat " + work_.path() + "/fetched.* 2>/dev/null").out);
  }

  /// Connections that the gateway remembers which knows of more.
  long long connections() const {
    const std::string line =
        "for p in $(pgrep -x keepalived); do nsenter -t $p -n cat /proc/sys/net/netfilter/nf_conntrack_count; done";
    long long most = 0;
    for (const auto& host : {"infra1", "infra2"}) {
      for (const auto& count : lines_of(cluster_.enter(host, line).out))
        most = std::max(most, std::atoll(count.c_str()));
    }
    return most;
  }
  long long arrived_outside() const {
    return std::atoll(cluster_.enter("outside", "cat /sys/class/net/eth0/statistics/rx_bytes").out.c_str());
  }

  /// c1 sends what it can, while c2 goes on with an old connection, opens new ones and sends much.
  void flood_with(int size, int ports) const {
    SCOPED_TRACE(fmt::format("datagrams of {} bytes to {} ports", size, ports));
    const auto outside = services().back();
    const Prober other(cluster_, "c2", {outside, {"new", "tcp", outside.address, outside.port}}, milliseconds(20),
                       kNoticed);
    ASSERT_TRUE(other.all_answer(seconds(10)));
    const auto known = connections(), arrived = arrived_outside();
    const auto begin = std::chrono::steady_clock::now();
    const std::string said = work_.path() + "/flood";
    Background flood({.argv = {"nsenter", "--net", "--target", std::to_string(cluster_.agent_of("c1")), "sh", "-c",
                               fmt::format("exec {}/tests/service_prober flood {} {} {} > {}", binary_dir(),
                                           outside.address, size, ports, said)}});
    const auto much = cluster_.enter(
        "c2", fmt::format("head -c 60000000 /dev/zero | busybox nc {} {} | wc -c", outside.address, outside.port));
    EXPECT_EQ(much.out, "60000000\n") << much.err;
    EXPECT_TRUE(other.all_answer(seconds(30), 100)) << other.report();
    flood.signal(SIGTERM);
    EXPECT_EQ(flood.wait(seconds(5)), 0);
    const auto opened = connections() - known, bytes = arrived_outside() - arrived;
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const auto sent = std::atoll(read_text(said).c_str());

    for (const auto& [name, reading] : other.readings()) {
      EXPECT_EQ(reading.failed, 0) << name;
      EXPECT_LT(reading.longest, kNoticed) << name;
    }
    std::cout << fmt::format("{} datagrams sent in {:.1f} s; {} connections opened, {} bytes arrived\n{}", sent, took,
                             opened, bytes, other.report());
    // What both may: 200 connections a second after 400, and of c1 50 MiB/s after 75 MiB (a bucket of bytes holds a
    // second's worth and the burst: nft_limit.c of Linux 6.18), beside what c2 sends.
    EXPECT_LT(opened, 2 * (400 + 200 * took) + 200);
    EXPECT_LT(static_cast<double>(bytes), 1.05 * (75 + 50 * took) * (1 << 20) + 70e6);
    EXPECT_GT(sent, ports == 1 ? 2 * bytes / size : 2 * opened) << "there was no flood";
  }

  TemporaryDirectory work_;
};

TEST_F(DecoupledStorm, NodesThatBootAtOnceAndANodeThatFloodsLeaveTheOthersTheirShare) {
  // Small datagrams to many ports, each a connection to be remembered; then large ones, to fill the line.
  flood_with(16, 50000);
  flood_with(1400, 1);

  prepare_boot_files();
  Farm farm(cluster_, farm_options());
  ASSERT_EQ(farm.plant(8), 8);
  ASSERT_TRUE(farm.settled());
  prober_.emplace(cluster_, "c1", services());
  ASSERT_TRUE(prober_->all_answer(seconds(30))) << prober_->report();

  const auto on =
      cluster_.underway({"apply", "-detach", "-yes", "-var", fmt::format("booting={}", kHosts), cluster_.directory()});
  ASSERT_EQ(on.exit_code, 0) << on.out << on.err;
  {
    std::vector<Background> nodes;
    for (const auto& host : kCompute) nodes.push_back(fetchers(host, kFetchers / static_cast<int>(kCompute.size())));
    for (auto& each : nodes) EXPECT_EQ(each.wait(seconds(90)), 0);
  }
  EXPECT_THAT(fetched(), SizeIs(kFetchers)) << read_text(work_.path() + "/complaints");
  EXPECT_TRUE(eventually(seconds(90),
                         [&] { return cluster_.underway({"file", "status"}).exit_code == 0 && attention().empty(); }))
      << cluster_.underway({"status"}).out << cluster_.underway({"file", "status"}).out;
  std::cout << prober_->report();
  for (const auto& [name, reading] : prober_->readings()) {
    EXPECT_EQ(reading.failed, 0) << name;
    EXPECT_LT(reading.longest, kNoticed) << name;
  }
  const std::string sums = shell("cd " + cluster_.directory() + " && sha256sum part*").out;
  for (int i = 1; i <= kHosts; ++i)
    EXPECT_EQ(cluster_.enter(fmt::format("b{}", i), "cd /var/lib/site && sha256sum part*").out, sums) << i;
  EXPECT_THAT(farm.harvest().problems, IsEmpty());
}

}  // namespace
}  // namespace underway::harness
