#include "rpmmd/compressed.hpp"

#include <archive.h>
#include <archive_entry.h>

#include "fixture.hpp"

namespace underway::rpmmd {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string text() {
  std::string out;
  for (int i = 0; i < 20'000; ++i) out += fmt::format("<file>/usr/share/{}/{}</file>\n", i * 7919 % 1000, i);
  return out;
}

std::string pack_xz(const std::string& bytes) {
  const std::unique_ptr<archive, decltype(&archive_write_free)> writer(archive_write_new(), &archive_write_free);
  archive_write_set_format_raw(writer.get());
  archive_write_add_filter_xz(writer.get());
  archive_write_set_bytes_in_last_block(writer.get(), 1);
  std::string out(bytes.size() + 4096, '\0');
  std::size_t used = 0;
  archive_write_open_memory(writer.get(), out.data(), out.size(), &used);
  const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(), &archive_entry_free);
  archive_entry_set_pathname(entry.get(), "data");
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_write_header(writer.get(), entry.get());
  archive_write_data(writer.get(), bytes.data(), bytes.size());
  archive_write_close(writer.get());
  out.resize(used);
  return out;
}

std::vector<std::string> packed(const std::string& bytes) {
  return {pack(bytes, Compression::gzip), pack(bytes, Compression::zstd), pack_xz(bytes)};
}

TEST(Unpack, GivesWhatWasPackedWhicheverWay) {
  const std::string whole = text();
  for (const auto& bytes : packed(whole)) {
    EXPECT_LT(bytes.size(), whole.size() / 4);
    EXPECT_EQ(unpack(bytes, "primary"), whole);
  }
  EXPECT_EQ(unpack(whole, "primary"), whole) << "as it is, when it is not compressed";
  for (const auto& bytes : packed("")) EXPECT_EQ(unpack(bytes, "primary"), "");
}

TEST(Unpack, StopsAtTheLimitHoweverSmallTheFileIs) {
  const std::string zeros(std::size_t{8} << 20, '\0');
  for (const auto& bytes : packed(zeros)) {
    EXPECT_LT(bytes.size(), 64U << 10);
    EXPECT_THAT(refusal([&] { unpack(bytes, "primary", 1U << 20); }),
                HasSubstr("too_large: primary is larger than is allowed"));
    EXPECT_EQ(unpack(bytes, "primary", zeros.size()).size(), zeros.size()) << "as much as is allowed";
    EXPECT_THAT(refusal([&] { unpack(bytes, "primary", zeros.size() - 1); }), StartsWith("too_large"));
  }
  EXPECT_THAT(refusal([&] { unpack("12345", "primary", 4); }), StartsWith("too_large"));
}

TEST(Unpack, RefusesWhatIsCutOffOrDamaged) {
  for (const auto& bytes : packed(text())) {
    for (const std::size_t left : {bytes.size() - 1, bytes.size() / 2, std::size_t{20}})
      EXPECT_THAT(refusal([&] { unpack(bytes.substr(0, left), "primary"); }),
                  StartsWith("invalid: cannot unpack primary"))
          << left << " of " << bytes.size();
    std::string damaged = bytes;
    damaged[bytes.size() / 2] = static_cast<char>(damaged[bytes.size() / 2] ^ 0x20);
    EXPECT_THAT(refusal([&] { unpack(damaged, "primary"); }), StartsWith("invalid"));
  }
}

TEST(Unpack, RefusesWhatIsCompressedTwice) {
  EXPECT_THAT(refusal([&] { unpack(pack(pack(text(), Compression::zstd), Compression::zstd), "primary"); }),
              HasSubstr("more than once"));
}

TEST(Unpack, TakesMembersOfGzipThatFollowEachOtherAndNothingElse) {
  const auto one = pack("one ", Compression::gzip), two = pack("two", Compression::gzip);
  EXPECT_EQ(unpack(one + two, "primary"), "one two");
  EXPECT_THAT(refusal([&] { unpack(one + "more", "primary"); }), HasSubstr("something else stands behind its end"));
}

TEST(Pack, WritesNoDateAndNoName) {
  using namespace std::string_view_literals;
  EXPECT_EQ(pack("x", Compression::gzip).substr(0, 10), "\x1f\x8b\x08\0\0\0\0\0\0\x03"sv);
  EXPECT_EQ(pack(text(), Compression::zstd), pack(text(), Compression::zstd));
}

}  // namespace
}  // namespace underway::rpmmd
