#include "cli/cluster/status_code.hpp"

#include <gtest/gtest.h>

#include "cli/command.hpp"

namespace underway::cli {
namespace {

TEST(StatusCode, TellsWhetherSomethingNeedsSomebodyAndWhetherAServiceIsAway) {
  wire::Status status;
  EXPECT_EQ(code_of(status), kDone);
  auto& service = status.services.emplace_back();
  service.wanted = 2;
  EXPECT_EQ(code_of(status), kDone) << "it starts: nobody is needed";
  status.attention.push_back({"an allocation of 'web' failed", "exit code 1", "underway alloc status 1"});
  EXPECT_EQ(code_of(status), kServiceAway);
  service.healthy = 1;
  EXPECT_EQ(code_of(status), kFailed);
  status.attention.clear();
  status.writable = false;
  EXPECT_EQ(code_of(status), kFailed);
}

}  // namespace
}  // namespace underway::cli
