#include "net/nftables.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace underway::net {
namespace {

TEST(Nftables, AMasqueradeTableIsSetReplacedAndRemoved) {
  const auto in = Namespace::create("router");
  const std::vector<Cidr> sources = {*parse_cidr("10.77.0.0/24"), *parse_cidr("10.78.0.0/24")};
  set_masquerade(in, "underway_bed", sources);
  set_masquerade(in, "underway_bed", sources);
  EXPECT_EQ(list_tables(in), std::vector<std::string>{"underway_bed"});
  const auto rules = run_nftables(in, R"({"nftables":[{"list":{"table":{"family":"ip","name":"underway_bed"}}}]})");
  std::size_t masquerades = 0;
  for (auto at = rules.find("masquerade"); at != std::string::npos; at = rules.find("masquerade", at + 1))
    ++masquerades;
  EXPECT_EQ(masquerades, 2U) << rules;
  EXPECT_TRUE(remove_table(in, "underway_bed"));
  EXPECT_FALSE(remove_table(in, "underway_bed"));
  EXPECT_TRUE(list_tables(in).empty());
}

TEST(Nftables, ARefusalCarriesTheLibrarysMessage) {
  const auto in = Namespace::create("router");
  try {
    run_nftables(in, R"({"nftables":[{"delete":{"table":{"family":"ip","name":"absent"}}}]})");
    ADD_FAILURE() << "deleted a table that is not there";
  } catch (const Error& e) {
    EXPECT_NE(e.one_line().find("No such file"), std::string::npos) << e.text();
    EXPECT_NE(e.message().find("router"), std::string::npos);
  }
}

}  // namespace
}  // namespace underway::net
