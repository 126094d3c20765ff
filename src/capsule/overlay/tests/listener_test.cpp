// What is heard of below a directory.
#include "overlay/transfer/listener.hpp"

#include <fcntl.h>
#include <poll.h>
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

TEST_F(ListenerTest, SaysWhenThereAreMoreDirectoriesThanItListensTo) {
  Listener listener(places_ / "upper", 4);
  os::make_directories(places_ / "upper/var/lib/one");
  listener.hear();
  os::make_directories(places_ / "upper/var/lib/two");
  EXPECT_THROW(listener.hear(), Error);
}

TEST_F(ListenerTest, SaysWhenAnotherLayerHasItsPlace) {
  Listener listener(places_ / "upper");
  fs::remove_all(places_ / "upper");
  os::make_directories(places_ / "upper/var/lib");
  for (int asked = 0; asked < 2; ++asked) {
    try {
      listener.hear();
      ADD_FAILURE() << "it hears nothing any more";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::unavailable) << error.one_line();
    }
  }
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

TEST_F(ListenerTest, LooksAsLookAtDoesWhateverWasDoneMeanwhile) {
  write("database", std::string(4096, 'x'));
  write("var/lib/state", "1");
  Listener listener(places_ / "upper");
  std::string before;
  const auto expect_look = [&](const char* what) {
    const auto found = listener.look().look;
    EXPECT_EQ(found, look_at(places_ / "upper")) << what;
    EXPECT_NE(found, before) << what;
    EXPECT_EQ(found, listener.look().look) << what;
    before = found;
  };
  expect_look("first");
  const auto file = os::open_file(at("database"), O_WRONLY, 0600);
  os::write_all(file, std::string(8192, 'y'), "it");
  expect_look("written in place");
  fs::permissions(at("database"), fs::perms::owner_all);
  expect_look("made executable");
  write("var/lib/another", "1");
  expect_look("a file is new");
  fs::create_hard_link(at("var/lib/another"), at("var/lib/link"));
  expect_look("a name is new");
  fs::rename(at("var/lib"), at("lib"));
  expect_look("a directory was renamed");
  write("lib/state", "23");
  expect_look("written below a directory that was renamed");
  fs::remove_all(at("lib"));
  expect_look("a directory was removed");
  os::make_directories(at("lib/of/many"));
  write("lib/of/many/parts", "1");
  expect_look("directories are new");
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

TEST_F(ListenerTest, LeavesTheRestOfAFloodForTheNextTime) {
  Listener listener(places_ / "upper");
  constexpr std::uint64_t kEvents = 16'000;
  const std::uint64_t most = std::stoull(os::read_file("/proc/sys/fs/inotify/max_queued_events"));
  if (most < kEvents + 10) GTEST_SKIP() << "fs.inotify.max_queued_events is " << most;
  const std::string one(250, 'a'), other(250, 'b');
  write(one, "1");
  write(other, "1");
  listener.look();
  for (std::uint64_t number = 0; number < kEvents; ++number)
    static_cast<void>(os::open_file(at(number % 2 == 0 ? one : other), O_WRONLY, 0));
  write("new", "1");
  const auto found = listener.look();
  pollfd rest{listener.events().get(), POLLIN, 0};
  EXPECT_EQ(::poll(&rest, 1, 0), 1) << "all of it was read";
  EXPECT_EQ(found.look, look_at(places_ / "upper")) << "a name that it has not heard of yet";
  EXPECT_GT(listener.hear(), found.heard);
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
