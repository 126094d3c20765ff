// Numbers on both sides of a user namespace.
#include "os/process/id_map.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"

namespace underway::os {
namespace {

TEST(IdMap, IsReadAsTheKernelWritesItAndWrittenAsItReadsIt) {
  const auto map = parse_id_map("         0     524288      65535\n     65535       1000          1\n");
  EXPECT_EQ(map, (IdMap{{0, 524288, 65535}, {65535, 1000, 1}}));
  EXPECT_EQ(to_text(map), "0 524288 65535\n65535 1000 1\n");
  EXPECT_TRUE(parse_id_map("").empty());
  EXPECT_THROW(parse_id_map("0 524288"), Error);
  EXPECT_THROW(parse_id_map("0 5 4294967296"), Error);
}

TEST(IdMap, TellsWhatTheParentCallsANumber) {
  const IdMap map = {{0, 524288, 65535}, {65535, 1000, 1}};
  EXPECT_EQ(find_outside(map, 0), 524288U);
  EXPECT_EQ(find_outside(map, 65534), 589822U);
  EXPECT_EQ(find_outside(map, 65535), 1000U);
  EXPECT_EQ(find_outside(map, 65536), std::nullopt);
  EXPECT_FALSE(is_identity(map));
  EXPECT_TRUE(is_identity({{0, 0, 4294967295}}));
}

}  // namespace
}  // namespace underway::os
