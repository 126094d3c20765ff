#include "node/volume/host_volumes.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.hpp"
#include "node/volume/volume_plugin.hpp"
#include "os/file.hpp"

namespace underway::node {
namespace {

constexpr const char* kId = "11111111-2222-4333-8444-555555555555";
constexpr const char* kOther = "11111111-2222-4333-8444-666666666666";

/// Counts its calls, and does as the parameters ask.
constexpr const char* kPlugin = R"sh(#!/bin/sh
set -eu
here="$DHV_PLUGIN_DIR"
case "$DHV_OPERATION" in
  create)
    echo "create $DHV_VOLUME_NAME $DHV_NAMESPACE $DHV_NODE_POOL $DHV_CAPACITY_MIN_BYTES" >> "$here/calls"
    case "$DHV_PARAMETERS" in
      *refuse*) echo '{"error": "no space left"}'; exit 1 ;;
      *crash*) echo "it went wrong" >&2; exit 3 ;;
      *chatty*) yes | head -c 200000; exit 0 ;;
      *nothing*) exit 0 ;;
    esac
    mkdir -p "$DHV_VOLUMES_DIR/$DHV_VOLUME_ID"
    printf '{"path": "%s", "bytes": 4096}' "$DHV_VOLUMES_DIR/$DHV_VOLUME_ID" ;;
  delete)
    echo "delete ${DHV_CREATED_PATH}" >> "$here/calls"
    if [ -e "$here/stuck" ]; then echo '{"error": "it is mounted"}'; exit 1; fi
    rm -rf "$DHV_VOLUMES_DIR/$DHV_VOLUME_ID" ;;
esac
)sh";
constexpr const char* kFingerprint = "#!/bin/sh\n[ \"$1\" = fingerprint ] && echo '{\"version\": \"1.2.3\"}'\n";

class HostVolumesTest : public ::testing::Test {
 protected:
  HostVolumesTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "underway-volumes-XXXXXX").string();
    directory = ::mkdtemp(pattern.data());
    options.data_dir = directory;
    options.node_id = "n1";
    options.boot = "boot-1";
    plugins = directory + "/host_volume_plugins";
    std::filesystem::create_directories(plugins);
    install("counting", kPlugin);
  }
  ~HostVolumesTest() override { std::filesystem::remove_all(directory); }

  void install(const std::string& name, const std::string& text, mode_t mode = 0755) const {
    os::write_file(plugins + "/" + name, text, mode, {}, os::Durability::cached);
    ASSERT_EQ(::chmod((plugins + "/" + name).c_str(), mode), 0);
  }
  static protocol::VolumeOrder order(const std::string& plugin = "mkdir", model::StringMap parameters = {}) {
    protocol::VolumeOrder out;
    out.id = kId;
    out.name = "data";
    out.ns = "physics";
    out.plugin = plugin;
    out.node_pool = "gpu";
    out.capacity_min = 10;
    out.parameters = std::move(parameters);
    return out;
  }
  std::string calls() const { return os::find_file(plugins + "/calls").value_or(""); }
  std::string record() const { return directory + "/node/volumes/" + kId + ".json"; }
  template <class Call>
  static std::string refusal(Call call) {
    try {
      call();
    } catch (const Error& error) {
      return error.one_line();
    }
    return {};
  }

  std::string directory, plugins;
  HostVolumeOptions options;
};

TEST_F(HostVolumesTest, MakesADirectoryAsTheParametersSay) {
  HostVolumes volumes(options);
  const auto made = volumes.make(order("mkdir", {{"mode", "1770"}, {"uid", std::to_string(::geteuid())}}));
  EXPECT_EQ(made.path, directory + "/host_volumes/" + kId);
  struct stat found{};
  ASSERT_EQ(::stat(made.path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 01770u);
  os::write_file(made.path + "/kept", "x");
  EXPECT_EQ(volumes.make(order()).path, made.path) << "asked for twice";
  EXPECT_TRUE(os::exists(made.path + "/kept"));
  volumes.remove(kId);
  EXPECT_FALSE(os::exists(made.path));
  EXPECT_FALSE(os::exists(record()));
  EXPECT_NO_THROW(volumes.remove(kId));
}

TEST_F(HostVolumesTest, RefusesParametersThatAreNone) {
  HostVolumes volumes(options);
  for (const auto& [name, value] : model::StringMap{{"mode", "rwx"}, {"uid", "-1"}, {"gid", "7x"}}) {
    EXPECT_NE(refusal([&] { volumes.make(order("mkdir", {{name, value}})); }).find("is no number"), std::string::npos);
    EXPECT_FALSE(os::exists(record()));
  }
  EXPECT_NE(refusal([&] { volumes.make(order("mkdir", {{"mode", "17777"}})); }), "");
  protocol::VolumeOrder elsewhere = order();
  elsewhere.id = "../../etc";
  EXPECT_NE(refusal([&] { volumes.make(elsewhere); }), "");
}

TEST_F(HostVolumesTest, AsksAPluginInTheDocumentedWords) {
  HostVolumes volumes(options);
  const auto made = volumes.make(order("counting"));
  EXPECT_EQ(made.path, directory + "/host_volumes/" + kId);
  EXPECT_EQ(made.bytes, 4096);
  volumes.remove(kId);
  EXPECT_EQ(calls(), fmt::format("create data physics gpu 10\ndelete {}\n", made.path));
}

TEST_F(HostVolumesTest, LeavesNothingOfWhatCouldNotBeMade) {
  HostVolumes volumes(options);
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"refuse", "no space left"}, {"crash", "it went wrong"}, {"chatty", "more than"}, {"nothing", "no JSON object"}};
  for (const auto& [how, why] : cases) {
    SCOPED_TRACE(how);
    const auto said = refusal([&] { volumes.make(order("counting", {{"how", how}})); });
    EXPECT_NE(said.find(why), std::string::npos) << said;
    EXPECT_FALSE(os::exists(record()));
  }
  EXPECT_NE(calls().find("delete"), std::string::npos) << "the plugin was not asked to clean up";
  EXPECT_TRUE(volumes.restore().empty());
}

TEST_F(HostVolumesTest, IsAsItWasWhenAChangeFails) {
  HostVolumes volumes(options);
  volumes.make(order("counting"));
  EXPECT_NE(refusal([&] { volumes.make(order("counting", {{"how", "refuse"}})); }), "");
  EXPECT_EQ(calls().find("delete"), std::string::npos) << "its data was deleted";
  EXPECT_EQ(HostVolumes(options).restore().size(), 1u);
}

TEST_F(HostVolumesTest, AreFoundAgainByTheNextAgent) {
  HostVolumes(options).make(order("counting"));
  auto lent = HostVolumes(options).restore();
  ASSERT_EQ(lent.size(), 1u);
  EXPECT_EQ(lent[0].name, "data");
  EXPECT_EQ(lent[0].id, kId);
  EXPECT_EQ(calls(), "create data physics gpu 10\n") << "a restart of the agent alone takes nothing";
  options.boot = "boot-2";
  lent = HostVolumes(options).restore();
  ASSERT_EQ(lent.size(), 1u);
  EXPECT_EQ(calls(), "create data physics gpu 10\ncreate data physics gpu 10\n") << "what was mounted is gone";
}

TEST_F(HostVolumesTest, FinishWhatAKilledAgentBegan) {
  HostVolumes(options).make(order("counting"));
  const std::string path = directory + "/host_volumes/" + kId;
  std::string text = os::read_file(record());
  const auto at = text.find("\"made\"", text.find("Stage"));
  ASSERT_NE(at, std::string::npos) << text;
  os::write_file(record(), std::string(text).replace(at, 6, "\"making\""));
  EXPECT_EQ(HostVolumes(options).restore().size(), 1u);
  EXPECT_EQ(calls(), "create data physics gpu 10\ncreate data physics gpu 10\n");
  EXPECT_EQ(HostVolumes(options).restore().size(), 1u);
  os::write_file(record(), std::string(text).replace(at, 6, "\"deleting\""));
  EXPECT_TRUE(HostVolumes(options).restore().empty());
  EXPECT_FALSE(os::exists(path));
  EXPECT_FALSE(os::exists(record()));
}

TEST_F(HostVolumesTest, KeepWhatCouldNotBeDeleted) {
  HostVolumes volumes(options);
  volumes.make(order("counting"));
  os::write_file(plugins + "/stuck", "");
  EXPECT_NE(refusal([&] { volumes.remove(kId); }).find("it is mounted"), std::string::npos);
  EXPECT_EQ(HostVolumes(options).restore().size(), 1u);
  ASSERT_EQ(::unlink((plugins + "/stuck").c_str()), 0);
  volumes.remove(kId);
  EXPECT_TRUE(HostVolumes(options).restore().empty());
}

TEST_F(HostVolumesTest, HaveNamesOfTheirOwn) {
  options.taken = {"scratch"};
  HostVolumes volumes(options);
  protocol::VolumeOrder named = order();
  named.name = "scratch";
  EXPECT_NE(refusal([&] { volumes.make(named); }).find("configuration"), std::string::npos);
  volumes.make(order());
  protocol::VolumeOrder second = order();
  second.id = kOther;
  EXPECT_NE(refusal([&] { volumes.make(second); }).find("has that name"), std::string::npos);
}

TEST_F(HostVolumesTest, LendARegisteredDirectoryAndNeverDeleteIt) {
  HostVolumes volumes(options);
  protocol::VolumeOrder there = order("");
  there.path = directory + "/nowhere";
  EXPECT_NE(refusal([&] { volumes.make(there); }).find("is no directory"), std::string::npos);
  std::filesystem::create_directories(directory + "/there");
  there.path = directory + "/there";
  EXPECT_EQ(volumes.make(there).path, there.path);
  volumes.remove(kId);
  EXPECT_TRUE(os::exists(there.path));
}

TEST_F(HostVolumesTest, RunNoPluginThatOthersCouldChange) {
  install("good", kFingerprint);
  install("open", kFingerprint, 0775);
  install("wide", kFingerprint, 0757);
  install("config.json", "{}", 0644);
  HostVolumes volumes(options);
  auto found = volumes.plugins();
  EXPECT_EQ(found.at("good"), "1.2.3");
  EXPECT_EQ(found.at("mkdir"), "0.0.1");
  EXPECT_FALSE(found.contains("open"));
  EXPECT_FALSE(found.contains("wide"));
  EXPECT_FALSE(found.contains("counting")) << "it tells no version";
  EXPECT_NE(refusal([&] { volumes.make(order("open")); }).find("others may write it"), std::string::npos);
  EXPECT_NE(refusal([&] { volumes.make(order("../bin/sh")); }), "");
  ASSERT_EQ(::symlink("/bin/sh", (plugins + "/link").c_str()), 0);
  EXPECT_NE(refusal([&] { volumes.make(order("link")); }).find("it is no file"), std::string::npos);
  ASSERT_EQ(::chmod(plugins.c_str(), 0777), 0);
  EXPECT_NE(refusal([&] { volumes.make(order("good")); }).find("others may write it"), std::string::npos);
}

TEST_F(HostVolumesTest, KillAPluginThatDoesNotEnd) {
  install("slow", "#!/bin/sh\nsleep 1000 &\nsleep 1000\n");
  const PluginCall call{plugins, "slow", "fingerprint", {}, std::chrono::milliseconds(200)};
  EXPECT_NE(refusal([&] { call_plugin(call); }).find("did not end within"), std::string::npos);
  install("daemon", "#!/bin/sh\nsleep 3 &\necho '{\"version\": \"1\"}'\n");
  EXPECT_EQ(call_plugin({plugins, "daemon", "fingerprint", {}, std::chrono::seconds(5)}).version, "1")
      << "what it has left running was waited for";
}

}  // namespace
}  // namespace underway::node
