#include "jobspec/decode.hpp"

#include "base/json/json.hpp"
#include "hcl/parse/parser.hpp"

namespace underway::jobspec {

enum class Colour { red, green };

struct Wheel {
  std::string name;
  std::int64_t size = 20;
};

struct Engine {
  double power = 1;
  std::string fuel;
};

struct Car {
  std::string maker;
  bool fast = false;
  std::int64_t doors = 4;
  double length = 0;
  Duration warranty{0};
  Colour colour = Colour::red;
  std::optional<std::int64_t> year;
  std::vector<std::string> owners;
  std::map<std::string, std::string> tags;
  std::map<std::string, std::int64_t> limits;
  boost::json::value extra;
  Engine engine;
  std::optional<Engine> spare;
  std::vector<Wheel> wheels;
  std::map<std::string, Wheel> lamps;
};

const describe::Enumeration& description(describe::Tag<Colour>) {
  static const describe::Enumeration e = describe::enumeration<Colour>("colour");
  return e;
}
const describe::Structure& description(describe::Tag<Wheel>) {
  static const describe::Structure s = describe::Builder<Wheel>("wheel", "A wheel.")
                                           .label<&Wheel::name>("name", "Name", "Which.")
                                           .attribute<&Wheel::size>("size", "Size", "Inches.")
                                           .done();
  return s;
}
const describe::Structure& description(describe::Tag<Engine>) {
  static const describe::Structure s = describe::Builder<Engine>("engine", "An engine.")
                                           .attribute<&Engine::power>("power", "Power", "kW.")
                                           .attribute<&Engine::fuel>("fuel", "Fuel", "What it burns.")
                                           .required()
                                           .done();
  return s;
}
const describe::Structure& description(describe::Tag<Car>) {
  static const describe::Structure s =
      describe::Builder<Car>("car", "A car.")
          .label<&Car::maker>("maker", "Maker", "Who made it.")
          .attribute<&Car::fast>("fast", "Fast", "Whether it is one for races.")
          .attribute<&Car::doors>("doors", "Doors", "How many it has.")
          .attribute<&Car::length>("length", "Length", "Metres.")
          .attribute<&Car::warranty>("warranty", "Warranty", "How long its maker stands for it.")
          .attribute<&Car::colour>("colour", "Colour", "What it is painted in.")
          .attribute<&Car::year>("year", "Year", "When it was made; absent: not known.")
          .attribute<&Car::owners>("owners", "Owners", "Who had it, oldest first.")
          .block_or_attribute<&Car::tags>("tags", "Tags", "Free pairs.")
          .attribute<&Car::limits>("limits", "Limits", "Numbers, by what they bound.")
          .block_or_attribute<&Car::extra>("extra", "Extra", "Anything.")
          .block<&Car::engine>("engine", "Engine", "What drives it.")
          .block<&Car::spare>("spare", "Spare", "A second engine; absent: none.")
          .block<&Car::wheels>("wheel", "Wheels", "What it goes on.")
          .block<&Car::lamps>("lamp", "Lamps", "By where they are.")
          .done();
  return s;
}

namespace {

struct Outcome {
  Car car;
  std::string json;
  std::string errors;
};

Outcome read(std::string text, const Dialect& dialect = {}) {
  hcl::Diagnostics diagnostics;
  const hcl::Body body = hcl::parse(std::move(text), "car.hcl", diagnostics);
  hcl::Context context;
  context.functions(hcl::pure_functions()).unknown_roots(hcl::UnknownRoots::keep);
  context.set("var", hcl::Value::object({{"n", hcl::Value(5)}}));
  Outcome out;
  out.car = decode<Car>(body, context, diagnostics, dialect);
  out.json = json::encode(out.car, json::Encoding::compact);
  out.errors = diagnostics.render();
  return out;
}

TEST(Decode, ReadsEveryKindOfField) {
  struct Case {
    const char* text;
    const char* json;
  };
  const Case cases[] = {
      {"", "{}"},
      {"fast = true", R"({"Fast":true})"},
      {"fast = \"true\"", R"({"Fast":true})"},
      {"doors = var.n + 1", R"({"Doors":6})"},
      {"doors = \"3\"", R"({"Doors":3})"},
      {"doors = null", "{}"},
      {"length = 4.5", R"({"Length":4.5})"},
      {"warranty = \"1m30s\"", R"({"Warranty":90000000000})"},
      {"warranty = 5", R"({"Warranty":5})"},
      {"colour = \"green\"", R"({"Colour":"green"})"},
      {"year = 1999", R"({"Year":1999})"},
      {"owners = [\"a\", 2]", R"({"Owners":["a","2"]})"},
      {"tags { a = 1 }", R"({"Tags":{"a":"1"}})"},
      {"tags = { \"odd.key\" = \"b\" }", R"({"Tags":{"odd.key":"b"}})"},
      {"limits = { a = 1 }", R"({"Limits":{"a":1}})"},
      {"extra { a = 1\n b { c = [true] } }", R"({"Extra":{"a":1,"b":[{"c":[true]}]}})"},
      {"extra = { a = { b = null } }", R"({"Extra":{"a":{"b":null}}})"},
      {"engine { fuel = \"x\" }", R"({"Engine":{"Fuel":"x"}})"},
      {"spare {\n power = 2\n fuel = \"x\" }", R"({"Spare":{"Power":2,"Fuel":"x"}})"},
      {"wheel \"a\" {}\nwheel \"b\" { size = 1 }", R"({"Wheels":[{"Name":"a"},{"Name":"b","Size":1}]})"},
      {"lamp \"l\" { size = 1 }", R"({"Lamps":{"l":{"Name":"l","Size":1}}})"},
      {"tags { a = \"${attr.x.y}\" }", R"({"Tags":{"a":"${attr.x.y}"}})"},
      // The same in HCL-JSON.
      {R"({"fast": true, "doors": 2, "owners": ["a"], "warranty": "1s"})",
       R"({"Fast":true,"Doors":2,"Warranty":1000000000,"Owners":["a"]})"},
      {R"({"tags": {"odd.key": "b"}, "extra": {"a": [1]}})", R"({"Tags":{"odd.key":"b"},"Extra":{"a":[1]}})"},
      {R"({"wheel": {"a": {"size": 1}, "b": {}}})", R"({"Wheels":[{"Name":"a","Size":1},{"Name":"b"}]})"},
      {R"({"engine": {"fuel": "${attr.x}"}})", R"({"Engine":{"Fuel":"${attr.x}"}})"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    const Outcome out = read(c.text);
    EXPECT_EQ(out.errors, "");
    EXPECT_EQ(out.json, c.json);
  }
}

TEST(Decode, SaysWhatIsWrongAndWhere) {
  struct Case {
    const char* text;
    const char* errors;
  };
  const Case cases[] = {
      {"dors = 3",
       "error: unknown attribute 'dors' in car\n  at:    car.hcl:1:1\n       1 | dors = 3\n         | ^^^^\n"
       "  do:    write 'doors'\n"},
      {"doors = \"many\"",
       "error: 'doors' must be an integer\n  at:    car.hcl:1:9\n       1 | doors = \"many\"\n"
       "         |         ^^^^^^\n  why:   it is \"many\"\n"},
      {"doors = 1.5",
       "error: 'doors' must be an integer\n  at:    car.hcl:1:9\n       1 | doors = 1.5\n         |         ^^^\n"
       "  why:   it is 1.5\n"},
      {"doors = 9223372036854775808",
       "error: 'doors' must be an integer below 2^63\n  at:    car.hcl:1:9\n       1 | doors = 9223372036854775808\n"
       "         |         ^^^^^^^^^^^^^^^^^^^\n  why:   it is 9223372036854775808\n"},
      {"colour = \"gren\"",
       "error: 'colour' must be one of red, green\n  at:    car.hcl:1:10\n       1 | colour = \"gren\"\n"
       "         |          ^^^^^^\n  why:   it is \"gren\"\n  do:    write 'green'\n"},
      {"warranty = \"soon\"",
       "error: 'warranty' must be a duration like \"30s\" or \"1h15m\"\n  at:    car.hcl:1:12\n"
       "       1 | warranty = \"soon\"\n         |            ^^^^^^\n  why:   it is \"soon\"\n"},
      {"owners = \"me\"",
       "error: 'owners' must be a list\n  at:    car.hcl:1:10\n       1 | owners = \"me\"\n         |          ^^^^\n"
       "  why:   it is \"me\"\n"},
      {"owners = [\"a\", [1]]",
       "error: 'owners'[1] must be a string\n  at:    car.hcl:1:10\n       1 | owners = [\"a\", [1]]\n"
       "         |          ^^^^^^^^^^\n  why:   it is [1]\n"},
      {"engine {\n  fuel = \"a\"\n}\nengine {\n  fuel = \"b\"\n}",
       "error: a second 'engine' in car\n  at:    car.hcl:4:1\n       4 | engine {\n         | ^^^^^^\n"
       "  why:   the first is at car.hcl:1:1\n  do:    join the two\n"},
      {"lamp \"a\" {}\nlamp \"a\" {}",
       "error: a second 'lamp' \"a\"\n  at:    car.hcl:2:1\n       2 | lamp \"a\" {}\n         | ^^^^^^^^\n"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(read(c.text).errors, c.errors);
  }
}

TEST(Decode, ReportsEveryErrorOfABodyAtOnce) {
  const Outcome out = read("dors = 3\nfast = 7\nengine {}\nwheel {}\ncolour = \"blue\"\n");
  for (const char* part : {"unknown attribute 'dors'", "'fast' must be true or false", "fuel", "wheel", "'colour'"})
    EXPECT_NE(out.errors.find(part), std::string::npos) << part << "\n" << out.errors;
}

TEST(Decode, RefusesNamesInBothForms) {
  const Dialect dialect = {{"car", {.refused = {{"turbo", "there is no air"}}}}};
  EXPECT_EQ(read("turbo = true", dialect).errors,
            "error: `turbo` is not supported\n  at:    car.hcl:1:1\n       1 | turbo = true\n         | ^^^^^\n"
            "  why:   there is no air\n"
            "  do:    remove `turbo`\n");
  EXPECT_NE(read("turbo \"a\" \"b\" {\n  x {}\n}", dialect).errors.find("`turbo` is not supported"), std::string::npos);
  EXPECT_NE(read(R"({"turbo": {"a": 1}})", dialect).errors.find("`turbo` is not supported"), std::string::npos);
}

TEST(Decode, LetsADialectPrepareAndFinishObjects) {
  Dialect dialect;
  dialect["engine"].prepare = [](void* object) { static_cast<Engine*>(object)->power = 99; };
  dialect["wheel"].attributes = {"inches"};
  dialect["wheel"].finish = [](void* object, const Site& site) {
    if (const auto* attribute = site.content.find("inches"))
      decode_value(*attribute->expression.evaluate(site.context, site.diagnostics), describe::kType<std::int64_t>,
                   &static_cast<Wheel*>(object)->size, attribute->range, "'inches'", site.diagnostics);
  };
  const Outcome out = read("engine { fuel = \"x\" }\nwheel \"a\" { inches = 7 }", dialect);
  EXPECT_EQ(out.errors, "");
  EXPECT_EQ(out.car.engine.power, 99);
  EXPECT_EQ(out.car.wheels.at(0).size, 7);
}

}  // namespace
}  // namespace underway::jobspec
