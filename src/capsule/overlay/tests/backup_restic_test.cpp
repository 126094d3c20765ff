// With the real restic, into a directory and over SFTP.
#include <sys/stat.h>

#include "base/error.hpp"
#include "os/process/process.hpp"
#include "overlay/backup/backup.hpp"
#include "trees.hpp"

namespace underway::overlay {
namespace {

constexpr std::uint64_t kMiB = 1U << 20;
constexpr TimePoint kNoon{std::chrono::seconds{1'764'072'000}};

class ResticBackups : public OverlayRoot {
 protected:
  void SetUp() override {
    OverlayRoot::SetUp();
    if (IsSkipped()) return;
    if (!os::exists("/usr/bin/restic")) GTEST_SKIP() << "needs restic";
    os::write_file(places_ / "password", "correct horse", 0600);
    repository_ = {.url = places_ / "repository", .password_file = places_ / "password"};
  }
  Snapshot snapshot(int hour) const {
    return {.id = std::to_string(hour),
            .at = unix_nanos(kNoon + std::chrono::hours{hour}),
            .image = "sha256:" + std::to_string(hour)};
  }
  Places places_;
  Repository repository_;
};

TEST_F(ResticBackups, ComeBackAsTheyWere) {
  auto overlay = open_overlay({.kind = Kind::ext4, .size_bytes = 64 * kMiB}, places_ / "o");
  Gardener gardener(overlay.upper(), 21);
  gardener.grow(50);
  const auto first = words_of(overlay.upper());
  make_repository(repository_);
  make_repository(repository_);
  const auto backup = back_up(repository_, "default/c", overlay.upper(), snapshot(0));
  EXPECT_GT(backup.added_bytes, 10'000U);
  gardener.grow(10);
  const auto second = words_of(overlay.upper());
  const auto two = back_up(repository_, "default/c", overlay.upper(), snapshot(1));
  EXPECT_LT(two.added_bytes, backup.added_bytes + 2 * kMiB);
  const auto list = list_backups(repository_, "default/c");
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].image, "sha256:0");
  EXPECT_EQ(list[1].at, snapshot(1).at);
  EXPECT_TRUE(list_backups(repository_, "default/other").empty());

  const auto before = backup_at(list, kNoon + std::chrono::minutes{59});
  fetch_backup(repository_, before, places_ / "other");
  EXPECT_EQ(words_of(places_ / "other"), first);
  EXPECT_THROW(fetch_backup(repository_, before, places_ / "other"), Error) << "it exists";
  restore_backup(repository_, before, overlay);
  EXPECT_EQ(words_of(overlay.upper()), first);
  check_repository(repository_, 100);
  EXPECT_EQ(forget_backups(repository_, "default/c", {.last = 1}), std::vector<std::string>{list[0].id});
  restore_backup(repository_, list[1], overlay);
  EXPECT_EQ(words_of(overlay.upper()), second);

  // A target without the space: whole, or not at all.
  os::make_directories(places_ / "large");
  std::string noise(30 * kMiB, '\0');
  for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<char>(i * i >> 7);
  os::write_file(places_ / "large/noise", noise);
  const auto large = back_up(repository_, "default/large", places_ / "large", snapshot(2)).backup;
  auto small = open_overlay({.kind = Kind::ext4, .size_bytes = 16 * kMiB}, places_ / "p");
  os::write_file(small.upper() + "/precious", "p");
  EXPECT_THROW(restore_backup(repository_, large, small), Error);
  EXPECT_EQ(os::read_file(small.upper() + "/precious"), "p");
  EXPECT_FALSE(os::exists(small.layer() + "/restore"));
}

TEST_F(ResticBackups, SayWhyTheyCannotBeUsed) {
  try {
    list_backups(repository_, "c");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::not_found) << e.text();
  }
  make_repository(repository_);
  os::write_file(places_ / "password", "wrong", 0600);
  try {
    make_repository(repository_);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::denied) << e.text();
    EXPECT_EQ(e.text().find("wrong\n"), std::string::npos);
  }
}

TEST_F(ResticBackups, GoOverSftp) {
  if (!os::exists("/usr/sbin/sshd")) GTEST_SKIP() << "needs openssh-server";
  os::make_directories("/run/sshd");
  const auto run = [&](std::vector<std::string> argv) {
    EXPECT_TRUE(os::run_program({.argv = std::move(argv), .env = {"PATH=/usr/bin:/bin"}}, std::chrono::seconds{20})
                    .status.success());
  };
  for (const auto* key : {"host_key", "key"}) run({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", places_ / key});
  os::write_file(places_ / "sshd_config", fmt::format("HostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n"
                                                      "PermitRootLogin yes\nSubsystem sftp internal-sftp\n",
                                                      places_ / "host_key", places_ / "key.pub"));
  // A real server and a real login, without a port that somebody else could have.
  repository_.sftp_command = fmt::format(
      "ssh -i {} -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
      "-o \"ProxyCommand=/usr/sbin/sshd -i -f {}\" root@backup.invalid -s sftp",
      places_ / "key", places_ / "sshd_config");
  repository_.url = "sftp:root@backup.invalid:" + (places_ / "far");
  Gardener(places_ / "upper", 22).grow(20);
  make_repository(repository_);
  const auto made = back_up(repository_, "default/c", places_ / "upper", snapshot(0)).backup;
  EXPECT_TRUE(os::exists(places_ / "far/config"));
  fetch_backup(repository_, made, places_ / "back");
  EXPECT_EQ(words_of(places_ / "back"), words_of(places_ / "upper"));
  ASSERT_EQ(::unlink((places_ / "key").c_str()), 0);
  EXPECT_THROW(list_backups(repository_, "default/c"), Error);
}

}  // namespace
}  // namespace underway::overlay
