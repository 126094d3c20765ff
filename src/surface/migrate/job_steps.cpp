#include "migrate/detail/job_steps.hpp"

#include "base/json/json.hpp"
#include "base/text.hpp"
#include "http/message.hpp"
#include "migrate/job_reading.hpp"
#include "migrate/kinds.hpp"
#include "model/access/namespace.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>

namespace underway::migrate::detail {
namespace {

bool flag(const boost::json::object& body, std::string_view name) {
  const auto* value = body.if_contains(name);
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::int64_t number(const boost::json::object& body, std::string_view name) {
  const auto* value = body.if_contains(name);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

/// The namespace as it will be, when a step makes or changes it.
std::optional<model::Namespace> coming_namespace(const Plan& plan, const std::string& name) {
  for (const auto& step : plan.steps) {
    if (step.kind == Kind::name_space && step.name == name && step.changes())
      return json::decode_text<model::Namespace>(step.body);
  }
  return std::nullopt;
}

class JobPlanner {
 public:
  JobPlanner(const Plan& plan, const Inventory& there, const PlanOptions& options)
      : plan_(plan), there_(there), options_(options) {}

  Step step_of(const ReadJob& coming) {
    const Object& from = *coming.from;
    Step step;
    step.ns = from.ns;
    step.name = from.name;
    step.notes = coming.reading.notes;
    step.reasons = coming.reading.refusals;
    if (coming.reading.job) {
      if (const auto ns = coming_namespace(plan_, from.ns))
        step.reasons = model::refusals(*ns, *coming.reading.job, false);
    }
    const bool refused = !step.reasons.empty();
    if (refused)
      step.action = Action::refuse;
    else
      decide(step, from, *coming.reading.job);
    if (refused || step.method.empty()) step.body.clear();
    return step;
  }

 private:
  void decide(Step& step, const Object& from, const model::Job& job) {
    const bool starts = may_start(step, from);
    const Object* standing = there_.find(Kind::job, from.ns, from.name);
    const bool ran = standing != nullptr && !flag(standing->body, "Stop");
    step.runs = ran || starts;
    if (standing == nullptr) return send(step, Action::create, from, job, 0);
    const auto now = read_job(*standing);
    const bool equal = now.job && same_job(job, *now.job);
    if (equal && (ran || !starts)) return;
    if (!equal && ran) {
      step.action = Action::leave;
      step.reasons.emplace_back("it runs here and differs: it is left as it is");
      return;
    }
    if (!equal) step.diff = model::diff(now.job ? &*now.job : nullptr, &job);
    send(step, equal ? Action::start : Action::update, from, job, number(standing->body, "JobModifyIndex"));
  }

  /// Never where it may run twice.
  bool may_start(Step& step, const Object& from) const {
    const bool asked = std::any_of(options_.start.begin(), options_.start.end(),
                                   [&](const auto& pattern) { return glob_match(pattern, from.name); });
    if (!asked) return false;
    const Object* standing = there_.find(Kind::job, from.ns, from.name);
    if (standing != nullptr && !flag(standing->body, "Stop")) return false;  // it runs
    if (flag(from.body, "Stop") && from.live == 0) return true;
    step.reasons.push_back(
        flag(from.body, "Stop")
            ? fmt::format("not started: {} of it still run there", from.live)
            : fmt::format("not started: it is not stopped there; `nomad job stop -namespace {} {}` first",
                          printable(from.ns), printable(from.name)));
    return false;
  }

  static void send(Step& step, Action action, const Object& from, const model::Job& job, model::Revision index) {
    step.action = action;
    step.method = "PUT";
    step.target = "/v1/jobs?namespace=" + http::percent_encode(from.ns);
    step.body = registration(job, step.runs, from.submission, index);
  }

  const Plan& plan_;
  const Inventory& there_;
  const PlanOptions& options_;
};

}  // namespace

std::string registration(const model::Job& job, bool runs, const std::optional<model::JobSubmission>& submission,
                         model::Revision index) {
  model::Job wanted = job;
  wanted.stop = !runs;
  boost::json::object body{{"Job", json::to_value(wanted)}, {"EnforceIndex", true}, {"JobModifyIndex", index}};
  if (submission && !submission->source.empty()) body["Submission"] = json::to_value(*submission);
  return boost::json::serialize(body);
}

void add_job_steps(Plan& plan, const Inventory& source, const Inventory& there, const PlanOptions& options) {
  std::vector<Step> steps;
  JobPlanner planner(plan, there, options);
  for (const auto& job : read_jobs(source)) steps.push_back(planner.step_of(job));
  std::move(steps.begin(), steps.end(), std::back_inserter(plan.steps));
}

}  // namespace underway::migrate::detail
