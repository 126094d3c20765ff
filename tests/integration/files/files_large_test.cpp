// A file that is too large for one message reaches a node as it is, whatever is killed meanwhile.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <filesystem>
#include <functional>
#include <map>

#include "harness/files_site.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
namespace fs = std::filesystem;

constexpr std::size_t kSize = 20U << 20;

/// A line says where it stands: a mixture of two versions cannot pass for one.
const std::string& content(int version) {
  static std::map<int, std::string> known;
  auto& out = known[version];
  for (int line = 0; out.size() < kSize; ++line)
    out += "line " + std::to_string(line) + " of " + std::to_string(version) + "\n";
  out.resize(kSize);
  return out;
}

class FilesLarge : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(site_.start_server()) << read_text(site_.file("server.log"));
    site_.start_node(0);
    ASSERT_TRUE(eventually(seconds(30), [&] { return site_.are_ready(1); })) << read_text(site_.file("n0.log"));
  }
  Command adding(int version) const {
    write_text(site_.file("master"), content(version));
    return site_.command({"file", "add", "-mode", "0640", "-xattr", "user.origin=the site",
                          site_.site() + "/licence.db", site_.file("master")});
  }
  std::string seen() const { return site_.seen(0, "/licence.db"); }
  bool arrives(int version) const {
    const std::string wanted = content(version);
    return eventually(seconds(30),
                      [&] { return site_.underway({"file", "status"}).exit_code == 0 && read_text(seen()) == wanted; });
  }
  /// What of it lies on the node and is no file yet.
  std::vector<fs::path> on_its_way() const {
    std::vector<fs::path> out;
    std::error_code gone;
    for (fs::recursive_directory_iterator it(site_.file("n0/client/files"), gone), end; !gone && it != end;
         it.increment(gone)) {
      const auto name = it->path().filename().string();
      if (name.ends_with(".part") || name.starts_with("bytes-")) out.push_back(it->path());
    }
    return out;
  }
  bool is_being_fetched() const {
    std::error_code gone;
    for (fs::directory_iterator it(site_.file("n0/client/files/node/incoming"), gone), end; !gone && it != end;
         it.increment(gone)) {
      std::error_code moved;
      const auto size = it->file_size(moved);
      if (!moved && it->path().extension() == ".part" && size > 0 && size < kSize) return true;
    }
    return false;
  }
  ino_t inode() const {
    struct stat st{};
    return ::stat(seen().c_str(), &st) == 0 ? st.st_ino : 0;
  }
  /// Says the next version, and kills once some of it is on the node, and not all. False: it was too late for that.
  bool kill_in_the_middle(int version, const std::function<void()>& kill) const {
    const auto before = inode();
    Background change(adding(version));
    const auto deadline = std::chrono::steady_clock::now() + seconds(20);
    bool caught = false;
    while (!caught && inode() == before && std::chrono::steady_clock::now() < deadline) caught = is_being_fetched();
    if (caught) kill();
    change.wait(seconds(20));
    return caught;
  }

  FilesSite site_;
};

TEST_F(FilesLarge, ReachesANodeWholeWhateverIsKilledMeanwhile) {
  const auto added = run(adding(0));
  ASSERT_EQ(added.exit_code, 0) << added.err;
  ASSERT_TRUE(arrives(0)) << site_.underway({"file", "status", "n0"}).out << read_text(site_.file("n0.log"));
  struct stat st{};
  ASSERT_EQ(::stat(seen().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0640);
  char value[64] = {};
  const auto n = ::getxattr(seen().c_str(), "user.origin", value, sizeof value);
  EXPECT_EQ(std::string(value, n < 0 ? 0 : static_cast<std::size_t>(n)), "the site");

  // The agent is killed while the next version comes in: the file stays what it was, then it is the next one.
  int version = 0;
  bool caught = false;
  while (!caught && version < 10) {
    caught = kill_in_the_middle(++version, [&] { site_.node(0).signal(SIGKILL); });
    if (caught) {
      EXPECT_TRUE(read_text(seen()) == content(version - 1)) << "half a file";
      site_.start_node(0);
    }
    ASSERT_TRUE(arrives(version)) << site_.underway({"file", "status", "n0"}).out << read_text(site_.file("n0.log"));
  }
  EXPECT_TRUE(caught) << "the agent was never killed in the middle";

  // The same with the server.
  for (caught = false; !caught && version < 20;) {
    caught = kill_in_the_middle(++version, [&] { site_.server()->signal(SIGKILL); });
    if (caught) {
      site_.server().reset();
      ASSERT_TRUE(site_.start_server()) << read_text(site_.file("server.log"));
    }
    ASSERT_TRUE(arrives(version)) << site_.underway({"file", "status", "n0"}).out << read_text(site_.file("n0.log"));
  }
  EXPECT_TRUE(caught) << "the server was never killed in the middle";

  EXPECT_TRUE(on_its_way().empty()) << on_its_way().front();
  for (const auto& entry : fs::directory_iterator(fs::path(seen()).parent_path()))
    EXPECT_EQ(entry.path().filename(), "licence.db") << "a temporary file is left";
  EXPECT_EQ(site_.underway({"file", "show", "-content", site_.site() + "/licence.db"}).exit_code, 1)
      << "it is not shown";

  // What is too large is refused before anything is sent, with what to do.
  fs::resize_file(site_.file("master"), (64U << 20) + 1);
  const auto refused = site_.underway({"file", "add", site_.site() + "/licence.db", site_.file("master")});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err.find("64.0 MiB at most are synchronised"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace underway::harness
