#include "overlay/transfer/transfer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "overlay/detail/tree.hpp"
#include "trees.hpp"

namespace underway::overlay {
namespace {

constexpr std::uint64_t kTransferMiB = 1U << 20;

TEST(Transfer, CopiesAnyTreeInRoundsWhileItChanges) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const Places places(seed % 6 == 0 ? "/tmp" : kMemory);
    Gardener gardener(places / "upper", seed);
    gardener.grow(40);
    for (int round = 0; round < 3; ++round) {
      send_round(places / "upper", places / "copy");
      gardener.grow(15);
    }
    const auto last = send_round(places / "upper", places / "copy", {.consistent = true, .label = "7"});
    ASSERT_EQ(words_of(places / "copy/tree"), words_of(places / "upper"));
    const auto copy = find_copy(places / "copy");
    ASSERT_TRUE(copy);
    EXPECT_TRUE(copy->consistent);
    EXPECT_EQ(copy->label, "7");
    EXPECT_EQ(copy->digest, last.digest);
    EXPECT_NO_THROW(verify_copy(places / "copy"));
  }
}

TEST(Transfer, KeepsAConsistentCopyUntilTheNextIsComplete) {
  for (std::uint64_t seed = 100; seed < 106; ++seed) {
    SCOPED_TRACE(seed);
    const Places places(seed % 6 == 0 ? "/tmp" : kMemory);
    Gardener gardener(places / "upper", seed);
    gardener.grow(40);
    send_round(places / "upper", places / "copy", {.consistent = true});
    const auto before = words_of(places / "copy/tree");
    for (int round = 0; round < 3; ++round) {
      gardener.grow(15);
      send_round(places / "upper", places / "copy");
      ASSERT_EQ(words_of(places / "copy/tree"), before);
    }
    gardener.grow(5);
    send_round(places / "upper", places / "copy", {.consistent = true});
    ASSERT_EQ(words_of(places / "copy/tree"), words_of(places / "upper"));
    EXPECT_NO_THROW(verify_copy(places / "copy"));
  }
}

TEST(Transfer, SendsOnlyTheBlocksThatDiffer) {
  const Places places;
  os::make_directories(places / "upper");
  std::string bytes(8 * kTransferMiB, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i >> 12 | 1U);
  os::write_file(places / "upper/ibdata1", bytes);
  const auto first = send_round(places / "upper", places / "copy");
  EXPECT_EQ(first.content_bytes, 8 * kTransferMiB);
  EXPECT_EQ(first.files, 2U);
  const auto file = os::open_file(places / "upper/ibdata1", O_WRONLY);
  ASSERT_EQ(::pwrite(file.get(), "changed", 7, 5 * kTransferMiB + 100), 7);
  const auto second = send_round(places / "upper", places / "copy", {.consistent = true});
  EXPECT_EQ(second.content_bytes, 32768U);
  EXPECT_EQ(second.skipped_bytes, 8 * kTransferMiB - 32768);
  EXPECT_EQ(second.files, 1U);
  EXPECT_LT(second.sent_bytes, 34000U);
  const auto third = send_round(places / "upper", places / "copy", {.consistent = true});
  EXPECT_EQ(third.content_bytes + third.files + third.removed, 0U);
  EXPECT_EQ(words_of(places / "copy/tree"), words_of(places / "upper"));
}

TEST(Transfer, LeavesHolesHoles) {
  const Places places;
  os::make_directories(places / "upper");
  const auto file = os::open_file(places / "upper/sparse", O_WRONLY | O_CREAT);
  ASSERT_EQ(::ftruncate(file.get(), 1 << 30), 0);
  ASSERT_EQ(::pwrite(file.get(), "x", 1, 600 << 20), 1);
  const auto round = send_round(places / "upper", places / "copy", {.consistent = true});
  EXPECT_EQ(round.content_bytes, 32768U);
  struct stat copy = {};
  ASSERT_EQ(::stat((places / "copy/tree/sparse").c_str(), &copy), 0);
  EXPECT_EQ(copy.st_size, 1 << 30);
  EXPECT_LT(copy.st_blocks, 1024);
}

TEST(Transfer, TellsWhatIsLeft) {
  const Places places;
  os::make_directories(places / "upper");
  os::write_file(places / "upper/a", std::string(3 * kTransferMiB, 'a'));
  os::write_file(places / "upper/b", "b");
  Sender sender(places / "upper", {});
  Receiver receiver(places / "copy");
  sender.receive(receiver.next());
  receiver.receive(sender.next());  // a is under way
  const auto log = os::open_file(places / "upper/b", O_WRONLY | O_APPEND);
  os::write_all(log, "more", "b");
  os::write_file(places / "upper/c", std::string(1000, 'c'));
  ASSERT_TRUE(pump(sender, receiver));
  EXPECT_EQ(sender.round().left_files, 2U);
  EXPECT_EQ(sender.round().left_bytes, 1005U);
  EXPECT_EQ(receiver.round().left_bytes, 1005U);
  EXPECT_EQ(receiver.round().digest, sender.round().digest);
  EXPECT_EQ(receiver.round().sent_bytes, sender.round().sent_bytes);
  EXPECT_EQ(receiver.round().told_bytes, sender.round().told_bytes);
}

TEST(Transfer, RefusesAConsistentRoundOfWhatChanges) {
  const Places places;
  os::make_directories(places / "upper");
  os::write_file(places / "upper/a", std::string(3 * kTransferMiB, 'a'));
  Sender sender(places / "upper", {.consistent = true});
  Receiver receiver(places / "copy");
  sender.receive(receiver.next());
  receiver.receive(sender.next());
  const auto file = os::open_file(places / "upper/a", O_WRONLY | O_APPEND);
  os::write_all(file, "more", "a");
  try {
    pump(sender, receiver);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::conflict);
    EXPECT_NE(e.text().find("'/a' changed"), std::string::npos) << e.text();
  }
  EXPECT_THROW(receiver.receive(sender.next()), Error) << "the receiver is told";
}

TEST(Transfer, ForgetsThatItWasConsistentWhenTheFreezeWasTooShort) {
  const Places places;
  os::make_directories(places / "upper");
  os::write_file(places / "upper/a", "a");
  const auto late = [] { throw Error(Code::timeout, "thawed too early"); };
  {
    Sender sender(places / "upper", {.consistent = true, .release = late});
    Receiver receiver(places / "copy");
    EXPECT_THROW(pump(sender, receiver), Error);
    EXPECT_THROW(receiver.receive(sender.next()), Error);
  }
  EXPECT_FALSE(find_copy(places / "copy")->consistent);
  EXPECT_THROW(install_copy(places / "copy", places / "target"), Error);
}

TEST(Transfer, HoldsWritersUpOnlyWhileItReads) {
  const Places places;
  os::make_directories(places / "upper");
  os::write_file(places / "upper/a", "a");
  bool held = false;
  SendOptions options{.consistent = true};
  options.hold = [&] { held = true; };
  options.release = [&] { held = false; };
  Sender sender(places / "upper", options);
  Receiver receiver(places / "copy");
  auto told = receiver.next();
  EXPECT_FALSE(held) << "the receiver says what it has";
  sender.receive(told);
  const auto sent = sender.next();
  EXPECT_FALSE(held) << "all of it has been read, and the way there takes its time";
  receiver.receive(sent);
  ASSERT_TRUE(pump(sender, receiver));
  EXPECT_TRUE(find_copy(places / "copy")->consistent);
}

TEST(Transfer, BreaksABriefRoundOffWhenWritersWouldStandStillForLong) {
  const Places places;
  os::make_directories(places / "upper");
  os::write_file(places / "upper/a", std::string(std::size_t{65} << 20, 'a'));
  bool held = false;
  SendOptions options{.consistent = true, .brief = true};
  options.hold = [&] { held = true; };
  options.release = [&] { held = false; };
  const auto code_of_a_round = [&] {
    Sender sender(places / "upper", options);
    Receiver receiver(places / "copy");
    try {
      pump(sender, receiver);
    } catch (const Error& error) {
      EXPECT_THROW(receiver.receive(sender.next()), Error) << "the receiver is told";
      EXPECT_TRUE(receiver.failed_there());
      return error.code();
    }
    return Code::internal;
  };
  EXPECT_EQ(code_of_a_round(), Code::too_large);
  options.brief = false;
  options.longest_hold = std::chrono::nanoseconds(1);
  EXPECT_EQ(code_of_a_round(), Code::timeout);
  options.brief = true;
  options.longest_hold = std::chrono::hours(1);
  os::write_file(places / "upper/a", "little");
  EXPECT_EQ(code_of_a_round(), Code::internal) << "none";
  EXPECT_FALSE(held);
  EXPECT_TRUE(find_copy(places / "copy")->consistent);
}

TEST(Transfer, FindsNothingInADirectoryThatWasRemovedSinceItWasOpened) {
  const Places places;
  os::make_directories(places / "upper");
  const Tree tree(places / "upper");
  ASSERT_EQ(::rmdir((places / "upper").c_str()), 0);
  tree.walk([](const Tree::Item& item) {
    ADD_FAILURE() << item.path;
    return true;
  });
}

TEST(Transfer, SeesThatSomethingWasWrittenWithoutReadingIt) {
  const Places places;
  os::make_directories(places / "upper/state");
  os::write_file(places / "upper/state/job_state", "one");
  const auto seen = look_at(places / "upper");
  EXPECT_EQ(look_at(places / "upper"), seen);
  // As slurmctld does it.
  os::write_file(places / "upper/state/job_state.new", "two");
  EXPECT_NE(look_at(places / "upper"), seen);
  ASSERT_EQ(::rename((places / "upper/state/job_state.new").c_str(), (places / "upper/state/job_state").c_str()), 0);
  const auto renamed = look_at(places / "upper");
  EXPECT_NE(renamed, seen);
  const auto file = os::open_file(places / "upper/state/job_state", O_WRONLY);
  ASSERT_EQ(::fchmod(file.get(), 0600), 0);
  EXPECT_NE(look_at(places / "upper"), renamed);
}

TEST(Transfer, InstallsInOneStepAndOnceMore) {
  const Places places;
  for (const auto* name : {"upper", "target/old"}) os::make_directories(places / name);
  os::write_file(places / "upper/a", "new");
  send_round(places / "upper", places / "copy", {.consistent = true});
  const auto words = words_of(places / "upper");
  for (int i = 0; i < 2; ++i) {
    install_copy(places / "copy", places / "target");
    EXPECT_EQ(words_of(places / "target"), words);
    EXPECT_FALSE(find_copy(places / "copy"));
  }
  EXPECT_THROW(install_copy(places / "nothing", places / "target"), Error);
}

TEST(Transfer, SendsOnlyDifferencesOnTheWayBack) {
  const Places places;
  os::make_directories(places / "there");
  os::make_directories(places / "here");
  os::write_file(places / "here/big", std::string(2 * kTransferMiB, 'b'));
  send_round(places / "here", places / "copy_there", {.consistent = true});
  install_copy(places / "copy_there", places / "there");
  keep_as_copy(places / "here", places / "copy_here", "1", TimePoint{});
  EXPECT_TRUE(os::list_directory(places / "here").empty());
  EXPECT_TRUE(find_copy(places / "copy_here")->consistent);
  os::write_file(places / "there/small", "s");
  const auto back = send_round(places / "there", places / "copy_here", {.consistent = true});
  EXPECT_EQ(back.content_bytes, 1U);
  install_copy(places / "copy_here", places / "here");
  EXPECT_EQ(words_of(places / "here"), words_of(places / "there"));
}

TEST(Transfer, LetsOneReceiveAtATime) {
  const Places places;
  const Receiver first(places / "copy");
  EXPECT_THROW(Receiver(places / "copy"), Error);
}

TEST(Transfer, KeepsToItsLimits) {
  const Places places;
  os::make_directories(places / "upper");
  for (int i = 0; i < 20; ++i) os::write_file(places / ("upper/" + std::to_string(i)), std::string(1000, 'x'));
  for (const auto& limits : {ReceiveLimits{.paths = 10}, ReceiveLimits{.content_bytes = 10'000}}) {
    Sender sender(places / "upper", {});
    Receiver receiver(places / "copy", limits);
    try {
      pump(sender, receiver);
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::too_large);
    }
    EXPECT_THROW(sender.receive(receiver.next()), Error) << "the sender is told";
    remove_copy(places / "copy");
  }
}

}  // namespace
}  // namespace underway::overlay
