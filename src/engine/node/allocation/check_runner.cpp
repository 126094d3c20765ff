#include "node/allocation/check_runner.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::node {

using model::CheckStatus;

namespace {

constexpr std::size_t kKeptOutput = 3U << 10;  // as Nomad's client/serviceregistration/checks
/// Attempts of many allocations that start together are spread over this long, or over the interval if it is shorter.
constexpr Duration kSpread = std::chrono::seconds{1};

CheckStatus initial_status(const model::Check& check) {
  if (check.initial_status == "passing" || check.initial_status == "success") return CheckStatus::success;
  if (check.initial_status == "critical" || check.initial_status == "failure") return CheckStatus::failure;
  return CheckStatus::pending;
}

std::string first_line(std::string_view text) {
  text = trim(text);
  constexpr std::size_t kShown = 200;
  return std::string(text.substr(0, std::min(text.find('\n'), kShown)));
}

}  // namespace

// --- CheckState

CheckState::CheckState(const CheckPlan& plan, std::optional<model::CheckResult> known) : plan_(plan) {
  reset();
  if (known) result_ = std::move(*known);
}

void CheckState::reset() {
  result_ = {};
  result_.id = plan_.id;
  result_.check = plan_.name;
  result_.service = plan_.service;
  result_.task = plan_.task;
  result_.group = plan_.group;
  result_.mode = plan_.counts() ? "healthiness" : "readiness";
  result_.status = initial_status(plan_.check);
  result_.output = result_.status == CheckStatus::pending ? "waiting for the first attempt" : "";
  warning_ = false;
  successes_ = failures_ = restart_failures_ = 0;
}

CheckState::Outcome CheckState::take(const ProbeAnswer& answer, bool in_grace, TimePoint now) {
  const bool passed_before = passes();
  const CheckStatus before = result_.status;
  result_.status_code = answer.code;
  result_.output = answer.output.substr(0, kKeptOutput);
  result_.timestamp = unix_nanos(now) / 1'000'000'000;
  warning_ = answer.warning;
  if (answer.passed) {
    failures_ = 0;
    if (++successes_ >= plan_.check.success_before_passing) result_.status = CheckStatus::success;
  } else {
    successes_ = 0;
    if (++failures_ >= plan_.check.failures_before_critical) result_.status = CheckStatus::failure;
  }
  Outcome outcome;
  outcome.changed = before != result_.status || passed_before != passes();
  const bool failed = result_.status == CheckStatus::failure && !(answer.warning && plan_.restart.ignore_warnings);
  if (!failed)
    restart_failures_ = 0;
  else if (!in_grace && plan_.restart.limit > 0 && ++restart_failures_ >= plan_.restart.limit) {
    restart_failures_ = 0;
    outcome.restart = true;
  }
  return outcome;
}

bool CheckState::passes() const {
  if (result_.status == CheckStatus::success) return true;
  return result_.status == CheckStatus::failure && warning_ && plan_.on_update == "ignore_warnings";
}

// --- CheckRunner

CheckRunner::CheckRunner(Runtime& runtime, CheckSubject& subject, CheckPlan plan,
                         std::optional<model::CheckResult> known)
    : runtime_(runtime), subject_(subject), plan_(std::move(plan)), state_(plan_, known), known_(known.has_value()) {}

void CheckRunner::begin() {
  if (active_ || over_) return;
  active_ = true;
  ++round_;
  if (!std::exchange(known_, false)) state_.reset();
  if (plan_.restart.limit > 0) grace_ = runtime_.after(plan_.restart.grace, [this] { grace_.reset(); });
  wake_.notify_all();
}

void CheckRunner::pause() {
  known_ = false;
  if (!active_) return;
  active_ = false;
  ++round_;
  grace_.reset();
  state_.reset();
  wake_.notify_all();
}

void CheckRunner::end() {
  over_ = true;
  active_ = false;
  ++round_;
  grace_.reset();
  wake_.notify_all();
}

std::string CheckRunner::problem() const {
  if (passes()) return {};
  const auto& found = result();
  if (found.status == CheckStatus::pending)
    return fmt::format("check '{}' of service '{}' has not passed yet", plan_.name, plan_.service);
  return fmt::format("check '{}' of service '{}' was critical: {}", plan_.name, plan_.service,
                     first_line(found.output));
}

awaitable<void> CheckRunner::run() {
  const auto self = shared_from_this();
  while (!over_) {
    if (active_)
      co_await attempts(round_);
    else
      co_await wake_.wait();
  }
}

awaitable<void> CheckRunner::attempts(std::int64_t round) {
  const Duration spread = std::min(kSpread, plan_.check.interval);
  co_await sleep(Duration{static_cast<std::int64_t>(static_cast<double>(spread.count()) * runtime_.jitter())}, round);
  while (round == round_) {
    bool due = false;
    const auto timer = runtime_.after(plan_.check.interval, [this, &due] {
      due = true;
      wake_.notify_all();
    });
    co_await attempt(round);
    while (!due && round == round_) co_await wake_.wait();
  }
}

awaitable<void> CheckRunner::attempt(std::int64_t round) {
  if (!plan_.problem.empty()) {
    take({.output = plan_.problem}, round);
  } else if (plan_.check.type == "script") {
    co_await attempt_script(round);
  } else {
    const ProbeRequest request = probe_request(plan_);
    take(co_await runtime_.probe(request), round);
  }
}

awaitable<void> CheckRunner::attempt_script(std::int64_t round) {
  const auto process = subject_.check_process(plan_.task);
  if (!process) co_return;  // it ends or begins at this moment
  std::vector<std::string> command{plan_.check.command};
  command.insert(command.end(), plan_.check.args.begin(), plan_.check.args.end());
  command = subject_.check_command(plan_.task, command);
  ProbeAnswer answer;
  try {
    const auto session = co_await process->exec(command, false, 0, 0);
    session->end_input();
    bool late = false;
    const auto limit = runtime_.after(plan_.check.timeout, [&, round] {
      late = true;
      session->kill();
      take({.code = -1,
            .output = fmt::format("'{}' did not end within {} and was killed", command.front(),
                                  human_duration(plan_.check.timeout))},
           round);
    });
    while (const auto piece = co_await session->read())
      if (answer.output.size() < kKeptOutput) answer.output += piece->bytes;
    const TaskEnd end = co_await session->wait();
    if (late) co_return;
    // As for Consul's script checks: 0 passes, 1 warns, anything else is critical.
    answer.passed = end.exit_code == 0 && end.signal == 0;
    answer.warning = end.exit_code == 1 && end.signal == 0;
    answer.code = end.exit_code;
    if (trim(answer.output).empty() && !answer.passed) answer.output = fmt::format("exit code {}", end.exit_code);
  } catch (const Error& error) {
    answer = {.code = -1, .output = error.one_line()};
  }
  take(answer, round);
}

awaitable<void> CheckRunner::sleep(Duration span, std::int64_t round) {
  if (span <= Duration{0}) co_return;
  bool over = false;
  const auto timer = runtime_.after(span, [this, &over] {
    over = true;
    wake_.notify_all();
  });
  while (!over && round == round_) co_await wake_.wait();
}

void CheckRunner::take(const ProbeAnswer& answer, std::int64_t round) {
  if (round != round_) return;
  const auto outcome = state_.take(answer, grace_ != nullptr, runtime_.now());
  if (outcome.changed) subject_.check_changed();
  // What check_changed set going may have been the end of this round.
  if (outcome.restart && round == round_)
    subject_.check_failed(plan_.task, fmt::format("healthcheck: check \"{}\" unhealthy", plan_.name));
}

}  // namespace underway::node
