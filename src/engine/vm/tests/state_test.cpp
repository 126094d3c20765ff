// What lies beside a machine's disks, without a machine.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "os/tests/temporary.hpp"
#include "vm/clone/identity.hpp"
#include "vm/probe.hpp"
#include "vm/state/journal.hpp"
#include "vm/state/lease.hpp"
#include "vm/state/saved.hpp"
#include "vm/state/shared_memory.hpp"

namespace underway::vm {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;

std::string refusal(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& e) {
    return e.text();
  }
  return "it did not fail";
}

Stored pack_text(const std::string& text, const std::string& path) {
  auto stream = open_stream();
  std::thread writer([&] {
    os::write_all(stream.theirs, text, "the stream");
    stream.theirs.reset();
  });
  const auto file = os::open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
  const auto stored = pack(stream.ours, file, path, seconds{10});
  writer.join();
  return stored;
}

std::string unpack_text(const std::string& path) {
  auto stream = open_stream();
  std::string out;
  std::thread reader([&] { out = os::read_all(stream.theirs, 64U << 20, "the stream"); });
  const auto file = os::open_file(path, O_RDONLY);
  std::exception_ptr failed;
  try {
    unpack(file, path, stream.ours, seconds{10});
  } catch (...) {
    failed = std::current_exception();
  }
  stream.ours.reset();
  reader.join();
  if (failed) std::rethrow_exception(failed);
  return out;
}

TEST(Stream, WhatIsPackedIsUnpackedAndItsDigestIsOfTheFile) {
  const os::Temporary place;
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += fmt::format("page {} ", i % 977);
  const auto path = place / "memory.zst";
  const auto stored = pack_text(text, path);
  EXPECT_EQ(stored.raw_bytes, text.size());
  EXPECT_LT(stored.stored_bytes, text.size() / 4);
  EXPECT_EQ(stored.sha256, hex(crypto::sha256(os::read_file(path))));
  EXPECT_EQ(unpack_text(path), text);
}

TEST(Stream, WhatIsCutShortOrNoneOfOursIsRefused) {
  const os::Temporary place;
  const auto path = place / "memory.zst";
  pack_text(std::string(100'000, 'x') + "y", path);
  auto bytes = os::read_file(path);
  os::write_file(path, bytes.substr(0, bytes.size() - 3));
  EXPECT_THAT(refusal([&] { unpack_text(path); }), HasSubstr("is cut short"));
  os::write_file(path, "no archive");
  EXPECT_THAT(refusal([&] { unpack_text(path); }), HasSubstr("holds no machine's memory"));
}

class SavedState : public testing::Test {
 protected:
  SavedState() {
    spec_.name = "web";
    spec_.disks = {{"image", place_ / "image.qcow2"}, {"seed", place_ / "seed.iso", "raw", true}};
    os::write_file(spec_.disks[0].file, "disk");
    const auto stored = pack_text("memory", place_ / "memory-1.zst");
    saved_ = {.id = "1",
              .machine = spec_,
              .qemu = "7.2.22",
              .created = 7,
              .memory = "memory-1.zst",
              .raw_bytes = static_cast<std::int64_t>(stored.raw_bytes),
              .stored_bytes = static_cast<std::int64_t>(stored.stored_bytes),
              .sha256 = stored.sha256,
              .disks = look_at_disks(spec_)};
    write_saved(place_.path(), saved_);
  }
  std::string refused() const {
    return refusal([&] { open_verified(place_.path(), *find_saved(place_.path()), spec_); });
  }

  os::Temporary place_;
  MachineSpec spec_;
  Saved saved_;
};

TEST_F(SavedState, IsFoundAndOpenedWhenAllOfItIsWhole) {
  const auto found = find_saved(place_.path());
  ASSERT_TRUE(found);
  EXPECT_TRUE(describe::equal(*found, saved_));
  EXPECT_TRUE(static_cast<bool>(open_verified(place_.path(), *found, spec_)));
  remove_saved(place_.path());
  EXPECT_FALSE(find_saved(place_.path()));
  EXPECT_FALSE(os::exists(place_ / "memory-1.zst"));
}

TEST_F(SavedState, ABitThatIsWrongIsRefusedWithTheWayOn) {
  auto bytes = os::read_file(place_ / "memory-1.zst");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  os::write_file(place_ / "memory-1.zst", bytes);
  EXPECT_THAT(refused(), testing::AllOf(HasSubstr("the sha256 of"), HasSubstr("resume = \"cold\"")));
}

TEST_F(SavedState, ADiskThatWasWrittenToIsRefused) {
  ::timespec times[2] = {{1, 0}, {1'700'000'000, 5}};
  ASSERT_EQ(::utimensat(AT_FDCWD, spec_.disks[0].file.c_str(), times, 0), 0);
  EXPECT_THAT(refused(), HasSubstr("was written to at 2023-11-14T22:13:20Z"));
}

TEST_F(SavedState, ADescriptionThatLeadsElsewhereIsNone) {
  saved_.memory = "../../etc/shadow";
  write_saved(place_.path(), saved_);
  EXPECT_THAT(refusal([&] { find_saved(place_.path()); }), HasSubstr("describes no machine that sleeps"));
}

TEST_F(SavedState, WhatHasNoDescriptionIsClearedAway) {
  os::write_file(place_ / "memory-2.zst", "half");
  os::make_directories(checkpoint_directory(place_.path()));
  os::write_file(checkpoint_directory(place_.path()) + "/3.zst", "half");
  clear_half_made(place_.path());
  EXPECT_TRUE(os::exists(place_ / "memory-1.zst"));
  EXPECT_FALSE(os::exists(place_ / "memory-2.zst"));
  EXPECT_THAT(os::list_directory(checkpoint_directory(place_.path())), IsEmpty());
}

TEST(JournalFile, IsRememberedUntilItIsCleared) {
  const os::Temporary place;
  EXPECT_EQ(read_journal(place.path()).verb, Verb::none);
  write_journal(place.path(), {Verb::migrate, "tcp:10.0.0.7:4444", false});
  const auto journal = read_journal(place.path());
  EXPECT_EQ(journal.verb, Verb::migrate);
  EXPECT_EQ(journal.id, "tcp:10.0.0.7:4444");
  EXPECT_FALSE(journal.running);
  clear_journal(place.path());
  clear_journal(place.path());
  EXPECT_EQ(read_journal(place.path()).verb, Verb::none);
}

/// As QEMU does with -pidfile, until it is killed.
class Holder {
 public:
  explicit Holder(const std::string& path) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int fd = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
      struct flock lock{};
      lock.l_type = F_WRLCK;
      ::fcntl(fd, F_SETLK, &lock);
      static_cast<void>(::write(ready[1], "x", 1));
      for (;;) ::pause();
    }
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Holder() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Holder(const Holder&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

TEST(Lease, IsHeldByAProcessAndFreeTheMomentThatItDies) {
  const os::Temporary place;
  const auto lease = choose_lease(place.path(), "web", "machine 'web' of 7f3a/web on gpu-014", false);
  EXPECT_EQ(lease, place / "lease");
  {
    const Holder holder(lease);
    EXPECT_EQ(lease_holder(place.path()), fmt::format("pid {} (machine 'web' of 7f3a/web on gpu-014)", holder.pid()));
    EXPECT_THAT(refusal([&] { choose_lease(place.path(), "web", "another", false); }),
                HasSubstr("machine 'web' runs already"));
  }
  EXPECT_EQ(lease_holder(place.path()), "");
}

TEST(Lease, OneThatIsToTakeOverHasTheOtherOfTwo) {
  const os::Temporary place;
  const Holder source(choose_lease(place.path(), "web", "the source", false));
  const auto second = choose_lease(place.path(), "web", "the target", true);
  EXPECT_EQ(second, place / "lease-target");
  const Holder target(second);
  EXPECT_THAT(refusal([&] { choose_lease(place.path(), "web", "a third", true); }), HasSubstr("runs already"));
}

TEST(TurnOfAMachine, IsOnesAtATime) {
  const os::Temporary place;
  const auto turn = Turn::take(place.path(), "suspension of machine 'web'");
  EXPECT_THAT(refusal([&] { Turn::take(place.path(), "start of 'web'"); }), HasSubstr("suspension of machine 'web'"));
}

TEST(SharedMemory, IsThereForAsLongAsAMachineIsThatUsesIt) {
  const os::Temporary place;
  const auto root = place / "shared", web = place / "web", db = place / "db";
  os::make_directories(web);
  os::make_directories(db);
  const auto turn = Turn::take(web, "start of 'web'");
  const auto path = share_memory(root, "ring", 1, web);
  EXPECT_EQ(os::size_of(os::open_file(path, O_RDONLY), path), 1 << 20);
  EXPECT_THAT(refusal([&] { share_memory(root, "ring", 2, db); }), HasSubstr("it is there with 1 MiB and not 2"));
  {
    const Holder holder(choose_lease(db, "db", "machine 'db'", false));
    EXPECT_EQ(share_memory(root, "ring", 1, db), path);
    EXPECT_THAT(memory_users(root, "ring"), testing::UnorderedElementsAre(web, db));
    release_memory(root, "ring", web);
    EXPECT_TRUE(os::exists(path));
  }
  // Killed, and nobody said so.
  EXPECT_THAT(memory_users(root, "ring"), IsEmpty());
  reap_memory(root);
  EXPECT_FALSE(os::exists(root + "/ring"));
}

TEST(Moved, IsRememberedUntilItIsBack) {
  const os::Temporary place;
  EXPECT_FALSE(find_moved(place.path()));
  write_moved(place.path(), {"tcp:10.0.0.7:4444", 5});
  EXPECT_EQ(find_moved(place.path())->to, "tcp:10.0.0.7:4444");
  clear_moved(place.path());
  clear_moved(place.path());
  EXPECT_FALSE(find_moved(place.path()));
}

/// Of web, for a clone of it.
Identity some_identity() {
  MachineSpec then, now;
  now.name = "w1";
  then.nics = {{"net0", "br-lan", "vm-1", "52:54:00:00:00:01"}, {"net1", "br-ib", "vm-2", "52:54:00:00:00:02"}};
  now.nics = {{"net0", "br-lan", "vm-3", "52:54:00:00:00:03"}, {"net1", "br-ib", "vm-4", "52:54:00:00:00:04"}};
  return identity_of(now, then, {}, {"10.0.0.7/24"}, std::string(48, '\x5a'));
}

TEST(IdentityOfAClone, IsToldInLinesRandomNumbersFirst) {
  EXPECT_EQ(instructions(some_identity(), from_unix_nanos(7)),
            "seed 5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a\n"
            "time 7\n"
            "hostname w1\n"
            "machine-id 5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a\n"
            "nic 52:54:00:00:00:01 52:54:00:00:00:03 10.0.0.7/24\n"
            "nic 52:54:00:00:00:02 52:54:00:00:00:04 -\n"
            "ssh-keys\n");
}

TEST(IdentityOfAClone, WhatTheGuestCannotDoIsTold) {
  const auto identity = some_identity();
  const std::string most = "ok seed\nok time\nok hostname\nok machine-id\nok nic\nok nic\n";
  EXPECT_THAT(refusals(identity, most + "none ssh-keys: no /etc/ssh\n"), IsEmpty());
  EXPECT_THAT(refusals(identity, most + "failed ssh-keys: there is no ssh-keygen\n"),
              testing::ElementsAre("ssh-keys: there is no ssh-keygen"));
  EXPECT_THAT(refusals(identity, most), testing::ElementsAre("it answered 6 of 7 questions"));
  EXPECT_THAT(refusals(identity, ""), testing::ElementsAre("it answered 0 of 7 questions"));
}

TEST(IdentityOfAClone, IsKeptUntilItsGuestKnows) {
  const os::Temporary place;
  EXPECT_FALSE(find_identity(place.path()));
  write_identity(place.path(), some_identity());
  EXPECT_TRUE(describe::equal(*find_identity(place.path()), some_identity()));
  struct stat st{};
  ASSERT_EQ(::stat((place / "identity.json").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600U) << "it has a seed";
  clear_identity(place.path());
  EXPECT_FALSE(find_identity(place.path()));
}

/// A program that stands for QEMU.
class Probing : public testing::Test {
 protected:
  ProbeOptions options(const std::string& guest) const {
    const auto program = place_ / "qemu";
    os::write_file(program,
                   "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'QEMU emulator version 7.2.22 (Debian)'; exit; fi\n"
                   "echo x >> " +
                       (place_ / "booted") + "\n" + guest + "\n",
                   0755);
    os::write_file(place_ / "kvm", "");
    return {.program = program, .kernel = {}, .device = place_ / "kvm", .cache = {}, .within = seconds{20}};
  }
  std::string booted() const { return os::find_file(place_ / "booted").value_or(""); }
  os::Temporary place_;
};

TEST_F(Probing, AGuestThatComesUpIsProof) {
  const auto found = probe(options("exit 85"));
  EXPECT_EQ(found.version, "7.2.22");
  EXPECT_EQ(found.accelerator, Accelerator::kvm);
  EXPECT_EQ(found.why_no_kvm, "");
}

TEST_F(Probing, OneThatDoesNotIsNone) {
  const auto found = probe(options("echo 'kvm_buf_set_msrs: Assertion' >&2; kill -ABRT $$"));
  EXPECT_EQ(found.accelerator, Accelerator::tcg);
  EXPECT_THAT(found.why_no_kvm, HasSubstr("kvm_buf_set_msrs: Assertion"));
}

TEST_F(Probing, OneThatHangsIsGivenUp) {
  auto hangs = options("exec sleep 1000");
  hangs.within = std::chrono::milliseconds{50};
  EXPECT_THAT(probe(hangs).why_no_kvm, HasSubstr("did not come up within 50ms"));
}

TEST_F(Probing, AKernelHasToSayThatItIsOne) {
  auto linux = options("echo '[    0.000000] Linux version 6.1'");
  linux.kernel = "/boot/vmlinuz";
  EXPECT_EQ(probe(linux).accelerator, Accelerator::kvm);
  linux = options("echo 'SeaBIOS'");
  linux.kernel = "/boot/vmlinuz";
  EXPECT_EQ(probe(linux).accelerator, Accelerator::tcg);
}

TEST_F(Probing, WithoutADeviceNothingIsBooted) {
  auto none = options("exit 85");
  none.device = place_ / "nothing";
  const auto found = probe(none);
  EXPECT_EQ(found.accelerator, Accelerator::tcg);
  EXPECT_THAT(found.why_no_kvm, HasSubstr("ENOENT"));
  EXPECT_EQ(booted(), "");
}

TEST_F(Probing, TheAnswerIsRememberedForAsLongAsTheHostIsUp) {
  auto cached = options("exit 85");
  cached.cache = place_ / "probe.json";
  EXPECT_EQ(probe(cached).accelerator, Accelerator::kvm);
  EXPECT_EQ(probe(cached).accelerator, Accelerator::kvm);
  EXPECT_EQ(booted(), "x\n");
  cached.kernel = "/boot/vmlinuz";  // another question
  EXPECT_EQ(probe(cached).accelerator, Accelerator::tcg);
  os::write_file(cached.cache, "{");
  EXPECT_EQ(probe(cached).accelerator, Accelerator::tcg);
}

TEST_F(Probing, WithoutAQemuThereIsNone) { EXPECT_EQ(probe({.program = place_ / "nothing"}).program, ""); }

}  // namespace
}  // namespace underway::vm
