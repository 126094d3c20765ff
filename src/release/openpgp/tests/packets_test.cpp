#include "openpgp/detail/packets.hpp"

#include <gmock/gmock.h>

#include "fixture.hpp"

namespace underway::openpgp::detail {
namespace {

using testing::HasSubstr;

/// A signature of version 4: type 0, RSA, `digest`, created at 0x60000000 by the key 0102030405060708.
std::string body(char digest = 8) {
  std::string out{4, 0, 1, digest};
  out += std::string("\0\x06\x05\x02\x60\0\0\0", 8);
  out += std::string("\0\x0a\x09\x10\1\2\3\4\5\6\7\x08", 12);
  return out + std::string("\xab\xcd\0\1\1", 5);
}
std::string packet(const std::string& body) { return "\x88" + std::string(1, static_cast<char>(body.size())) + body; }

TEST(SignaturePackets, AreReadInAllTheFormsOfTheirLength) {
  const auto b = body();
  const auto size = static_cast<char>(b.size());
  const std::string forms[] = {packet(b), std::string{'\x89', 0, size} + b, std::string{'\x8a', 0, 0, 0, size} + b,
                               std::string{'\xc2', size} + b, std::string{'\xc2', '\xff', 0, 0, 0, size} + b};
  std::string all;
  for (const auto& form : forms) all += form;
  const auto packets = parse_signatures(all);
  ASSERT_EQ(packets.size(), std::size(forms));
  for (std::size_t i = 0; i < packets.size(); ++i) {
    EXPECT_EQ(packets[i].bytes, forms[i]);
    EXPECT_EQ(packets[i].version, 4);
    EXPECT_EQ(packets[i].type, 0);
    EXPECT_EQ(packets[i].digest, 8);
    EXPECT_EQ(packets[i].created, 0x60000000);
    EXPECT_EQ(packets[i].issuer, "0102030405060708");
  }
}

TEST(SignaturePackets, OfVersion3AreReadAndThoseOfLaterOnesAreKept) {
  const std::string third = std::string("\3\5\1\x60\0\0\0\1\2\3\4\5\6\7\x08\1\2", 17);
  const auto packets = parse_signatures(packet(third) + packet(std::string("\6what", 5)));
  ASSERT_EQ(packets.size(), 2U);
  EXPECT_EQ(packets[0].type, 1);
  EXPECT_EQ(packets[0].digest, 2);
  EXPECT_EQ(packets[0].created, 0x60000000);
  EXPECT_EQ(packets[0].issuer, "0102030405060708");
  EXPECT_EQ(packets[1].version, 6);
}

TEST(SignaturePackets, RefuseAllThatIsNone) {
  const auto good = packet(body());
  const struct Case {
    const char* name;
    std::string bytes;
    const char* why;
  } cases[] = {
      {"nothing", "", "there is nothing"},
      {"cut", good.substr(0, good.size() - 1), "ends before its end"},
      {"compressed data", good + std::string("\xa3\1\0", 3), "no signature"},
      {"a key", std::string("\x98\1\4", 3), "no signature"},
      {"of no known length", std::string("\x8b\4", 2), "how long"},
      {"piece by piece", std::string("\xc2\xe1", 2), "how long"},
      {"longer than all there is", std::string("\x8a\xff\xff\xff\xff", 5), "ends before its end"},
      {"a part longer than its packet", packet(std::string("\4\0\1\x08\0\2\xff\2", 8)), "ends before its end"},
      {"an empty part", packet(std::string("\4\0\1\x08\0\1\0\0\0", 9)), "is empty"},
      {"bytes between", good + "x" + good, "no signature"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_THAT(failure_of([&] { parse_signatures(c.bytes); }), HasSubstr(c.why));
  }
  std::string many;
  for (std::size_t i = 0; i < kMostSignatures; ++i) many += good;
  EXPECT_EQ(parse_signatures(many).size(), kMostSignatures);
  EXPECT_THAT(failure_of([&] { parse_signatures(many + good); }), HasSubstr("more than 32"));
  EXPECT_THAT(failure_of([] { parse_signatures(std::string(kLargestSignatures + 1, '\x88')); }),
              HasSubstr("too large"));
}

TEST(SignaturePackets, AreReadFromOneArmoredBlock) {
  const std::string begin = "-----BEGIN PGP SIGNATURE-----\n", end = "-----END PGP SIGNATURE-----\n";
  const std::string good = base64_encode(packet(body())) + "\n";
  EXPECT_EQ(parse_signatures(begin + "\n" + good + end).at(0).bytes, packet(body()));
  EXPECT_EQ(parse_signatures(begin + "Version: x\r\n\r\n" + good + end + "\n").size(), 1U);
  const struct Case {
    const char* name;
    std::string text;
    const char* why;
  } cases[] = {
      {"text before", "x\n" + begin + "\n" + good + end, "the first line"},
      {"text behind", begin + "\n" + good + end + "x", "behind the block"},
      {"two blocks", begin + "\n" + good + end + begin + "\n" + good + end, "behind the block"},
      {"no end", begin + "\n" + good, "does not end"},
      {"no empty line", begin + good + end, "no header"},
      {"empty", begin + "\n" + end, "is empty"},
      {"another checksum", begin + "\n" + good + "=AAAA\n" + end, "of other bytes"},
      {"behind the checksum", begin + "\n" + good + "=AAAA\n" + good + end, "behind the checksum"},
      {"no base64", begin + "\n" + "%%%%\n" + end, "base64"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_THAT(failure_of([&] { parse_signatures(c.text); }), HasSubstr(c.why));
  }
}

}  // namespace
}  // namespace underway::openpgp::detail
