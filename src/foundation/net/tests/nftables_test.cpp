#include "net/nftables.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.hpp"
#include "os/file.hpp"

namespace underway::net {
namespace {

constexpr const char* kList = R"({"nftables":[{"list":{"tables":{"family":"ip"}}}]})";

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

TEST(Nftables, ARefusalCarriesWhatNftSays) {
  const auto in = Namespace::create("router");
  try {
    run_nftables(in, R"({"nftables":[{"delete":{"table":{"family":"ip","name":"absent"}}}]})");
    ADD_FAILURE() << "deleted a table that is not there";
  } catch (const Error& e) {
    EXPECT_NE(e.one_line().find("No such file"), std::string::npos) << e.text();
    EXPECT_NE(e.message().find("router"), std::string::npos);
  }
}

TEST(Nftables, WhatIsNoRulesetIsRefused) {
  const auto in = Namespace::create("router");
  for (const char* document : {"no ruleset", R"({"nftables":[{"add")", R"({"nftables":[{"frob":{}}]})"}) {
    try {
      run_nftables(in, document);
      ADD_FAILURE() << "nft took " << document;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::invalid) << e.text();
      ASSERT_EQ(e.reasons().size(), 1U);
      EXPECT_NE(e.reasons()[0].find("Error: "), std::string::npos) << e.text();
      EXPECT_EQ(e.reasons()[0].find('\n'), std::string::npos) << e.text();
    }
  }
}

TEST(Nftables, ADocumentIsDoneAsAWholeOrNotAtAll) {
  const auto in = Namespace::create("router");
  EXPECT_THROW(run_nftables(in, R"({"nftables":[{"add":{"table":{"family":"ip","name":"first"}}},)"
                                R"({"delete":{"table":{"family":"ip","name":"absent"}}}]})"),
               Error);
  EXPECT_TRUE(list_tables(in).empty());
}

TEST(Nftables, AMachineWithoutNftIsToldWhichPackageHasIt) {
  const auto in = Namespace::create("router");
  EXPECT_TRUE(is_installed());
  for (const char* path : {"", "/nonexistent"}) {
    EXPECT_FALSE(is_installed({.path = path}));
    try {
      run_nftables(in, kList, {.path = path});
      ADD_FAILURE() << "there is an nft in '" << path << "'";
    } catch (const Error& e) {
      // not_found would tell whoever undoes a table that there is none.
      EXPECT_EQ(e.code(), Code::unsupported) << e.text();
      EXPECT_NE(e.message().find("router"), std::string::npos) << e.text();
      EXPECT_NE(e.one_line().find("nft'"), std::string::npos) << e.text();
      EXPECT_EQ(e.advice(), "install the package nftables");
    }
  }
}

TEST(Nftables, AnNftThatDoesNotEndIsKilledAtItsDeadline) {
  const auto in = Namespace::create("router");
  std::string directory = "/tmp/underway-nft-XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  os::write_file(directory + "/nft", "#!/bin/sh\nexec /bin/sleep 60\n", 0755);
  const auto before = std::chrono::steady_clock::now();
  try {
    run_nftables(in, kList, {.path = directory, .within = std::chrono::milliseconds{100}});
    ADD_FAILURE() << "it ended";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::timeout) << e.text();
    EXPECT_NE(e.text().find("network namespace 'router'"), std::string::npos) << e.text();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds{30});
  os::remove_tree(directory);
}

}  // namespace
}  // namespace underway::net
