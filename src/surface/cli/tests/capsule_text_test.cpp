#include "cli/capsule/text.hpp"

#include <gtest/gtest.h>

namespace underway::cli {
namespace {

TEST(CapsuleText, NamesWhoWouldTakeOverAndNobodyElse) {
  model::Capsule capsule;
  capsule.name = "slurm-services";
  capsule.owner_name = "sms2";
  capsule.standby = "1";
  capsule.replicas = {{"1", "sms1", 0, 3}, {"3", "sms3", 0, 4}};
  const auto standby = [&](const model::CapsuleSuccessor& successor) {
    capsule.successor = successor;
    return standby_in_words(capsule);
  };
  EXPECT_EQ(standby({"1", "sms1", ""}), "sms1");
  EXPECT_NE(capsule_text(capsule).find("standby"), std::string::npos) << "its copy is marked";
  EXPECT_EQ(standby({"3", "sms3", "sms1 is not heard of"}), "sms3 would take over: sms1 is not heard of");
  EXPECT_EQ(standby({"", "", "sms1 is not heard of"}), "none: sms1 is not heard of");
  EXPECT_EQ(capsule_text(capsule).find("standby"), std::string::npos) << capsule_text(capsule);
}

}  // namespace
}  // namespace underway::cli
