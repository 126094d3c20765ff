#include "image/store.hpp"

#include <sys/wait.h>

#include "fixture.hpp"

namespace underway::image {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Stores : public Images {
 protected:
  Store store() const { return Store(at("store")); }
  /// All but the last `less` bytes of the image at `path`, in pieces.
  Incoming send(Store& store, const std::string& path, std::size_t less = 0) const {
    const std::string bytes = os::read_file(path, 1U << 30);
    const Incoming incoming{.digest = ImageFile::open(path).digest(), .size = static_cast<std::int64_t>(bytes.size())};
    const std::size_t until = bytes.size() - less;
    for (auto at = static_cast<std::size_t>(store.received(incoming)); at < until;)
      at = static_cast<std::size_t>(
          store.append(incoming, static_cast<std::int64_t>(at),
                       std::string_view(bytes).substr(at, std::min<std::size_t>(300'000, until - at))));
    return incoming;
  }
};

TEST_F(Stores, KeepImagesByTheirDigests) {
  auto s = store();
  const std::string digest = s.add(image("web"), trusted_, kNow);
  s.add(image("mail", "2.0"), trusted_, kNow);
  EXPECT_TRUE(s.has(digest));
  EXPECT_EQ(s.get("web").digest, digest);
  EXPECT_EQ(s.get("web:1.0").size, s.open(digest, trusted_, kNow).size());
  EXPECT_EQ(s.get(digest).keys, std::vector<std::string>{trusted_[0].id});
  EXPECT_EQ(s.list().size(), 2U);
  EXPECT_THAT(failure_of([&] { s.get("web:2.0"); }), HasSubstr("web:1.0"));
  EXPECT_TRUE(os::list_directory(at("store/incoming")).empty());
}

TEST_F(Stores, GiveTheImageThatWasAddedLastForItsName) {
  auto s = store();
  s.add(image("web", "1.0"), trusted_, kNow);
  // The clock that dates files is coarse: the second is added until its date is another.
  const auto first = s.get("web").added;
  std::string second;
  do second = s.add(image("web", "0.9"), trusted_, kNow);
  while (s.get(second).added == first);
  EXPECT_EQ(s.get("web").version, "0.9");
}

TEST_F(Stores, TakeAnImageInPartsAndGoOnWhereTheyEnded) {
  auto s = store();
  const std::string path = image();
  const auto incoming = send(s, path, 500'000);
  EXPECT_EQ(s.received(incoming), incoming.size - 500'000);
  EXPECT_FALSE(s.has(incoming.digest));
  EXPECT_THAT(failure_of([&] { s.finish(incoming, trusted_, kNow); }), HasSubstr("has not arrived yet"));
  auto again = store();
  send(again, path);
  EXPECT_EQ(again.finish(incoming, trusted_, kNow).digest(), incoming.digest);
  EXPECT_EQ(os::read_file(again.path_of(incoming.digest)), os::read_file(path));
  EXPECT_EQ(again.received(incoming), 0);
}

TEST_F(Stores, SkipWhatArrivesTwiceAndRefuseGaps) {
  auto s = store();
  const Incoming incoming{.digest = "sha256:" + std::string(64, 'a'), .size = 1000};
  EXPECT_EQ(s.append(incoming, 0, std::string(400, 'x')), 400);
  EXPECT_EQ(s.append(incoming, 0, std::string(100, 'y')), 400);
  EXPECT_EQ(s.append(incoming, 300, std::string(200, 'z')), 500);
  EXPECT_THAT(failure_of([&] { s.append(incoming, 501, "x"); }), HasSubstr("500 have arrived"));
  EXPECT_THAT(failure_of([&] { s.append(incoming, 500, std::string(501, 'x')); }), HasSubstr("has 1000 bytes"));
  EXPECT_EQ(os::read_file(at("store/incoming/") + std::string(64, 'a') + "-1000"),
            std::string(400, 'x') + std::string(100, 'z'));
}

TEST_F(Stores, ShowNothingThatWasNotVerified) {
  auto s = store();
  const std::string path = image();
  std::string bytes = os::read_file(path);
  bytes[100'000] = static_cast<char>(bytes[100'000] ^ 1);
  os::write_file(at("changed"), bytes);
  const auto incoming = send(s, at("changed"));
  EXPECT_THAT(failure_of([&] { s.finish(incoming, trusted_, kNow); }), HasSubstr("it was changed after it was built"));
  EXPECT_TRUE(s.list().empty());
  EXPECT_EQ(s.received(incoming), 0) << "the next try starts anew";
  send(s, path);
  EXPECT_THAT(failure_of([&] { s.finish(incoming, {}, kNow); }), HasSubstr("no key is trusted at all"));
  Incoming other = send(s, path);
  other.digest = "sha256:" + std::string(64, 'b');
  s.append(other, 0, os::read_file(path));
  EXPECT_THAT(failure_of([&] { s.finish(other, trusted_, kNow); }), HasSubstr("is another image"));
  EXPECT_TRUE(s.list().empty());
}

TEST_F(Stores, RefuseNamesThatAreNone) {
  auto s = store();
  for (const char* name : {"sha256:../../etc/passwd", "sha256:", "../x", "Web", "web:", "web:1/2", ""})
    EXPECT_THAT(failure_of([&] { s.get(name); }), HasSubstr(name)) << name;
  EXPECT_THAT(failure_of([&] { s.received({.digest = "sha256:../x", .size = 1000}); }), HasSubstr("is no image"));
  EXPECT_THAT(
      failure_of([&] { s.received({.digest = "sha256:" + std::string(64, 'a'), .size = Store::kLargest + 1}); }),
      HasSubstr("is too large"));
}

TEST_F(Stores, RemoveWhatNobodyRefersTo) {
  auto s = store();
  const std::string web = s.add(image("web"), trusted_, kNow);
  const std::string mail = s.add(image("mail"), trusted_, kNow);
  const auto held = s.open(web, trusted_, kNow);
  const Incoming part{.digest = "sha256:" + std::string(64, 'a'), .size = 1000};
  s.append(part, 0, "x");
  EXPECT_THAT(s.collect({mail}, TimePoint{}), ElementsAre(web));
  EXPECT_EQ(s.received(part), 1);
  EXPECT_TRUE(s.has(mail));
  struct stat st{};
  EXPECT_EQ(::fstat(held.fd(), &st), 0);
  EXPECT_EQ(st.st_size, held.size());
  EXPECT_THAT(s.collect({mail}, TimePoint::max()), IsEmpty());
  EXPECT_EQ(s.received(part), 0);
}

TEST_F(Stores, AreWholeAfterADeathAtAnyMoment) {
  const std::string path = image();
  const std::string digest = ImageFile::open(path).digest();
  // A child adds the image and is killed a little later each time, until it has lived long enough.
  for (useconds_t microseconds = 1;; microseconds += 700) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::signal(SIGALRM, SIG_DFL);
      ::ualarm(microseconds, 0);
      Store(at("store")).add(path, trusted_, kNow);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    const auto s = store();
    if (s.has(digest)) {
      EXPECT_NO_THROW(s.open(digest, trusted_, kNow));
    }
    if (WIFEXITED(status)) break;
  }
  EXPECT_TRUE(store().has(digest));
}

}  // namespace
}  // namespace underway::image
