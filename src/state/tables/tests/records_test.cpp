#include "tables/records.hpp"

#include "world.hpp"

namespace underway::tables {

/// A row that the tables know nothing of.
struct Boat {
  std::string name;
  std::int64_t crew = 0;
  model::Revision modify_index = 0;
};
const describe::Structure& description(describe::Tag<Boat>) {
  static const describe::Structure s = describe::Builder<Boat>("boat", "A row of a test.")
                                           .wire<&Boat::name>("Name", "Its name.")
                                           .wire<&Boat::crew>("Crew", "Who rows.")
                                           .done();
  return s;
}
template <>
struct RecordOf<Boat> {
  static constexpr std::string_view kind = "boat";
  static std::string name(const Boat& boat) { return boat.name; }
};

namespace {

TEST(Records, AreReadAsTheirType) {
  World world;
  world.put(put_record(Boat{"ketch", 4}), put_record(Boat{"cutter", 6}),
            PutRecord{{.kind = "boathouse", .name = "x", .body = {}}});
  const auto found = find_record<Boat>(world.tables, "ketch");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->crew, 4);
  EXPECT_EQ(found->modify_index, 1);
  EXPECT_FALSE(find_record<Boat>(world.tables, "sloop"));
  const auto all = records<Boat>(world.tables);
  ASSERT_EQ(all.size(), 2u) << "other kinds do not count, whatever they begin with";
  EXPECT_EQ(all[0].name, "cutter");
  world.put(delete_record<Boat>("ketch"));
  EXPECT_EQ(records<Boat>(world.tables).size(), 1u);
}

TEST(Records, WakeThoseWhoWaitForThem) {
  World world;
  world.put(put_record(Boat{"ketch", 4}));
  int woken = 0;
  const auto waiter = world.tables.wait({record_scope<Boat>("ketch")}, [&] { ++woken; });
  world.put(put_record(Boat{"cutter", 6}));
  world.tables.publish();
  EXPECT_EQ(woken, 0);
  world.put(put_record(Boat{"ketch", 5}));
  world.tables.publish();
  EXPECT_EQ(woken, 1);
}

TEST(Records, ThatCannotBeReadSayWhatTheyAre) {
  World world;
  world.put(PutRecord{{.kind = "boat", .name = "ketch", .body = {{"Crew", "many"}}}});
  try {
    find_record<Boat>(world.tables, "ketch");
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_NE(error.one_line().find("boat"), std::string::npos) << error.one_line();
  }
}

}  // namespace
}  // namespace underway::tables
