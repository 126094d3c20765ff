// A round breaks off somewhere, the receiver's host loses power, a peer means harm.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>

#include "base/error.hpp"
#include "overlay/transfer/detail/copy.hpp"
#include "trees.hpp"

namespace underway::overlay {
namespace {

constexpr std::uint64_t kBreakMiB = 1U << 20;

/// Bytes after which each frame of a whole round ends, both ways together.
std::uint64_t bytes_of_round(const std::string& upper, const std::string& dir) {
  Sender sender(upper, {.consistent = true});
  Receiver receiver(dir);
  EXPECT_TRUE(pump(sender, receiver));
  return sender.round().sent_bytes + sender.round().told_bytes;
}

TEST(TransferBreak, CostsOnlyWhatWasUnderWayAtAnyByte) {
  // On a disk times tell what has changed; in memory they do not.
  for (const auto& [base, breaks] : {std::pair<const char*, std::uint64_t>{"/tmp", 5}, {kMemory, 40}}) {
    const Places places(base);
    Gardener gardener(places / "upper", 11);
    gardener.grow(60);
    const auto whole = bytes_of_round(places / "upper", places / "measured");
    const auto words = words_of(places / "upper");
    const std::uint64_t step = whole / breaks + 1;
    for (std::uint64_t at = 0; at < whole; at += step) {
      SCOPED_TRACE(fmt::format("{} {}", base, at));
      {
        Sender sender(places / "upper", {.consistent = true});
        Receiver receiver(places / "copy");
        EXPECT_FALSE(pump(sender, receiver, at));
      }
      const auto rest = send_round(places / "upper", places / "copy", {.consistent = true});
      EXPECT_LE(rest.sent_bytes, whole - std::min(whole, at) + 400'000);
      ASSERT_EQ(words_of(places / "copy/tree"), words);
      remove_copy(places / "copy");
    }
  }
}

TEST(TransferBreak, LeavesTheLastConsistentCopyAlone) {
  const Places places(kMemory);
  Gardener gardener(places / "upper", 12);
  gardener.grow(40);
  send_round(places / "upper", places / "copy", {.consistent = true});
  int broken = 0;
  for (int i = 0; i < 25; ++i) {
    SCOPED_TRACE(i);
    const auto before = words_of(places / "copy/tree");
    gardener.grow(12);
    {
      Sender sender(places / "upper", {.consistent = true});
      Receiver receiver(places / "copy");
      if (pump(sender, receiver, 4000 + static_cast<std::uint64_t>(i % 8) * 8000)) continue;
    }
    ++broken;
    ASSERT_EQ(words_of(places / "copy/tree"), before);
    if (i % 3 != 0) continue;
    send_round(places / "upper", places / "copy", {.consistent = true});
    ASSERT_EQ(words_of(places / "copy/tree"), words_of(places / "upper"));
  }
  EXPECT_GT(broken, 15);
}

TEST(TransferBreak, DoesNotSendAgainWhatArrived) {
  for (const bool first : {true, false}) {
    SCOPED_TRACE(first);
    const Places places;
    os::make_directories(places / "upper");
    if (!first) send_round(places / "upper", places / "copy", {.consistent = true});
    std::string bytes(8 * kBreakMiB, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i >> 12 | 1U);
    os::write_file(places / "upper/big", bytes);
    {
      Sender sender(places / "upper", {});
      Receiver receiver(places / "copy");
      EXPECT_FALSE(pump(sender, receiver, 6 * kBreakMiB));
    }
    const auto rest = send_round(places / "upper", places / "copy", {.consistent = true});
    EXPECT_LE(rest.content_bytes, 2 * kBreakMiB + 300'000);
    EXPECT_EQ(words_of(places / "copy/tree"), words_of(places / "upper"));
  }
}

TEST(TransferBreak, SurvivesTheReceiversDeathAtAnyFrame) {
  const Places places(kMemory);
  Gardener gardener(places / "upper", 13);
  gardener.grow(40);
  for (int i = 0; i < 24; ++i) {
    SCOPED_TRACE(i);
    // In turn into an empty copy, and into one that is consistent.
    if (i % 6 == 0) remove_copy(places / "copy");
    gardener.grow(6);
    const pid_t child = ::fork();
    if (child == 0) {
      Sender sender(places / "upper", {.consistent = true});
      Receiver receiver(places / "copy");
      pump(sender, receiver, 2000 + static_cast<std::uint64_t>(i) * 20'000);
      ::_exit(0);  // no destructor runs
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    send_round(places / "upper", places / "copy", {.consistent = true});
    ASSERT_EQ(words_of(places / "copy/tree"), words_of(places / "upper"));
    ASSERT_NO_THROW(verify_copy(places / "copy"));
  }
}

TEST(TransferBreak, FinishesACompleteRoundAfterACrash) {
  const Places places;
  Gardener gardener(places / "upper", 14);
  gardener.grow(40);
  send_round(places / "upper", places / "copy", {.consistent = true});
  gardener.grow(30);
  const CopyPlaces copy(places / "copy");
  {
    Sender sender(places / "upper", {.consistent = true});
    Receiver receiver(places / "copy");
    sender.receive(receiver.next());
    for (std::string bytes; !(bytes = sender.next()).empty();) receiver.receive(bytes);
    static_cast<void>(receiver.next());  // all is there, and was said so
  }
  auto state = *find_copy_state(copy);
  Index index = load_index(copy, state.generation, {});
  Intake intake(index, nullptr);
  replay(copy.round(state.generation), [&](const Frame& frame) { intake.take(frame); });
  state.digest = [&] {
    Sender sender(places / "upper", {.consistent = true});
    Receiver receiver(places / "other");
    EXPECT_TRUE(pump(sender, receiver));
    return sender.round().digest;
  }();
  state.applying = true;
  write_copy_state(copy, state);
  // A part of it was put into the tree before the crash.
  {
    Index known = load_index(copy, state.generation, {});
    Applier applier(copy.tree, copy.trash);
    Intake part(known, &applier);
    int left = 20;
    replay(copy.round(state.generation), [&](const Frame& frame) {
      if (left-- > 0) part.take(frame);
    });
  }
  EXPECT_FALSE(find_copy(places / "copy")->applying);
  EXPECT_EQ(words_of(places / "copy/tree"), words_of(places / "upper"));
  EXPECT_FALSE(os::exists(copy.round(state.generation)));
}

/// A sender that says what it likes.
class Liar {
 public:
  explicit Liar(const std::string& dir) : receiver_(dir) {
    static_cast<void>(receiver_.next());
    put_begin({}, out_);
    Entry root{.path = "", .type = EntryType::directory, .mode = 0755};
    root.uid = ::geteuid();
    root.gid = ::getegid();
    put_entry(root, true, out_);
  }
  Liar& put(Entry entry) {
    entry.uid = ::geteuid();
    entry.gid = ::getegid();
    put_entry(entry, true, out_);
    return *this;
  }
  Liar& say(FrameKind kind, std::string_view payload) {
    Encoder().raw(payload).finish(kind, out_);
    return *this;
  }
  /// What the receiver makes of it.
  Code told() {
    try {
      receiver_.receive(out_);
    } catch (const Error& e) {
      return e.code();
    }
    return Code::internal;  // believed
  }

 private:
  std::string out_;
  Receiver receiver_;
};

TEST(TransferBreak, BelievesNoPathThatLeadsOut) {
  const Places places;
  os::make_directories(places / "outside");
  const auto refused = [&](Entry entry) {
    Liar liar(places / "copy");
    liar.put({.path = "d", .type = EntryType::directory, .mode = 0700});
    liar.put({.path = "out", .type = EntryType::link, .target = places / "outside"});
    liar.put({.path = "f", .type = EntryType::file, .mode = 0600, .size = 1});
    return liar.put(std::move(entry)).told() == Code::invalid;
  };
  for (const auto* path : {"../x", "/etc/x", "d/../../x", "out/x", "a//b", ".", "d/", "f/x", "none/x"})
    EXPECT_TRUE(refused({.path = path, .type = EntryType::file, .mode = 0600})) << path;
  EXPECT_TRUE(refused({.path = std::string("a\0b", 3), .type = EntryType::file}));
  EXPECT_TRUE(refused({.path = std::string(300, 'n'), .type = EntryType::file}));
  EXPECT_TRUE(refused({.path = "", .type = EntryType::file}));
  EXPECT_TRUE(refused({.path = "x", .type = EntryType::hard_link, .target = "../outside"}));
  EXPECT_TRUE(refused({.path = "x", .type = EntryType::hard_link, .target = "out"}));
  EXPECT_TRUE(refused({.path = "x", .type = EntryType::file, .mode = 0100600}));
  EXPECT_TRUE(refused({.path = "x", .type = EntryType::file, .attributes = {{"security.selinux", "x"}}}));
  EXPECT_TRUE(os::list_directory(places / "outside").empty());
}

TEST(TransferBreak, BelievesNoBytesWhereNoneBelong) {
  const Places places;
  const auto data = [](std::uint64_t offset, const std::string& bytes) {
    std::string payload;
    for (int shift = 0; shift < 64; shift += 8) payload += static_cast<char>(offset >> shift & 0xffU);
    return payload + bytes;
  };
  const Entry file{.path = "f", .type = EntryType::file, .mode = 0600, .size = 40'000};
  EXPECT_EQ(Liar(places / "copy").say(FrameKind::data, data(0, "x")).told(), Code::invalid) << "of no file";
  EXPECT_EQ(Liar(places / "copy").put(file).say(FrameKind::data, data(1, "x")).told(), Code::invalid);
  EXPECT_EQ(Liar(places / "copy").put(file).say(FrameKind::data, data(0, "x")).told(), Code::invalid);
  EXPECT_EQ(Liar(places / "copy").put(file).say(FrameKind::data, data(32768, std::string(7233, 'x'))).told(),
            Code::invalid);
  EXPECT_EQ(
      Liar(places / "copy").put(file).say(FrameKind::data, data(~std::uint64_t{32767}, std::string(32768, 'x'))).told(),
      Code::invalid);
  EXPECT_EQ(Liar(places / "copy").put(file).say(FrameKind::zeros, data(0, data(50'000, ""))).told(), Code::invalid);
  EXPECT_EQ(Liar(places / "copy").say(FrameKind::remove, "").told(), Code::invalid);
  EXPECT_EQ(Liar(places / "copy").say(FrameKind::remove, "none").told(), Code::invalid);
  EXPECT_EQ(Liar(places / "copy").say(FrameKind::commit, "").told(), Code::invalid) << "before the end";
  EXPECT_EQ(Liar(places / "copy").say(FrameKind::hello, "").told(), Code::invalid);
}

TEST(TransferBreak, FindsADamagedCopy) {
  const Places places;
  os::make_directories(places / "upper");
  os::write_file(places / "upper/a", "what was sent");
  send_round(places / "upper", places / "copy", {.consistent = true});
  os::write_all(os::open_file(places / "copy/tree/a", O_WRONLY), "what is there", "a");
  try {
    verify_copy(places / "copy");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.text().find("'/a' is not what was received"), std::string::npos) << e.text();
  }
}

TEST(TransferBreak, SaysWhenTheOtherSideSpeaksAnotherLanguage) {
  const Places places;
  os::make_directories(places / "upper");
  Sender sender(places / "upper", {});
  EXPECT_THROW(sender.receive("HTTP/1.1 400 Bad Request\r\n\r\n"), Error);
}

}  // namespace
}  // namespace underway::overlay
