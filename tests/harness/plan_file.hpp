#pragma once
/// @file
/// PLAN.md of `underway survey adopt`, as somebody reads it who types what it says.

#include <string>
#include <vector>

namespace underway::harness {

/// Lines to be typed at one place, one after the other.
struct TypedLines {
  std::string where;  ///< what the comment above them says: "on sms; stay logged in by another interface"
  std::vector<std::string> lines;

  /// The host of `hosts` that `where` names; empty: the management side.
  std::string host(const std::vector<std::string>& hosts) const;
  /// A script that goes on only while lines succeed, and says which one did not.
  std::string script() const;
};

struct PlanStep {
  std::string title;
  std::vector<TypedLines> commands, back;
};

/// The steps of the plan's text.
std::vector<PlanStep> read_plan_steps(const std::string& text);
/// The one whose title begins so; throws when there is none.
const PlanStep& find_step(const std::vector<PlanStep>& steps, const std::string& title);

}  // namespace underway::harness
