// What is heard of in the upper layer when it is written through a real overlayfs.
#include <sys/utsname.h>

#include <cstdlib>
#include <filesystem>

#include "overlay/transfer/listener.hpp"
#include "places.hpp"

namespace underway::overlay {
namespace {

namespace fs = std::filesystem;

class ListenerRoot : public OverlayRoot {
 protected:
  /// Listens to what is done in `merged`, above a layer of that kind.
  void listen(Kind kind) {
    for (const auto* name : {"image/etc", "merged"}) os::make_directories(places_ / name);
    os::write_file(places_ / "image/etc/passwd", "of the image");
    os::write_file(places_ / "image/etc/gone", "of the image");
    constexpr std::uint64_t kListenerMiB = 1U << 20;
    layer_.emplace(open_overlay({.kind = kind, .size_bytes = kind == Kind::directory ? 0 : 300 * kListenerMiB},
                                places_ / "layer"));
    merged_.emplace(os::Mount::overlay({places_ / "image"}, layer_->upper(), layer_->work(), places_ / "merged", ""));
    listener_.emplace(layer_->upper());
  }
  void TearDown() override {
    if (merged_) merged_->unmount();
  }
  std::string at(const std::string& name) const { return places_ / ("merged/" + name); }
  template <class What>
  bool heard(What what) {
    const auto before = listener_->hear();
    what();
    return listener_->hear() > before;
  }
  /// As slurmctld does: job_mgr.c, dump_all_job_state.
  void save(const std::string& name) const {
    os::write_file(at(name + ".new"), "state");
    fs::remove(at(name + ".old"));
    if (os::exists(at(name))) fs::create_hard_link(at(name), at(name + ".old"));
    fs::remove(at(name));
    fs::create_hard_link(at(name + ".new"), at(name));
    fs::remove(at(name + ".new"));
  }
  void expect_all() {
    EXPECT_TRUE(heard([&] { save("job_state"); }));
    EXPECT_TRUE(heard([&] { save("job_state"); }));
    EXPECT_TRUE(heard([&] { fs::rename(at("job_state"), at("state")); }));
    EXPECT_TRUE(heard([&] { fs::rename(at("state"), at("etc/passwd")); })) << "copied up, and replaced";
    EXPECT_TRUE(heard([&] { fs::remove(at("etc/gone")); })) << "a whiteout";
    EXPECT_TRUE(heard([&] { os::make_directories(at("spool/hash.1/job.1")); }));
    EXPECT_TRUE(heard([&] { save("spool/hash.1/job.1/script"); }));
  }

  Places places_;
  std::optional<Mounted> layer_;
  std::optional<os::Mount> merged_;
  std::optional<Listener> listener_;
};

TEST_F(ListenerRoot, HearsWhatIsReplacedThroughAnOverlayfsOverADirectory) {
  listen(Kind::directory);
  expect_all();
}

TEST_F(ListenerRoot, HearsWhatIsReplacedThroughAnOverlayfsOverAFileSystemInAFile) {
  listen(Kind::ext4);
  expect_all();
}

TEST_F(ListenerRoot, HearsThatAFileIsClosedFromLinux65On) {
  utsname kernel{};
  ::uname(&kernel);
  char* rest = nullptr;
  const auto major = std::strtol(kernel.release, &rest, 10), minor = std::strtol(rest + 1, nullptr, 10);
  if (major < 6 || (major == 6 && minor < 5)) GTEST_SKIP() << "this is Linux " << kernel.release;
  listen(Kind::directory);
  const auto write = [&] {
    os::write_all(os::open_file(at("log"), O_WRONLY | O_CREAT | O_APPEND, 0600), "line", "log");
  };
  write();
  EXPECT_TRUE(heard(write));
}

}  // namespace
}  // namespace underway::overlay
