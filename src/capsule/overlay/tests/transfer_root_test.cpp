// Copies of what a real overlayfs wrote, and disks that are full or damaged.
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/error.hpp"
#include "overlay/transfer/transfer.hpp"
#include "trees.hpp"

namespace underway::overlay {
namespace {

constexpr std::uint64_t kRootMiB = 1U << 20;

class TransferRoot : public OverlayRoot {
 protected:
  Places places_;
};

std::string noise(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint64_t state = 88172645463325252ULL;
  for (auto& byte : bytes) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    byte = static_cast<char>(state);
  }
  return bytes;
}

TEST_F(TransferRoot, LookTheSameOverTheSameImage) {
  for (const auto* name : {"image/etc/gone", "image/etc/hollow", "image/home", "merged", "merged2"})
    os::make_directories(places_ / name);
  for (const auto* name : {"image/etc/passwd", "image/etc/hollow/a", "image/etc/gone/a", "image/home/b"})
    os::write_file(places_ / name, "of the image");
  auto here = open_overlay({.kind = Kind::ext4, .size_bytes = 64 * kRootMiB}, places_ / "here");
  auto merged =
      os::Mount::overlay({places_ / "image"}, here.upper(), here.work(), places_ / "merged", "redirect_dir=on");
  os::write_file(places_ / "merged/etc/passwd", "changed");
  std::filesystem::remove_all(places_ / "merged/etc/gone");
  std::filesystem::remove_all(places_ / "merged/etc/hollow");
  os::make_directories(places_ / "merged/etc/hollow");  // opaque
  std::filesystem::rename(places_ / "merged/home", places_ / "merged/moved");
  Gardener(places_ / "merged/moved", 31).grow(30);
  send_round(here.upper(), places_ / "aside");
  auto frozen = here.freeze();
  auto there = open_overlay({.kind = Kind::btrfs, .size_bytes = 300 * kRootMiB}, places_ / "there");
  const auto copy = there.layer() + "/copy";
  send_round(here.upper(), copy, {.consistent = true, .release = [&] { frozen.thaw(); }});
  install_copy(copy, there.upper());
  auto other =
      os::Mount::overlay({places_ / "image"}, there.upper(), there.work(), places_ / "merged2", "redirect_dir=on");
  const auto without_root = [](const std::string& words) { return words.substr(words.find('\n')); };
  EXPECT_EQ(without_root(words_of(places_ / "merged2")), without_root(words_of(places_ / "merged")));
  EXPECT_FALSE(os::exists(places_ / "merged2/etc/gone"));
  EXPECT_TRUE(os::list_directory(places_ / "merged2/etc/hollow").empty());
  other.unmount();
  merged.unmount();
}

TEST_F(TransferRoot, ToADiskWithoutTheSpaceSayItOnBothSidesAndHarmNothing) {
  os::make_directories(places_ / "upper");
  os::write_file(places_ / "upper/precious", "one");
  const auto small = places_.disk("small", "size=8m");
  send_round(places_ / "upper", small + "/copy", {.consistent = true});
  os::write_file(places_ / "upper/precious", "two");
  os::write_file(places_ / "upper/big", noise(12 * kRootMiB));
  {
    Sender sender(places_ / "upper", {.consistent = true});
    Receiver receiver(small + "/copy");
    try {
      pump(sender, receiver);
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::exhausted) << e.text();
    }
    try {
      sender.receive(receiver.next());
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::exhausted) << e.text();
      EXPECT_NE(e.text().find("the receiver of the overlay gave up"), std::string::npos) << e.text();
    }
  }
  EXPECT_EQ(os::read_file(small + "/copy/tree/precious"), "one");
  EXPECT_TRUE(find_copy(small + "/copy")->consistent);
  ASSERT_EQ(::unlink((places_ / "upper/big").c_str()), 0);
  send_round(places_ / "upper", small + "/copy", {.consistent = true});
  EXPECT_EQ(os::read_file(small + "/copy/tree/precious"), "two");
}

TEST_F(TransferRoot, OfADamagedFileSystemLeaveTheLastCopyAlone) {
  const Spec spec{.kind = Kind::btrfs, .size_bytes = 300 * kRootMiB};
  {
    auto overlay = open_overlay(spec, places_ / "o");
    os::write_file(overlay.upper() + "/precious", noise(8 * kRootMiB));
    send_round(overlay.upper(), places_ / "copy", {.consistent = true});
    os::write_file(overlay.upper() + "/precious", noise(9 * kRootMiB));
    overlay.close();
  }
  // Its data are overwritten beneath it.
  const auto bytes = noise(9 * kRootMiB).substr(0, 4096);
  const auto image = os::open_file(places_ / "o/overlay.img", O_RDWR);
  std::string block(kRootMiB, '\0');
  int hit = 0;
  for (off_t at = 0; ::pread(image.get(), block.data(), block.size(), at) == static_cast<ssize_t>(block.size());
       at += static_cast<off_t>(kRootMiB)) {
    for (auto found = block.find(bytes.substr(0, 64)); found != std::string::npos;
         found = block.find(bytes.substr(0, 64), found + 1)) {
      ASSERT_EQ(::pwrite(image.get(), std::string(4096, 'x').data(), 4096, at + static_cast<off_t>(found)), 4096);
      ++hit;
    }
  }
  ASSERT_GT(hit, 0);
  auto overlay = open_overlay(spec, places_ / "o");
  Sender sender(overlay.upper(), {.consistent = true});
  Receiver receiver(places_ / "copy");
  EXPECT_THROW(pump(sender, receiver), Error) << "btrfs knows that it is damaged";
  EXPECT_THROW(receiver.receive(sender.next()), Error) << "the receiver is told";
  EXPECT_EQ(os::read_file(places_ / "copy/tree/precious", 16 * kRootMiB), noise(8 * kRootMiB));
  EXPECT_NO_THROW(verify_copy(places_ / "copy"));
}

}  // namespace
}  // namespace underway::overlay
