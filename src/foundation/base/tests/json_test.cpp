#include "base/json.hpp"

#include "base/error.hpp"

namespace underway {
namespace {

enum class Colour { red, light_blue };
const describe::Enumeration& description(describe::Tag<Colour>) {
  static const auto e =
      describe::enumeration<Colour>("colour", {{Colour::red, "red"}, {Colour::light_blue, "light-blue"}});
  return e;
}

struct Wheel {
  std::int64_t size = 7;
  std::string name;
};
const describe::Structure& description(describe::Tag<Wheel>) {
  static const auto s = describe::Builder<Wheel>("wheel", "A wheel.")
                            .label<&Wheel::name>("name", "Name", "Its name.")
                            .attribute<&Wheel::size>("size", "Size", "Its size.")
                            .done();
  return s;
}

struct Cart {
  bool open = false;
  double weight = 1.5;
  Duration wait = std::chrono::seconds(5);
  Colour colour = Colour::red;
  std::optional<Wheel> spare;
  std::vector<Wheel> wheels;
  std::map<std::string, std::string> meta;
  boost::json::value config;
};
const describe::Structure& description(describe::Tag<Cart>) {
  static const auto s = describe::Builder<Cart>("cart", "A cart.")
                            .attribute<&Cart::open>("open", "Open", "")
                            .attribute<&Cart::weight>("weight", "Weight", "")
                            .attribute<&Cart::wait>("wait", "Wait", "")
                            .attribute<&Cart::colour>("colour", "Colour", "")
                            .block<&Cart::spare>("spare", "Spare", "")
                            .block<&Cart::wheels>("wheel", "Wheels", "")
                            .block_or_attribute<&Cart::meta>("meta", "Meta", "")
                            .block_or_attribute<&Cart::config>("config", "Config", "")
                            .done();
  return s;
}

Cart sample() {
  Cart cart;
  cart.colour = Colour::light_blue;
  cart.spare = Wheel{9, "s\"\n\x01"};
  cart.wheels = {{7, "a"}, {8, "b"}};
  cart.meta = {{"k", "v"}};
  cart.config = {{"args", {1, "x"}}};
  return cart;
}

TEST(Json, WritesEveryFieldUnderItsWireName) {
  EXPECT_EQ(
      json::encode(sample()),
      R"({"Open":false,"Weight":1.5,"Wait":5000000000,"Colour":"light-blue","Spare":{"Name":"s\"\n\u0001","Size":9},)"
      R"("Wheels":[{"Name":"a","Size":7},{"Name":"b","Size":8}],"Meta":{"k":"v"},"Config":{"args":[1,"x"]}})");
}

TEST(Json, CompactLeavesDefaultsOutAndIsReadBackEqual) {
  const Cart cart = sample();
  const std::string text = json::encode(cart, json::Encoding::compact);
  EXPECT_EQ(text.find("Weight"), std::string::npos);
  EXPECT_TRUE(describe::equal(json::decode_text<Cart>(text), cart));
  EXPECT_EQ(json::encode(Cart{}, json::Encoding::compact), "{}");
}

TEST(Json, KeepsDefaultsForMissingNullAndUnknownKeys) {
  const auto cart = json::decode_text<Cart>(R"({"new":1,"weight":2,"Wait":"1m","Spare":null,"Wheels":null})");
  EXPECT_EQ(cart.weight, 2.0);  // other case than the wire's, as Go accepts
  EXPECT_EQ(cart.wait, std::chrono::minutes(1));
  EXPECT_FALSE(cart.spare.has_value());
  EXPECT_TRUE(cart.wheels.empty());
}

TEST(Json, NamesThePathOfWhatIsWrong) {
  struct Case {
    const char* text;
    const char* expect;
  };
  const std::vector<Case> cases = {
      {R"({"Wheels":[{"Size":1},{"Size":"x"}]})", "Wheels[1].Size: expected an integer: found \"x\""},
      {R"({"Colour":"green"})", "Colour: expected one of red, light-blue: found \"green\""},
      {R"({"Meta":{"a":1}})", "Meta[\"a\"]: expected a string: found 1"},
      {R"({"Wait":"soon"})", "Wait: expected a duration like \"30s\" or an integer of nanoseconds: found \"soon\""},
      {R"([1])", "document: expected an object: found [1]"},
      {"{\n  \"Open\": tru }", "the text is not JSON, line 2, column 11: syntax error"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    try {
      json::decode_text<Cart>(c.text);
      ADD_FAILURE() << "accepted";
    } catch (const Error& e) {
      EXPECT_EQ(e.one_line(), c.expect);
      EXPECT_EQ(e.code(), Code::invalid);
    }
  }
}

TEST(Json, RefusesDeepNestingInsteadOfRecursingForever) { EXPECT_THROW(json::parse(std::string(100'000, '[')), Error); }

TEST(Describe, EqualComparesMapsListsAndOptionals) {
  Cart a = sample(), b = sample();
  EXPECT_TRUE(describe::equal(a, b));
  b.meta["k"] = "w";
  EXPECT_FALSE(describe::equal(a, b));
  b = sample();
  b.spare.reset();
  EXPECT_FALSE(describe::equal(a, b));
}

}  // namespace
}  // namespace underway
