#include "cli/impact/order.hpp"

namespace underway::cli {
namespace {

using Dependencies = std::vector<std::pair<std::string, std::vector<std::string>>>;

std::string drawn(const Dependencies& dependencies) {
  std::vector<wire::ServiceStatus> services;
  for (const auto& [id, on] : dependencies) {
    auto& service = services.emplace_back();
    service.id = id;
    service.depends_on = on;
  }
  std::string text;
  for (const auto& branch : draw_order(services)) text += branch.lines + branch.service->id + "\n";
  return text;
}

TEST(Order, EachServiceStandsBelowWhatLetsItStartLast) {
  EXPECT_EQ(drawn({{"chronyd", {}},
                   {"mariadb", {}},
                   {"munge", {}},
                   {"slurmctld", {"munge", "slurmdbd"}},
                   {"slurmd", {"munge", "slurmctld"}},
                   {"slurmdbd", {"mariadb", "munge"}},
                   {"web", {"munge"}}}),
            "chronyd\n"
            "mariadb\n"
            "└ slurmdbd\n"
            "  └ slurmctld\n"
            "    └ slurmd\n"
            "munge\n"
            "└ web\n");
}

TEST(Order, SiblingsAreJoined) {
  EXPECT_EQ(drawn({{"a", {}}, {"b", {"a"}}, {"c", {"b"}}, {"d", {"a"}}}),
            "a\n"
            "├ b\n"
            "│ └ c\n"
            "└ d\n");
}

TEST(Order, WhatDoesNotExistOrLeadsInACircleHidesNobody) {
  EXPECT_EQ(drawn({{"a", {"gone"}}, {"b", {"c"}}, {"c", {"b"}}}).size(), std::string("a\nb\n└ c\n").size());
  EXPECT_EQ(drawn({}), "");
}

}  // namespace
}  // namespace underway::cli
