#include "link/frame.hpp"

namespace underway::link {
namespace {

template <class T>
T round_trip(const T& frame) {
  const auto encoded = encode(frame);
  return std::get<T>(decode(encoded.data, encoded.text));
}

TEST(Frame, SurvivesTheWire) {
  EXPECT_EQ(round_trip(Call{7, "register", {{"a", 1}}}).method, "register");
  EXPECT_EQ(round_trip(Notification{"heartbeat", {}}).method, "heartbeat");
  EXPECT_EQ(round_trip(Open{3, "logs", {{"Task", "t"}}}).header.at("Task").as_string(), "t");
  const auto data = round_trip(Data{0xdeadbeef, Channel::error, std::string("a\0b", 3)});
  EXPECT_EQ(data.stream, 0xdeadbeefu);
  EXPECT_EQ(data.channel, Channel::error);
  EXPECT_EQ(data.bytes, std::string("a\0b", 3));
  EXPECT_EQ(round_trip(Acknowledge{1, 70'000}).bytes, 70'000u);
}

TEST(Frame, CarriesAnErrorWhole) {
  const auto error = Error(Code::not_found, "no such task").because("why").while_doing("what").advise("do");
  const auto reply = round_trip(Reply{1, {}, error});
  ASSERT_TRUE(reply.error);
  EXPECT_EQ(reply.error->text(), error.text());
  EXPECT_EQ(reply.error->code(), Code::not_found);
}

TEST(Frame, RefusesWhatIsMalformed) {
  const std::vector<std::pair<std::string, bool>> bad = {{"", true},
                                                         {"[]", true},
                                                         {"{}", true},
                                                         {R"({"Call":-1,"Method":"x"})", true},
                                                         {R"({"Call":1})", true},
                                                         {R"({"Open":4294967296,"Method":"x"})", true},
                                                         {R"({"Reply":1,"Error":3})", true},
                                                         {"", false},
                                                         {"abcd", false},
                                                         {std::string("\0\0\0\1\1", 5), false},
                                                         {std::string("\0\0\0\1\1\7x", 7), false},
                                                         {std::string("\0\0\0\1\x63", 5), false},
                                                         {std::string("\0\0\0\1\2ab", 7), false},
                                                         {std::string("\0\0\0\1\3x", 6), false}};
  for (const auto& [bytes, text] : bad) {
    SCOPED_TRACE(bytes);
    EXPECT_THROW(decode(bytes, text), Error);
  }
}

}  // namespace
}  // namespace underway::link
