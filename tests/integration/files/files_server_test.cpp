// A management server that dies, or moves to another place, while nodes take files from it: at no moment has a node
// half a file, and in the end each has all of them. Real agents over TCP, each node with a directory of its own.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "harness/files_site.hpp"
#include "harness/places.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
namespace fs = std::filesystem;

const std::string kProgram = binary_dir() + "/bin/underway";
constexpr int kNodes = 6;
constexpr int kFiles = 160;

/// Each line names file and version, so that a mixture cannot pass for a whole one. 50 to 100 KiB.
std::string content(int file, int version) {
  const std::string line =
      fmt::format("file {} of version {}: as the server has it, and no other way\n", file, version);
  std::string out;
  for (std::size_t size = (50U << 10) + static_cast<std::size_t>(file * 7919 % (50 << 10)); out.size() < size;)
    out += line;
  return out;
}

class FilesServer : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(site_.start_server()) << read_text(file("server.log"));
    for (int i = 0; i < kNodes; ++i) site_.start_node(i);
    ASSERT_TRUE(eventually(seconds(30), [&] { return site_.are_ready(kNodes); }))
        << underway({"node", "status"}).out << read_text(file("server.log")) << read_text(file("n0.log"));
    declare(0);
    const auto applied = apply();
    ASSERT_EQ(applied.exit_code, 0) << applied.err;
    ASSERT_TRUE(converges(0)) << underway({"file", "status"}).out;
    reader_ = std::thread([this] { read_all_the_time(); });
  }
  void TearDown() override {
    over_ = true;
    if (reader_.joinable()) reader_.join();
  }

  std::string file(const std::string& name) const { return site_.file(name); }
  Finished underway(std::vector<std::string> arguments) const { return site_.underway(std::move(arguments)); }
  void start_server() { ASSERT_TRUE(site_.start_server()) << read_text(file("server.log")); }
  void kill_server() {
    site_.server()->signal(SIGKILL);
    site_.server().reset();
  }

  /// All files of this version, as one change.
  void declare(int version) const {
    fs::create_directories(file("masters"));
    for (int i = 0; i < kFiles; ++i) write_text(file(fmt::format("masters/f{}", i)), content(i, version));
    const auto made = shell("cd " + file("masters") + R"sh( && {
      printf '{"Files":['
      comma=
      for f in *; do
        printf '%s{"File":{"Name":"%s/%s"},"Content":"' "$comma" )sh" +
                            site_.site() + R"sh( $f
        base64 -w 0 $f
        printf '"}'
        comma=,
      done
      printf ']}'
    } > ../files.json)sh");
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  Command applying() const {
    return {
        .argv = {"/bin/sh", "-c",
                 fmt::format("exec {} operator api -in -X PUT /v1/underway/files < {}", kProgram, file("files.json"))},
        .env = {{"UNDERWAY_STATE", site_.place()}}};
  }
  Finished apply() const { return run(applying()); }

  std::string seen(int node, int number) const { return site_.seen(node, fmt::format("/f{}", number)); }
  bool has(int node, int number, int version) const {
    return read_text(seen(node, number)) == content(number, version);
  }
  /// On how many nodes all files are of this version.
  int nodes_with(int version) const {
    int count = 0;
    for (int node = 0; node < kNodes; ++node) {
      bool all = true;
      for (int i = 0; all && i < kFiles; ++i) all = has(node, i, version);
      if (all) ++count;
    }
    return count;
  }
  /// Says how long it took.
  bool converges(int version) const {
    const auto begin = std::chrono::steady_clock::now();
    const bool all = eventually(
        seconds(60), [&] { return underway({"file", "status"}).exit_code == 0 && nodes_with(version) == kNodes; });
    std::cout << fmt::format("version {} is everywhere after {:.1f} s\n", version,
                             std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    return all;
  }

  /// Whoever reads sees a whole file, of the version before or the present one.
  void read_all_the_time() {
    for (int i = 0; !over_; i = (i + 1) % kFiles) {
      for (int node = 0; node < kNodes; ++node) {
        const int before = version_;
        const std::string text = read_text(seen(node, i));
        const int after = version_;
        bool whole = false;
        for (int version = std::max(0, before - 1); version <= after; ++version) whole |= text == content(i, version);
        if (!whole) ++torn_;
        ++reads_;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the processors are for those who are read
    }
  }

  FilesSite site_;
  std::atomic<int> version_ = 0;  ///< the newest that was declared
  std::atomic<bool> over_ = false;
  std::atomic<long> reads_ = 0, torn_ = 0;
  std::thread reader_;
};

TEST_F(FilesServer, DiesOrMovesWhileNodesTakeFilesAndNoneHasHalfAFile) {
  const auto declare_next = [&] {
    ++version_;
    declare(version_);
  };
  // Nodes write what they have fetched in the order of the names, of which f99 is the last.
  const auto nodes_that_have = [&](int number) {
    int count = 0;
    for (int node = 0; node < kNodes; ++node) count += has(node, number, version_) ? 1 : 0;
    return count;
  };
  const auto some_node_has_begun = [&] { return nodes_that_have(0) > 0; };

  // Killed as soon as it has said yes: what it has accepted is known to its successor.
  declare_next();
  ASSERT_EQ(apply().exit_code, 0);
  EXPECT_LT(nodes_that_have(99), kNodes) << "nothing is under way";
  kill_server();
  start_server();
  EXPECT_TRUE(converges(version_)) << underway({"file", "status"}).out;

  // Killed while the first nodes write what they have fetched, and others fetch.
  declare_next();
  ASSERT_EQ(apply().exit_code, 0);
  ASSERT_TRUE(eventually(seconds(20), some_node_has_begun));
  EXPECT_LT(nodes_that_have(99), kNodes) << "nothing is under way";
  kill_server();
  start_server();
  EXPECT_TRUE(converges(version_)) << underway({"file", "status"}).out;

  // Killed while it is told of a change: it is known or it is not, as a whole.
  declare_next();
  {
    Background change(applying());
    ASSERT_TRUE(
        eventually(seconds(20), [&] { return read_text(fmt::format("/proc/{}/comm", change.pid())) == "underway\n"; }));
    kill_server();
    change.wait(seconds(30));
  }
  start_server();
  ASSERT_EQ(apply().exit_code, 0) << "it can be said again";
  EXPECT_TRUE(converges(version_)) << underway({"file", "status"}).out;

  // Stopped in the middle, brought to another disk with all it has, and started there.
  declare_next();
  ASSERT_EQ(apply().exit_code, 0);
  ASSERT_TRUE(eventually(seconds(20), some_node_has_begun));
  EXPECT_LT(nodes_that_have(99), kNodes) << "nothing is under way";
  site_.server()->signal(SIGTERM);
  EXPECT_EQ(site_.server()->wait(seconds(20)), 0);
  fs::create_directories(file("second"));
  ASSERT_EQ(shell("cp -a " + site_.place() + " " + file("second/data") + " && rm -rf " + file("first")).exit_code, 0);
  site_.place() = file("second/data");
  start_server();
  EXPECT_TRUE(converges(version_)) << underway({"file", "status"}).out;
  declare_next();
  ASSERT_EQ(apply().exit_code, 0);
  EXPECT_TRUE(converges(version_)) << "from its new place";

  over_ = true;
  reader_.join();
  EXPECT_EQ(torn_, 0) << "of " << reads_ << " reads";
  EXPECT_GT(reads_, 1000);
  std::cout << reads_ << " reads\n";
}

}  // namespace
}  // namespace underway::harness
