#include <sys/mount.h>
#include <sys/statvfs.h>

#include "fixture.hpp"
#include "pool/detail/place.hpp"

namespace underway::pool {
namespace {

using testing::HasSubstr;

/// A pool on a small disk of its own.
class FullDisk : public Pools {
 protected:
  FullDisk() {
    os::make_directories(at("disk"));
    if (::mount("tmpfs", at("disk").c_str(), "tmpfs", 0, "size=4m") != 0)
      throw errno_error(errno, "cannot mount a tmpfs");
  }
  ~FullDisk() override { ::umount2(at("disk").c_str(), MNT_DETACH); }

  Pool small(std::uint64_t reserve) const { return Pool(at("disk/pool"), {.reserve = reserve}); }
  std::uint64_t free() const {
    struct statvfs fs{};
    EXPECT_EQ(::statvfs(at("disk").c_str(), &fs), 0);
    return std::uint64_t{fs.f_bavail} * fs.f_frsize;
  }
  std::size_t small_parts() const { return os::list_directory(at("disk/pool/incoming")).size(); }
};

TEST_F(FullDisk, KeepsItsReserveAndNothingHalf) {
  const std::uint64_t reserve = 1 << 20;
  const auto p = small(reserve);
  std::vector<Digest> added;
  std::string failure;
  for (int i = 0; failure.empty(); ++i) try {
      added.push_back(p.add_bytes(std::string(300'000, static_cast<char>('a' + i))).digest);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::exhausted);
      failure = error.text();
    }
  EXPECT_THAT(failure, HasSubstr("are to be left"));
  EXPECT_GE(added.size(), 8U);
  EXPECT_GE(free(), reserve);
  os::write_file(at("large"), std::string(600'000, 'x'));
  EXPECT_THAT(failure_of([&] { p.add_file(at("large")); }), HasSubstr("are to be left"));
  EXPECT_EQ(small_parts(), 0U);
  expect_sound(p);
  EXPECT_THAT(p.hold(added), testing::IsEmpty());
}

TEST_F(FullDisk, LeavesAPartAsLongAsItWasWhenThereIsNoSpace) {
  const auto p = small(0);
  const std::string text(1'000'000, 't');
  auto incoming = p.receive({.digest = digest_of(text), .size = text.size()});
  incoming.append(0, std::string_view(text).substr(0, 100'000));
  const auto filler = p.add_bytes(std::string(free() - 200'000, 'f')).digest;
  EXPECT_THAT(failure_of([&] { incoming.append(100'000, std::string_view(text).substr(100'000)); }),
              HasSubstr("no room"));
  EXPECT_EQ(incoming.received(), 100'000U);
  EXPECT_EQ(p.collect({}, {}, os::file_clock_now() + kHour).files, std::vector{filler});
  incoming.append(100'000, std::string_view(text).substr(100'000));
  incoming.finish();
  EXPECT_EQ(text_of(p.open(digest_of(text))), text);
}

TEST_F(FullDisk, TakesBackWhatWasWrittenBeforeTheDiskWasFull) {
  const os::Fd file = os::open_file(at("disk/file"), O_CREAT | O_RDWR);
  detail::write_at(file, 0, "whole", "it");
  // Others fill the disk between the look at its room and the write.
  const std::string large(8 << 20, 'x');
  try {
    detail::write_at(file, 5, large, "it");
    ADD_FAILURE() << "it fits";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::exhausted) << error.text();
  }
  EXPECT_EQ(os::size_of(file, "it"), 5);
}

}  // namespace
}  // namespace underway::pool
