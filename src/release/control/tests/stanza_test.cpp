#include "control/stanza.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"

namespace underway::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> read(std::string_view text) {
  std::vector<std::string> out;
  each_stanza(text, [&](const Stanza& stanza) {
    std::string line = fmt::format("{}|", stanza.line);
    for (const auto& field : stanza.fields()) line += fmt::format("{}={}|", field.name, field.value);
    out.push_back(line);
  });
  return out;
}

/// "code: line N: why" of what is refused.
std::string refusal(std::string_view text) {
  try {
    each_stanza(text, [](const Stanza&) {});
  } catch (const Error& error) {
    return fmt::format("{}: {}", to_string(error.code()), error.one_line());
  }
  return "read";
}

TEST(Stanza, IsGivenWithItsFieldsItsLineAndItsExactBytes) {
  const std::string text = "\n\nPackage: a\nDescription:  short \n long\n .\n\tmore\n\n\nPackage:b\nFiles:\n x 1\n y 2";
  EXPECT_THAT(read(text),
              ElementsAre("3|Package=a|Description=short \n long\n .\n\tmore|", "10|Package=b|Files=\n x 1\n y 2|"));
  std::vector<std::string_view> bytes;
  each_stanza(text, [&](const Stanza& stanza) { bytes.push_back(stanza.text); });
  EXPECT_THAT(bytes,
              ElementsAre("Package: a\nDescription:  short \n long\n .\n\tmore\n", "Package:b\nFiles:\n x 1\n y 2"));
  EXPECT_EQ(bytes[0].data(), text.data() + 2) << "a view into what was read";
}

TEST(Stanza, NothingIsReadOfAnEmptyText) {
  EXPECT_THAT(read(""), IsEmpty());
  EXPECT_THAT(read("\n\n"), IsEmpty());
  EXPECT_THAT(read("A:\n"), ElementsAre("1|A=|"));
}

TEST(Stanza, FindsAFieldWhateverItsCase) {
  const Stanza stanza{"SHA256: 1\nSha: 2\nsHa1:\n"};
  EXPECT_EQ(stanza.find("sha256"), "1");
  EXPECT_EQ(stanza.find("SHA"), "2");
  EXPECT_EQ(stanza.find("sha1"), "");
  EXPECT_EQ(stanza.find("sh"), std::nullopt);
}

TEST(Stanza, EndsWhereAptEndsIt) {
  // A line of blanks is not empty; one with only a carriage return is.
  EXPECT_THAT(read("A: 1\n \nB: 2\n"), ElementsAre("1|A=1|B=2|"));
  EXPECT_THAT(read("A: 1\n \n x\nB: 2\n"), ElementsAre("1|A=1\n \n x|B=2|"));
  EXPECT_THAT(read("A: 1\r\n\r\nB: 2\r\n"), ElementsAre("1|A=1|", "3|B=2|"));
}

TEST(Stanza, RefusesWhatIsNoneWithTheLine) {
  EXPECT_EQ(refusal("A: 1\nnothing\n"), "invalid: cannot read the stanzas: line 2: no ':' in 'nothing'");
  EXPECT_EQ(refusal("A: 1\n\n continued\n"),
            "invalid: cannot read the stanzas: line 3: it goes on with a field, and there is none above it");
  EXPECT_EQ(refusal("# A: 1\n"), "invalid: cannot read the stanzas: line 1: '# A' is no name of a field");
  EXPECT_EQ(refusal("-----BEGIN PGP: x\n"),
            "invalid: cannot read the stanzas: line 1: '-----BEGIN PGP' is no name of a field");
  EXPECT_THAT(refusal("\xc3\xa4: 1\n"), HasSubstr("line 1: '\?\?' is no name of a field"));
  EXPECT_THAT(refusal(": 1\n"), HasSubstr("line 1: '' is no name of a field"));
  EXPECT_EQ(refusal(std::string("A: 1\nB: x\0y\n", 12)), "invalid: cannot read the stanzas: line 2: a NUL byte");
}

TEST(Stanza, RefusesANameThatStandsTwice) {
  // apt and another reader might take different ones.
  EXPECT_EQ(refusal("SHA256: 1\nA: 1\nsha256: 2\n"),
            "invalid: cannot read the stanzas: line 3: a second field 'sha256'");
  EXPECT_EQ(refusal("SHA256: 1\n\nSHA256: 2\n"), "read") << "of another stanza";
  EXPECT_EQ(refusal("Abc: 1\nAxc: 2\n"), "read") << "as long, and with the same ends";
}

TEST(Stanza, HasLimits) {
  std::string many;
  for (std::size_t i = 0; i < kMaxFields; ++i) many += fmt::format("F{}: 1\n", i);
  EXPECT_EQ(refusal(many), "read");
  EXPECT_THAT(refusal(many + "More: 1\n"), HasSubstr("too_large: cannot read the stanzas: line 1025: more than 1024"));
  EXPECT_EQ(refusal(std::string(256, 'a') + ": 1\n"), "read");
  EXPECT_THAT(refusal(std::string(257, 'a') + ": 1\n"), HasSubstr("too_large"));
  std::string large = "A: 1\n\nA:\n";
  large.reserve(kMaxStanza + 100);
  while (large.size() < kMaxStanza + 6) large += " 0123456789012345678901234567890123456789012345678901234567890\n";
  EXPECT_THAT(refusal(large), HasSubstr("too_large: cannot read the stanzas: line"));
}

TEST(Stanza, IsTheOnlyOneWhereOneIsAllowed) {
  EXPECT_EQ(single_stanza("\nA: 1\n\n").text, "A: 1\n");
  EXPECT_THROW(single_stanza("\n"), Error);
  EXPECT_THROW(single_stanza("A: 1\n\nA: 1\n"), Error);
}

TEST(Value, IsUnfoldedAndJoined) {
  EXPECT_EQ(unfold("short\n long\n .\n  verbatim \n ..\n\tmore"), "short\nlong\n\n verbatim\n..\nmore");
  EXPECT_EQ(unfold("\n a 1\r\n b 2"), "\na 1\nb 2");
  EXPECT_EQ(unfold("."), ".") << "on the first line it is one";
  EXPECT_EQ(join_lines("a (>= 1),\n b |\n\tc  "), "a (>= 1), b | c");
  EXPECT_EQ(join_lines("\n a\n \n b"), "a b");
}

}  // namespace
}  // namespace underway::control
