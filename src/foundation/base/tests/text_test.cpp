#include "base/text.hpp"

#include "base/error.hpp"
#include "base/random.hpp"

namespace underway {
namespace {

TEST(GlobMatch, StarStandsForAnyRun) {
  EXPECT_TRUE(glob_match("dc*", "dc1"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("a*b*c", "axxbyyc"));
  EXPECT_FALSE(glob_match("a*b", "axc"));
  EXPECT_FALSE(glob_match("dc1", "dc12"));
}

TEST(Nearest, FindsTheLikelyTypoAndNothingElse) {
  const std::vector<std::string> words = {"datacenters", "constraint", "group"};
  EXPECT_EQ(nearest("datacentres", words), "datacenters");
  EXPECT_EQ(nearest("groop", words), "group");
  EXPECT_EQ(nearest("gruop", words), "group");
  EXPECT_EQ(nearest("zebra", words), "");
}

TEST(IsUtf8, RefusesOverlongFormsAndSurrogates) {
  EXPECT_TRUE(is_utf8("grüße €"));
  EXPECT_FALSE(is_utf8("\xc0\x80"));
  EXPECT_FALSE(is_utf8("\xed\xa0\x80"));
  EXPECT_FALSE(is_utf8("\xe2\x82"));
}

TEST(Base64, RoundTripsAndRefusesWhatIsNot) {
  for (const std::string text : {"", "a", "ab", "abc", "abcd"}) EXPECT_EQ(base64_decode(base64_encode(text)), text);
  EXPECT_THROW(base64_decode("a"), Error);
  EXPECT_THROW(base64_decode("ab!="), Error);
}

TEST(Uuid, HasTheShapeThatClientsMatch) {
  SeededIds seeded(7), again(7);
  const std::string id = seeded.uuid();
  EXPECT_TRUE(is_uuid(id));
  EXPECT_EQ(id, again.uuid());
  EXPECT_TRUE(is_uuid(SystemIds().uuid()));
  EXPECT_FALSE(is_uuid("not-a-uuid"));
}

TEST(Bytes, AreReadable) {
  EXPECT_EQ(human_bytes(12), "12 B");
  EXPECT_EQ(human_bytes(300ull << 20), "300 MiB");
  EXPECT_EQ(human_bytes(1536ull << 20), "1.5 GiB");
}

TEST(Utf8, IsCountedByTheCharacter) {
  EXPECT_EQ(utf8_size("a"), 1u);
  EXPECT_EQ(utf8_size("é!"), 2u);
  EXPECT_EQ(utf8_size("\u2028"), 3u);
  EXPECT_EQ(utf8_size("\U0001F600"), 4u);
  for (const char* bad : {"", "\x80", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"})
    EXPECT_EQ(utf8_size(bad), 0u);
}

TEST(Html, IsEscapedForTextsAndAttributes) {
  EXPECT_EQ(escape_html(std::string_view("<a href=\"x\">'&é\0", 17)), "&lt;a href=&#34;x&#34;&gt;&#39;&amp;é\uFFFD");
}

TEST(Hexadecimal, IsReadBack) {
  const std::string bytes("\x00\xfe~", 3);
  EXPECT_EQ(unhex(hex(bytes)), bytes);
  EXPECT_EQ(unhex("C0ffee"), "\xc0\xff\xee");
  EXPECT_EQ(unhex(""), "");
  for (const char* bad : {"0", "0g", "-1", " 1", "+1"}) EXPECT_FALSE(unhex(bad)) << bad;
}

}  // namespace
}  // namespace underway
