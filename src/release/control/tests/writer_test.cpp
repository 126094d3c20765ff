#include "control/writer.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"

namespace underway::control {
namespace {

using testing::HasSubstr;

TEST(Writer, WritesWhatIsReadAgain) {
  const std::string description = "short\nlong\n\n verbatim\n\nlast";
  Writer writer;
  writer.add("Package", "a").add("Size", 42).add("Description", description).end();
  writer.end().add("SHA256", "\nabc 1 main\ndef 2 other");
  EXPECT_EQ(writer.text(),
            "Package: a\nSize: 42\nDescription: short\n long\n .\n  verbatim\n .\n last\n\n"
            "SHA256:\n abc 1 main\n def 2 other\n");
  std::vector<std::string> texts;
  each_stanza(writer.text(), [&](const Stanza& stanza) {
    for (const auto& field : stanza.fields()) texts.push_back(unfold(field.value));
  });
  EXPECT_THAT(texts, testing::ElementsAre("a", "42", description, "\nabc 1 main\ndef 2 other"));
}

TEST(Writer, KeepsTheBytesOfACopiedField) {
  const Stanza stanza{"A:1\nB:\n x\n\ty \nC:   2\n"};
  Writer writer;
  for (const auto& field : stanza.fields()) writer.copy(field);
  EXPECT_EQ(writer.text(), "A: 1\nB:\n x\n\ty\nC: 2\n");
}

TEST(Writer, CannotBeMadeToWriteAnotherField) {
  const auto refused = [](std::string_view name, std::string_view text) -> std::string {
    try {
      Writer().add(name, text);
    } catch (const Error& error) {
      return error.one_line();
    }
    return "written";
  };
  EXPECT_EQ(refused("A", "1\nB: 2"), "written");
  EXPECT_EQ(Writer().add("A", "1\nB: 2\n\nC: 3").text(), "A: 1\n B: 2\n .\n C: 3\n");
  EXPECT_THAT(refused("A: 1\nB", "2"), HasSubstr("cannot write the field"));
  EXPECT_THAT(refused("A:B", "2"), HasSubstr("its name is none"));
  EXPECT_THAT(refused("", "2"), HasSubstr("is no name of a field"));
  EXPECT_THAT(refused("A", "1\rB: 2"), HasSubstr("a carriage return"));
  EXPECT_THAT(refused("A", std::string_view("\0", 1)), HasSubstr("a NUL"));
  EXPECT_THAT(refused("A", "x\n.\ny"), HasSubstr("line 2 of its text is a '.' alone"));
  EXPECT_THROW(Writer().copy({"A", "1\nB: 2"}), Error);
  EXPECT_THROW(Writer().copy({"A", "1\n"}), Error);
  EXPECT_THROW(Writer().add("A", "1").add("a", "2"), Error);
  EXPECT_NO_THROW(Writer().add("A", "1").end().add("a", "2"));
}

}  // namespace
}  // namespace underway::control
