#include "os/ledger.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "temporary.hpp"

namespace underway::os {
namespace {

LedgerItem directory(const std::string& path) { return {.kind = "directory", .object = path, .owner = "test"}; }

TEST(Ledger, ForgetsWhatWasSettledAndKeepsTheRestInOrder) {
  const Temporary dir;
  {
    Ledger ledger(dir / "ledger");
    auto entries = ledger.record({directory("/a"), directory("/b"), directory("/c")});
    entries[1].settle();
  }
  const Ledger again(dir / "ledger");
  const auto open = again.unsettled();
  ASSERT_EQ(open.size(), 2U);
  EXPECT_EQ(open[0].item, directory("/a"));
  EXPECT_EQ(open[1].item, directory("/c"));
  EXPECT_TRUE(again.unsettled("somebody else").empty());
}

TEST(Ledger, ReadsEverythingBeforeATornTailAndGoesOnAppending) {
  const Temporary dir;
  {
    Ledger ledger(dir / "ledger");
    ledger.record({directory("/a"), directory("/b")});
  }
  const std::string whole = read_file(dir / "ledger");
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    write_file(dir / "ledger", whole.substr(0, cut), 0600, {}, Durability::cached);
    Ledger ledger(dir / "ledger");
    // A last line that lacks only its newline is whole.
    const auto complete = std::count(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut), '\n') +
                          (cut < whole.size() && whole[cut] == '\n' ? 1 : 0);
    ASSERT_EQ(ledger.unsettled().size(), static_cast<std::size_t>(complete)) << cut;
    ledger.record(LedgerItem{"link", "v0", "", "t"});
    EXPECT_EQ(ledger.unsettled().back().item.object, "v0");
  }
}

TEST(Ledger, SkipsACorruptLineInTheMiddle) {
  const Temporary dir;
  {
    Ledger ledger(dir / "ledger");
    ledger.record({directory("/a"), directory("/b"), directory("/c")});
  }
  std::string text = read_file(dir / "ledger");
  text[text.find("/b")] = '\0';
  write_file(dir / "ledger", text);
  const Ledger ledger(dir / "ledger");
  EXPECT_EQ(ledger.skipped_lines(), 1U);
  EXPECT_EQ(ledger.unsettled().size(), 2U);
}

TEST(Ledger, SurvivesSigkillOfItsWriterAtAnyMoment) {
  const Temporary dir;
  const Pipe pipe = open_pipe();
  const pid_t pid = ::fork();
  if (pid == 0) {
    Ledger ledger(dir / "ledger");
    for (std::uint32_t i = 0;; ++i) {
      ledger.record(LedgerItem{"link", std::to_string(i), "", "t"});
      if (::write(pipe.write.get(), &i, sizeof i) != sizeof i) ::_exit(1);
    }
  }
  std::uint32_t last = 0;
  for (int i = 0; i < 500; ++i)
    ASSERT_EQ(::read(pipe.read.get(), &last, sizeof last), static_cast<ssize_t>(sizeof last));
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
  const Ledger ledger(dir / "ledger");
  EXPECT_GT(ledger.unsettled().size(), last);
  EXPECT_EQ(ledger.skipped_lines(), 0U);
}

TEST(Ledger, HasOneOwnerAtATime) {
  const Temporary dir;
  const Ledger ledger(dir / "ledger");
  EXPECT_THROW(Ledger(dir / "ledger"), Error);
}

TEST(Ledger, UndoesTheLatestFirstSettlesWhatWorkedAndReportsTheRest) {
  const Temporary dir;
  make_directories(dir / "made/x");
  Ledger ledger(dir / "ledger");
  std::vector<std::string> undone;
  ledger.on_undo("link", [&](const LedgerItem& item) {
    undone.push_back(item.object);
    if (item.object == "stuck") throw Error(Code::conflict, "in use");
  });
  ledger.record(
      {directory(dir / "made"), {"link", "stuck", "", "h1"}, {"link", "v0", "", "h1"}, {"link", "v9", "", "h2"}});
  auto failures = ledger.undo([](const LedgerItem& item) { return item.owner != "h2"; });
  EXPECT_EQ(undone, (std::vector<std::string>{"v0", "stuck"}));
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_THAT(failures[0].text(), testing::HasSubstr("undoing link 'stuck' of 'h1'"));
  EXPECT_FALSE(exists(dir / "made"));
  EXPECT_EQ(ledger.unsettled().size(), 2U);
}

TEST(Ledger, KillsOnlyTheVeryProcessThatItRecorded) {
  const Temporary dir;
  Child child = spawn({.argv = {"sleep", "60"}});
  const auto identity = process_identity(child.pid());
  ASSERT_TRUE(identity);
  Ledger ledger(dir / "ledger");
  ledger.record(LedgerItem{"process", to_object({child.pid(), identity->start_time + 1}), "", "t"});
  EXPECT_TRUE(ledger.undo_all().empty());
  EXPECT_TRUE(is_running(*identity));
  ledger.record(LedgerItem{"process", to_object(*identity), "", "t"});
  EXPECT_TRUE(ledger.undo_all().empty());
  EXPECT_EQ(child.wait(), ExitStatus{.signal = SIGKILL});
}

}  // namespace
}  // namespace underway::os
