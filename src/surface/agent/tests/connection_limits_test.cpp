#include "agent/config/connection_limits.hpp"

#include <gtest/gtest.h>

namespace underway::agent {
namespace {

TEST(ConnectionLimits, LeaveDescriptorsToTheServerItselfAndToRoot) {
  for (const std::size_t descriptors : {256U, 1024U, 4096U, 1'048'576U}) {
    const auto limits = connection_limits(descriptors);
    EXPECT_LE(limits.api + 2 * limits.tasks, descriptors - descriptors / 4) << descriptors;
  }
  EXPECT_EQ(connection_limits(1'048'576).api, 20'000U);
  EXPECT_EQ(connection_limits(1'048'576).tasks, 4096U);
}

}  // namespace
}  // namespace underway::agent
