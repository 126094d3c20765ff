#include "cli/migrate/text.hpp"

#include <algorithm>
#include <chrono>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/job/diff_text.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {

using migrate::Action;
using migrate::Kind;
using migrate::Plan;
using migrate::Step;

namespace {

constexpr Duration kOneRequest = std::chrono::seconds(30);

std::string sign(const Step& step) {
  if (step.troubles()) return paint(Colour::red, "!");
  switch (step.action) {
    case Action::create:
      return paint(Colour::green, "+");
    case Action::update:
      return paint(Colour::yellow, "~");
    case Action::start:
      return paint(Colour::green, ">");
    case Action::leave:
    case Action::refuse:
      return paint(Colour::red, "!");
    case Action::same:
      return "=";
  }
  return "=";
}

std::string name_of(const Step& step) {
  std::string out = fmt::format("{} {}", migrate::word(step.kind), migrate::printable(step.name));
  if (step.kind == Kind::scheduler) out = migrate::word(step.kind);
  if (!step.ns.empty()) out += fmt::format(" ({})", migrate::printable(step.ns));
  return out;
}

std::string outcome(const Step& step) {
  if (step.action == Action::refuse) return ": cannot be taken";
  if (step.kind == Kind::job && step.changes()) return step.runs ? ", which then runs" : ", stopped";
  if (!step.differences.empty()) return ": " + join(step.differences, ", ");
  return "";
}

std::string indented(const std::string& text) {
  std::string out;
  for (const auto& line : split(trim(text), '\n')) out += "    " + line + "\n";
  return out;
}

std::string sums(const Plan& plan) {
  const auto count = [&](auto holds) { return std::count_if(plan.steps.begin(), plan.steps.end(), holds); };
  return fmt::format("{} to make, {} to change, {} to start, {} there already; {} need you.\n",
                     count([](const Step& step) { return step.changes() && step.action == Action::create; }),
                     count([](const Step& step) { return step.changes() && step.action == Action::update; }),
                     count([](const Step& step) { return step.changes() && step.action == Action::start; }),
                     count([](const Step& step) { return step.action == Action::same && !step.troubles(); }),
                     count([](const Step& step) { return step.troubles(); }));
}

}  // namespace

migrate::Send sender(sdk::Client& client, Duration longest) {
  const auto end = std::chrono::steady_clock::now() + longest;
  return [&client, end, longest](const std::string& method, const std::string& target, const std::string& body) {
    const Duration left = std::chrono::duration_cast<Duration>(end - std::chrono::steady_clock::now());
    if (left <= Duration{0}) {
      throw Error(Code::timeout,
                  fmt::format("{} has taken longer than {}", client.address().url, format_duration(longest)))
          .advise("give it more time with -timeout, or look whether it is well");
    }
    auto response = client.raw(method, target, body, std::min(left, kOneRequest));
    const auto next = response.headers.find("X-Nomad-NextToken");
    return migrate::Reply{response.status, std::move(response.body), std::string(next.value_or(""))};
  };
}

std::string step_text(const Step& step) {
  if (step.action == Action::same && !step.troubles()) return {};
  std::string out = fmt::format("{} {}{}\n", sign(step), name_of(step), outcome(step));
  for (const auto& line : step.reasons) out += indented(line);
  for (const auto& line : step.notes) out += indented("note: " + line);
  if (step.diff && step.diff->type != model::DiffType::none) out += indented(diff_text(*step.diff));
  return out;
}

std::string plan_text(const Plan& plan) {
  std::string out;
  for (const auto& step : plan.steps) out += step_text(step);
  if (!plan.gaps.empty()) out += (out.empty() ? "" : "\n") + std::string("Not taken over:\n");
  for (const auto& gap : plan.gaps) {
    out += fmt::format("{} {}: {}\n", gap.unread ? paint(Colour::red, "!") : "-", gap.what, gap.why);
    if (!gap.advice.empty()) out += indented(gap.advice);
  }
  return out + (out.empty() ? "" : "\n") + sums(plan);
}

}  // namespace underway::cli
