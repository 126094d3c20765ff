#include "base/json/projection.hpp"

#include "base/json/json.hpp"

namespace underway {
namespace {

struct Ship {
  std::string name;
  std::int64_t tonnes = 0;
  std::vector<std::string> crew;
  std::string secret;

  bool manned() const { return !crew.empty(); }
};

std::string first_of(const Ship& ship) { return ship.crew.empty() ? std::string() : ship.crew.front(); }

/// A ship in a list.
struct ShipStub {
  std::string id;
  std::optional<std::int64_t> tonnes;
  bool manned = false;
  std::string captain;
  std::string harbour = "unknown";
};
const describe::Projection<Ship>& description(describe::Tag<ShipStub>) {
  static const auto s = describe::Projector<ShipStub, Ship>("ship stub", "A ship in a list.")
                            .from<&ShipStub::id, &Ship::name>("ID", "Its name.")
                            .from<&ShipStub::tonnes, &Ship::tonnes>("Tonnes", "What it carries.")
                            .from<&ShipStub::manned, &Ship::manned>("Manned", "Whether somebody is aboard.")
                            .from<&ShipStub::captain, first_of>("Captain", "Who is in charge.")
                            .wire<&ShipStub::harbour>("Harbour", "Where it lies.")
                            .done();
  return s;
}

TEST(Projection, ShowsMembersOfItsSourceAndWhatFunctionsMakeOfIt) {
  const Ship ship{.name = "Argo", .tonnes = 40, .crew = {"Jason", "Orpheus"}, .secret = "fleece"};
  auto stub = describe::project<ShipStub>(ship);
  EXPECT_EQ(stub.id, "Argo");
  EXPECT_EQ(stub.tonnes, 40);
  EXPECT_TRUE(stub.manned);
  EXPECT_EQ(stub.captain, "Jason");
  EXPECT_EQ(stub.harbour, "unknown") << "nothing says what it comes from";
}

TEST(Projection, IsADescriptionLikeAllOthers) {
  auto stub = describe::project<ShipStub>(Ship{.name = "Argo"});
  stub.harbour = "Iolcos";
  EXPECT_EQ(json::encode(stub), R"({"ID":"Argo","Tonnes":0,"Manned":false,"Captain":"","Harbour":"Iolcos"})");
  EXPECT_EQ(json::decode_text<ShipStub>(json::encode(stub)).harbour, "Iolcos");
  EXPECT_EQ(describe::structure_of<ShipStub>().find_json("Captain")->doc, "Who is in charge.");
}

}  // namespace
}  // namespace underway
