// What is heard of below a directory.
#include "overlay/listener.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "places.hpp"

namespace underway::overlay {
namespace {

namespace fs = std::filesystem;

class ListenerTest : public testing::Test {
 protected:
  ListenerTest() { os::make_directories(places_ / "upper/var/lib"); }
  /// Closes it.
  void write(const std::string& name, const std::string& text) const {
    const auto file = os::open_file(places_ / ("upper/" + name), O_WRONLY | O_CREAT, 0600);
    os::write_all(file, text, name);
  }
  std::string at(const std::string& name) const { return places_ / ("upper/" + name); }
  /// Whether `what` is heard of.
  template <class What>
  bool hears(Listener& listener, What what) const {
    const auto before = listener.hear();
    what();
    return listener.hear() > before;
  }
  Places places_;
};

TEST_F(ListenerTest, HearsThatFilesAreClosedRenamedAndRemovedWhereverTheyLie) {
  Listener listener(places_ / "upper");
  EXPECT_EQ(listener.hear(), 0U);
  EXPECT_TRUE(hears(listener, [&] { write("state.new", "1"); }));
  EXPECT_TRUE(hears(listener, [&] { fs::rename(at("state.new"), at("state")); }));
  EXPECT_TRUE(hears(listener, [&] { write("var/lib/state", "1"); }));
  EXPECT_TRUE(hears(listener, [&] { fs::remove(at("var/lib/state")); }));
}

TEST_F(ListenerTest, HearsNothingOfWhatIsReadOrWrittenInPlace) {
  write("database", std::string(4096, 'x'));
  Listener listener(places_ / "upper");
  EXPECT_FALSE(hears(listener, [&] { os::read_file(at("database")); }));
  const auto file = os::open_file(at("database"), O_WRONLY, 0600);
  EXPECT_FALSE(hears(listener, [&] {
    os::write_all(file, "page", "it");
    ::fsync(file.get());
  }));
}

TEST_F(ListenerTest, HearsInDirectoriesThatAreMadeLaterAndHaveBeenRenamed) {
  Listener listener(places_ / "upper");
  EXPECT_TRUE(hears(listener, [&] { os::make_directories(at("var/jobs/7/deep")); }));
  EXPECT_TRUE(hears(listener, [&] { write("var/jobs/7/deep/script", "1"); }));
  EXPECT_TRUE(hears(listener, [&] { fs::rename(at("var/jobs"), at("jobs")); }));
  EXPECT_TRUE(hears(listener, [&] { write("jobs/7/deep/script", "2"); }));
  EXPECT_TRUE(hears(listener, [&] { os::make_directories(at("jobs/8")); }));
  EXPECT_TRUE(hears(listener, [&] { write("jobs/8/script", "1"); }));
  EXPECT_TRUE(hears(listener, [&] { fs::remove_all(at("jobs")); }));
}

TEST_F(ListenerTest, HearsWhenThereIsMoreThanIsKept) {
  Listener listener(places_ / "upper");
  std::uint64_t most = std::stoull(os::read_file("/proc/sys/fs/inotify/max_queued_events"));
  if (most > 100'000) GTEST_SKIP() << "fs.inotify.max_queued_events is " << most;
  write("a", "1");
  write("b", "1");
  // Alike events that follow each other are one, so two files in turn.
  for (std::uint64_t number = 0; number < most + 10; ++number)
    static_cast<void>(os::open_file(at(number % 2 == 0 ? "a" : "b"), O_WRONLY, 0));
  const auto heard = listener.hear();
  EXPECT_GT(heard, 0U);
  EXPECT_TRUE(hears(listener, [&] { write("var/lib/state", "1"); })) << "it goes on";
}

TEST_F(ListenerTest, RefusesMoreDirectoriesThanAreAllowed) {
  for (int number = 0; number < 10; ++number) os::make_directories(at(std::to_string(number)));
  try {
    const Listener listener(places_ / "upper", 10);
    FAIL() << "it has 13";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::exhausted);
  }
}

}  // namespace
}  // namespace underway::overlay
