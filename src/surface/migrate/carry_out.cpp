#include "migrate/carry_out.hpp"

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "http/message.hpp"
#include "migrate/kinds.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <set>

namespace underway::migrate {
namespace {

constexpr std::size_t kShownOfAResult = 2'000;

bool is_done(const Reply& reply) { return reply.status >= 200 && reply.status < 300; }

/// What the server said. Not of a variable: the answer to a conflict is what stands in its way, with its items.
std::string said(Kind kind, const Reply& reply) {
  if (kind == Kind::variable && reply.status == 409)
    return "it was changed here meanwhile, or somebody holds its lock: look at it, and run this again";
  std::string text;
  for (const auto& line : split(trim(reply.body).substr(0, kShownOfAResult), '\n'))
    text += (text.empty() ? "" : "; ") + printable(line);
  return fmt::format("the server answers {}: {}", reply.status, text);
}

/// A job's namespace as it stands: asking about a job in one that is still to be made would tell nothing.
bool stands(const Plan& plan, const Inventory& there, const std::string& ns) {
  const bool changes = std::any_of(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
    return step.kind == Kind::name_space && step.name == ns && step.changes();
  });
  return !changes && there.find(Kind::name_space, "", ns) != nullptr;
}

void note_failures(Step& step, const boost::json::value& answer) {
  const auto* object = answer.if_object();
  const auto* failed = object != nullptr ? object->if_contains("FailedTGAllocs") : nullptr;
  if (failed == nullptr || !failed->is_object()) return;
  for (const auto& [group, metric] : failed->get_object())
    step.notes.push_back(fmt::format("group '{}' could not be placed now", printable(std::string_view(group))));
}

void ask_about(Step& step, const Send& send) {
  const auto body = json::parse(step.body).get_object();
  boost::json::object job = body.at("Job").get_object();
  job["Stop"] = false;  // what it would be if it ran
  const Reply reply =
      send("PUT",
           fmt::format("/v1/job/{}/plan?namespace={}", http::percent_encode(step.name), http::percent_encode(step.ns)),
           boost::json::serialize(boost::json::object{{"Job", std::move(job)}, {"Diff", false}}));
  if (is_done(reply)) return note_failures(step, json::parse(reply.body));
  step.action = Action::refuse;
  step.reasons.push_back(said(step.kind, reply));
  step.method.clear();
  step.body.clear();
}

}  // namespace

void ask_about_jobs(Plan& plan, const Inventory& there, const Send& send) {
  for (auto& step : plan.steps) {
    if (step.kind == Kind::job && step.changes() && stands(plan, there, step.ns)) ask_about(step, send);
  }
}

Outcome carry_out(const Plan& plan, const Send& send, const Told& told) {
  Outcome outcome;
  for (const auto& step : plan.steps) {
    if (!step.changes()) continue;
    if (!outcome.broke.empty()) {
      ++outcome.not_reached;
      continue;
    }
    try {
      const Reply reply = send(step.method, step.target, step.body);
      const std::string refusal = is_done(reply) ? "" : said(step.kind, reply);
      ++(refusal.empty() ? outcome.done : outcome.refused);
      told(step, refusal);
    } catch (const Error& error) {
      outcome.broke = error.one_line();
      ++outcome.not_reached;
    }
  }
  return outcome;
}

}  // namespace underway::migrate
