#include "base/json/json.hpp"

#include "base/error.hpp"
#include "base/json/json_member.hpp"

namespace underway {
namespace {

enum class Colour { red, light_blue };
const describe::Enumeration& description(describe::Tag<Colour>) {
  static const auto e = describe::enumeration<Colour>("colour", {{Colour::light_blue, "light-blue"}});
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

/// Flat here, nested on the wire.
struct Journey {
  std::string name;
  std::int64_t near = 0;
  std::int64_t far = 0;
  std::int64_t left_at = 0;
  std::int64_t stops = 0;
};
const describe::Structure& description(describe::Tag<Journey>) {
  static const auto s = describe::Builder<Journey>("journey", "A journey.")
                            .wire<&Journey::name>("Name", "What it is called.")
                            .wire<&Journey::near>("Way.Near", "Kilometres to the nearest stop.")
                            .wire<&Journey::far>("Way.Far", "Kilometres to the farthest stop.")
                            .wire<&Journey::left_at>("LeftAt", "When it began.")
                            .time()
                            .wire<&Journey::stops>("Rest.Stops", "How many stops there are.")
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
                            .attribute<&Cart::open>("open", "Open", "Whether it has no roof.")
                            .attribute<&Cart::weight>("weight", "Weight", "Kilograms.")
                            .attribute<&Cart::wait>("wait", "Wait", "How long it stands before it goes on.")
                            .attribute<&Cart::colour>("colour", "Colour", "What it is painted in.")
                            .block<&Cart::spare>("spare", "Spare", "The wheel that it carries; absent: none.")
                            .block<&Cart::wheels>("wheel", "Wheels", "The wheels that it goes on.")
                            .block_or_attribute<&Cart::meta>("meta", "Meta", "Free pairs.")
                            .block_or_attribute<&Cart::config>("config", "Config", "Anything.")
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

TEST(JsonNames, AreMatchedAsGoFoldsThem) {
  struct Case {
    const char* key;
    const char* name;
    bool same;
  };
  const std::vector<Case> cases = {{"Job", "Job", true},
                                   {"job", "Job", true},
                                   {"JOBMODIFYINDEX", "JobModifyIndex", true},
                                   {"ta\xc5\xbfks", "Tasks", true},      // long s
                                   {"Tas\xe2\x84\xaas", "Tasks", true},  // the Kelvin sign
                                   {"jobs", "Job", false},
                                   {"jo", "Job", false},
                                   {"", "Job", false},
                                   {"J\u00f6b", "Job", false},
                                   {"job_modify_index", "JobModifyIndex", false}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.key);
    EXPECT_EQ(json::names_field(c.key, c.name), c.same);
  }
}

TEST(JsonNames, OfStructsAreFoldedAndThoseOfMapsAreNot) {
  const auto document = json::parse(R"({"META":{"Key":"1","key":"2"},"config":{"Args":[1],"args":[2]},"open":true,)"
                                    R"("\u017fpare":{"\u017fize":3}})");
  const auto cart = json::decode<Cart>(document);
  EXPECT_EQ(cart.meta, (std::map<std::string, std::string>{{"Key", "1"}, {"key", "2"}}));
  EXPECT_EQ(cart.config, document.at("config"));
  EXPECT_TRUE(cart.open);
  EXPECT_EQ(cart.spare->size, 3);
  EXPECT_EQ(json::decode_text<Journey>(R"({"way":{"near":4},"WAY":{"FAR":5}})").far, 5);
}

TEST(JsonNames, OfSeveralTheLastCounts) {
  const auto object = json::parse(R"({"Job":1,"other":2,"job":3})").as_object();
  EXPECT_EQ(json::find_member(object, "Job")->as_int64(), 3);
  EXPECT_EQ(json::find_member(object, "Jobs"), nullptr);
  EXPECT_EQ(json::decode_text<Wheel>(R"({"Size":1,"size":2})").size, 2);
}

TEST(Json, KeepsDefaultsForEmptyWordsOfGoClients) {
  const auto cart = json::decode_text<Cart>(R"({"Wait":"","Colour":""})");
  EXPECT_EQ(cart.wait, Cart{}.wait);
  EXPECT_EQ(cart.colour, Cart{}.colour);
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

TEST(Json, NestsWhatTheWireNests) {
  const Journey journey{"west", 1, 2, 1'700'000'000'500'000'000, 3};
  const std::string text = json::encode(journey);
  EXPECT_EQ(text, R"({"Name":"west","Way":{"Near":1,"Far":2},"LeftAt":"2023-11-14T22:13:20.5Z","Rest":{"Stops":3}})");
  EXPECT_TRUE(describe::equal(json::decode_text<Journey>(text), journey));
  EXPECT_EQ(json::encode(Journey{"", 0, 2, 0, 0}, json::Encoding::compact), R"({"Way":{"Far":2}})");
  EXPECT_EQ(json::encode(Journey{}, json::Encoding::compact), "{}");
}

TEST(Json, ReadsNestedKeysInAnyOrderAndNamesThePathOfWhatIsWrong) {
  const auto journey = json::decode_text<Journey>(R"({"rest":{"stops":3,"Other":1},"Way":{"Far":2,"Near":null}})");
  EXPECT_EQ(journey.stops, 3);
  EXPECT_EQ(journey.far, 2);
  try {
    json::decode_text<Journey>(R"({"Way":{"Far":"x"}})");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "Way.Far: expected an integer");
  }
}

TEST(Json, WritesAndReadsTimesAsGoDoes) {
  EXPECT_NE(json::encode(Journey{}).find(R"("LeftAt":"0001-01-01T00:00:00Z")"), std::string::npos);
  EXPECT_EQ(json::decode_text<Journey>(R"({"LeftAt":"0001-01-01T00:00:00Z"})").left_at, 0);
  EXPECT_EQ(json::decode_text<Journey>(R"({"LeftAt":5})").left_at, 5);
  EXPECT_THROW(json::decode_text<Journey>(R"({"LeftAt":"noon"})"), Error);
}

TEST(Json, TakesNullForAListAndAMapWithoutElements) {
  EXPECT_TRUE(json::decode_text<std::vector<std::int64_t>>("null").empty());
  EXPECT_TRUE((json::decode_text<std::map<std::string, std::string>>("null").empty()));
  EXPECT_THROW(json::decode_text<std::vector<Wheel>>("[null]"), Error) << "of structs there is none that is nothing";
}

TEST(JsonString, EscapesWhatTheStandardAsksFor) {
  std::string out;
  json::append_string(out, "\"\\\n\t\r\b\x01/<é\u2028");
  EXPECT_EQ(out, "\"\\\"\\\\\\n\\t\\r\\u0008\\u0001/<é\u2028\"");
}

TEST(JsonString, OfGoIsSafeWithinAPage) {
  std::string out;
  json::append_go_string(out, "\"\\\n\b\f\x01/<>&é\u2028\u2029\xff");
  EXPECT_EQ(out, R"("\"\\\n\b\f\u0001/\u003c\u003e\u0026é\u2028\u2029\ufffd")");
  out.clear();
  json::append_go_string(out, "<a>", false);
  EXPECT_EQ(out, "\"<a>\"");
}

}  // namespace
}  // namespace underway
