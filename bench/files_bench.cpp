/// One changed file to many nodes: the server as it is (durable on SQLite, links, manifests, signatures), the nodes
/// simulated in this process; each verifies its manifest and the bytes that it asks for, and reports.
/// Usage: files_bench [nodes] [files] [directory on the disk to measure] [MiB of a large file; 0: none]

#include <fmt/format.h>

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "base/json/json.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "crypto/hasher.hpp"
#include "files/manifest.hpp"
#include "files/masters/service.hpp"
#include "server/testing/desk.hpp"
#include "server/testing/fake_node.hpp"
#include "store/sqlite_store.hpp"

namespace {

using namespace underway;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kFileSize = 64U << 10;

/// What went over the links.
struct Traffic {
  std::size_t manifest_bytes = 0, content_bytes = 0, file_bytes = 0, contents = 0, looks = 0;
};

class SimulatedNode {
 public:
  SimulatedNode(async::Executor executor, server::Server& server, int number, Traffic& traffic)
      : node_(executor, server, row(number)), traffic_(traffic), tasks_(executor, "node") {
    node_.answers["files.changed"] = [this](const boost::json::value&) {
      look_soon();
      return boost::json::object{};
    };
  }
  async::awaitable<void> join() { co_await node_.join(); }
  void look_soon() {
    again_ = true;
    if (!looking_) tasks_.spawn("look", look());
  }
  bool looks() const { return looking_; }
  const std::string& has() const { return have_; }
  const std::string& id() const { return node_.id(); }
  async::awaitable<void> stop() {
    co_await tasks_.stop();
    co_await node_.stop();
  }

 private:
  static model::Node row(int number) {
    auto node = server::testing::make_node(number);
    node.cluster = "hpc";
    node.node_pool = "compute";
    return node;
  }
  async::awaitable<void> look() {
    looking_ = true;
    while (again_) {
      again_ = false;
      co_await follow();
    }
    looking_ = false;
  }
  async::awaitable<void> follow() {
    ++traffic_.looks;
    auto ask = json::to_value(files::ManifestRequest{"", have_}, json::Encoding::compact);
    const auto answer = co_await node_.connection->call("files.manifest", std::move(ask));
    traffic_.manifest_bytes += boost::json::serialize(answer).size();
    const auto reply = json::decode<files::ManifestReply>(answer);
    if (!reply.manifest) co_return;
    const auto manifest = files::open_manifest(*reply.manifest, {.node_id = node_.id()});
    files::ContentRequest request;
    for (const auto& entry : manifest.entries) {
      if (bytes_.contains(entry.digest)) continue;
      if (entry.size > static_cast<std::int64_t>(model::kPieceBytes))
        co_await stream(entry.digest);
      else
        request.digests.push_back(entry.digest);
    }
    std::set<std::string> now;
    for (const auto& entry : manifest.entries) now.insert(entry.digest);
    for (const auto& digest : request.digests) {
      auto body = json::to_value(files::ContentRequest{"", {digest}});
      const auto content = co_await node_.connection->call("files.content", std::move(body));
      const auto reply_of = json::decode<files::ContentReply>(content);
      traffic_.content_bytes += reply_of.contents.at(0).data.size();
      const auto bytes = base64_decode(reply_of.contents.at(0).data);
      if (hex(crypto::sha256(bytes)) != digest) throw Error(Code::denied, "other bytes");
      traffic_.file_bytes += bytes.size();
      ++traffic_.contents;
    }
    bytes_ = std::move(now);
    have_ = files::digest_of(manifest);
    model::FileReport report;
    report.epoch = manifest.epoch;
    report.revision = manifest.revision;
    report.manifest = have_;
    report.files = static_cast<std::int64_t>(manifest.entries.size());
    auto body = json::to_value(report, json::Encoding::compact);
    co_await node_.connection->call("files.report", std::move(body));
  }

  /// Nothing of it is kept, as on a node, where it goes to the disk.
  async::awaitable<void> stream(std::string digest) {
    auto header = json::to_value(files::BytesRequest{"", digest, 0});
    const auto stream = co_await node_.connection->open("files.bytes", std::move(header));
    stream->end();
    crypto::Hasher hasher;
    while (auto chunk = co_await stream->read()) {
      hasher.add(chunk->bytes);
      traffic_.file_bytes += chunk->bytes.size();
      traffic_.content_bytes += chunk->bytes.size();
    }
    if (hex(hasher.finish()) != digest) throw Error(Code::denied, "other bytes");
    ++traffic_.contents;
  }

  server::testing::FakeNode node_;
  Traffic& traffic_;
  async::TaskGroup tasks_;
  std::string have_;
  std::set<std::string> bytes_;  ///< digests of what it has
  bool looking_ = false, again_ = false;
};

class Bench {
 public:
  Bench(const std::string& directory, std::size_t nodes, std::size_t files)
      : store_(directory + "/s.db"),
        server_(loop_.executor(), store_, clock_, ids_, options()),
        service_(server_, loop_.executor(), pool_, ids_) {
    server_.start();
    service_.start();
    const auto decided = [](const tables::Tables&, const server::Context&) {
      server::Decision<server::Nothing> decision;
      model::Cluster cluster;
      cluster.name = "hpc";
      decision.changes.push_back(tables::PutCluster{cluster});
      return decision;
    };
    loop_.run_until_done(server_.apply(server::testing::asked(decided)));
    for (std::size_t i = 0; i < files; ++i) put(i);
    for (std::size_t i = 0; i < nodes; ++i) {
      nodes_.push_back(std::make_unique<SimulatedNode>(loop_.executor(), server_, static_cast<int>(i + 1), traffic_));
      loop_.run_until_done(nodes_.back()->join());
    }
  }
  ~Bench() {
    for (auto& node : nodes_) loop_.run_until_done(node->stop());
    loop_.run_until_done(service_.stop());
    loop_.run_until_done(server_.stop());
    loop_.context().restart();
    loop_.context().poll();
  }

  /// New bytes for the file of this number.
  void put(std::size_t number, std::size_t size = kFileSize) {
    model::FileDeclaration file;
    file.name = fmt::format("/etc/bench/{}", number);
    file.content = random_bytes(size);
    auto wanted = loop_.run_until_done(service_.prepare_put("hpc", {file}, false, false));
    loop_.run_until_done(server_.apply(std::move(wanted)));
  }
  void look_everywhere() {
    for (auto& node : nodes_) node->look_soon();
  }
  /// Until every node follows what the server says now, and the server has all reports.
  void settle() {
    while (!settled()) run_a_while();
  }
  Traffic& traffic() { return traffic_; }
  void run_until_looked(std::size_t looks) {
    while (traffic_.looks < looks || busy()) {
      run_a_while();
    }
  }

 private:
  static server::Options options() {
    server::Options options;
    options.heartbeat_ttl = std::chrono::hours(1);
    return options;
  }
  /// To look whether it is over costs a little too.
  void run_a_while() {
    loop_.context().restart();
    loop_.context().run_for(std::chrono::milliseconds(10));
  }
  bool busy() const {
    return std::ranges::any_of(nodes_, [](const auto& node) { return node->looks(); });
  }
  bool settled() {
    if (!service_.follows(server_.writer().tables())) return false;
    for (const auto& node : nodes_) {
      const auto* wanted = service_.wanted(node->id());
      if (wanted == nullptr || node->has() != wanted->digest) return false;
    }
    const auto reports = tables::records<model::FileReport>(server_.writer().tables());
    if (reports.size() != nodes_.size()) return false;
    for (const auto& report : reports) {
      const auto* wanted = service_.wanted(report.node_id);
      if (wanted == nullptr || report.manifest != wanted->digest) return false;
    }
    return true;
  }

  async::Loop loop_;
  async::Pool pool_{2};
  store::SqliteStore store_;
  SystemClock clock_;
  SystemIds ids_;
  server::Server server_;
  files::FileService service_;
  Traffic traffic_;
  std::vector<std::unique_ptr<SimulatedNode>> nodes_;
};

double since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

/// The most that this process had in memory: what it has kept since is counted too.
std::size_t peak_memory() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10) << 10;
  }
  return 0;
}

/// Of this process: simulated nodes and server together.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void report(std::string_view what, double seconds, double cpu, const Traffic& traffic) {
  fmt::print(
      "{:<36} {:>8.2f} s, {:>6.2f} s of CPU   files {:>10} in {:>6} pieces   manifests {:>10}   wire of files {:>10}\n",
      what, seconds, cpu_seconds() - cpu, human_bytes(traffic.file_bytes), traffic.contents,
      human_bytes(traffic.manifest_bytes), human_bytes(traffic.content_bytes));
}

std::size_t number(int argc, char** argv, int which, std::size_t otherwise) {
  if (argc <= which) return otherwise;
  std::size_t value = otherwise;
  const std::string_view text = argv[which];
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t nodes = number(argc, argv, 1, 1000), files = number(argc, argv, 2, 20);
  const std::string base = argc > 3 ? argv[3] : "/var/tmp";
  const std::size_t large = number(argc, argv, 4, 4) << 20;
  const std::string directory = fmt::format("{}/files_bench.{}", base, ::getpid());
  std::filesystem::create_directories(directory);
  int code = 0;
  log::set_level(log::Level::warn);
  {
    fmt::print("{} nodes, {} files of {}\n", nodes, files, human_bytes(kFileSize));
    auto start = SteadyClock::now();
    double cpu = cpu_seconds();
    Bench bench(directory, nodes, files);
    bench.settle();
    report("all nodes join and get all files", since(start), cpu, bench.traffic());

    bench.traffic() = {};
    start = SteadyClock::now();
    cpu = cpu_seconds();
    bench.put(files / 2);
    bench.settle();
    const double changed = since(start);
    report("one file changed (budget 3 s)", changed, cpu, bench.traffic());
    const bool exact = bench.traffic().file_bytes == nodes * kFileSize && bench.traffic().contents == nodes;
    fmt::print("bytes of unchanged files sent: {}\n", bench.traffic().file_bytes - nodes * kFileSize);
    if (!exact || changed > 3) code = 1;

    bench.traffic() = {};
    start = SteadyClock::now();
    cpu = cpu_seconds();
    bench.look_everywhere();
    bench.run_until_looked(nodes);
    report("a look by all, nothing changed", since(start), cpu, bench.traffic());
    if (bench.traffic().file_bytes != 0) code = 1;

    if (large > model::kPieceBytes) {
      bench.traffic() = {};
      const std::size_t before = peak_memory();
      start = SteadyClock::now();
      cpu = cpu_seconds();
      bench.put(files, large);
      bench.settle();
      report(fmt::format("one of {} to all", human_bytes(large)), since(start), cpu, bench.traffic());
      fmt::print("memory of server and nodes while they take it: {} more\n", human_bytes(peak_memory() - before));
      if (bench.traffic().file_bytes != nodes * large) code = 1;
    }
  }
  std::filesystem::remove_all(directory);
  return code;
}
