#include "ownership/upgrade.hpp"

#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "ownership/detail/ownership.hpp"

namespace underway::ownership {

using detail::Ownership;
using model::Capsule;
using model::UpgradePhase;
using server::Context;
using server::Decision;
using server::Nothing;
using tables::Tables;

namespace {

constexpr std::size_t kMostScripts = 32;
constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // of all scripts: they stand in the record

Error upgrade_conflict(const Capsule& capsule, const std::string& why) {
  return Error(Code::conflict, fmt::format("capsule '{}' cannot be upgraded", capsule.name)).because(why);
}

void check_scripts(const std::vector<model::RehearsalScript>& scripts) {
  Error error(Code::invalid, "the scripts cannot be used");
  std::set<std::string> names{"stop", "start", "check"};
  std::size_t bytes = 0;
  for (const auto& script : scripts) {
    const auto& name = script.name;
    bytes += script.content.size();
    if (name.empty() || name.starts_with('.') || name.find('/') != std::string::npos)
      error.because(fmt::format("'{}' is no name of a script", name));
    else if (!names.insert(name).second)
      error.because(fmt::format("the name '{}' is taken", name));
    if (!script.content.starts_with("#!")) error.because(fmt::format("'{}' does not begin with '#!'", name));
  }
  if (scripts.size() > kMostScripts)
    error.because(fmt::format("{} are too many; {} will do", scripts.size(), kMostScripts));
  if (bytes > kMostBytes) error.because(fmt::format("they are larger than {} together", human_bytes(kMostBytes)));
  if (!error.reasons().empty()) throw error;
}

void check_idle(const Tables& tables, const Capsule& capsule) {
  if (capsule.move) throw upgrade_conflict(capsule, fmt::format("it moves to {}", capsule.move->target_name));
  if (capsule.upgrade)
    throw upgrade_conflict(capsule, fmt::format("it is being upgraded to '{}' already", capsule.upgrade->to_image))
        .advise(fmt::format("follow it: `underway capsule status {}`", capsule.name));
  const auto job = tables.find_job(capsule.ns, capsule.job);
  if (!job || job->stop) throw upgrade_conflict(capsule, fmt::format("its job '{}' is stopped", capsule.job));
  const auto* group = job->find_group(capsule.group);
  if (group == nullptr || image_of(*job, capsule.group).empty())
    throw upgrade_conflict(capsule, fmt::format("job '{}' has no capsule '{}' any more", capsule.job, capsule.group));
  if (group->update && group->update->canary.value_or(0) > 0)
    throw upgrade_conflict(capsule, "its group has canaries, and a capsule has none")
        .advise("leave `canary` out of its `update` block");
  if (!capsule.ran)
    throw upgrade_conflict(capsule, "it has never run").advise("change the image in its job file, and run that");
  const auto owner = tables.find_node(capsule.owner);
  if (!owner || !owner->ready())
    throw upgrade_conflict(
        capsule, fmt::format("{} is {}", capsule.owner_name,
                             !owner || owner->silent() ? "not heard of" : "drained, or takes no new allocations"));
}

model::CapsuleUpgrade forward(const UpgradeRequest& request, const Capsule& capsule, const std::string& asked) {
  if (request.image.empty()) throw Error(Code::invalid, "no image is named");
  // Something else may have been pushed under that name: its node knows what it runs.
  const bool same = asked == request.image && !request.rehearse_only;
  if (same && (request.digest.empty() || request.digest == asked))
    throw upgrade_conflict(capsule, fmt::format("its job asks for '{}' already", asked));
  check_scripts(request.scripts);
  model::CapsuleUpgrade upgrade;
  upgrade.to_image = same ? request.digest : request.image;
  upgrade.scripts = request.scripts;
  upgrade.rehearse_only = request.rehearse_only;
  return upgrade;
}

model::CapsuleUpgrade backward(const Capsule& capsule, const std::string& asked) {
  if (!capsule.way_back) throw upgrade_conflict(capsule, "there is no upgrade to be taken back");
  const auto& way = *capsule.way_back;
  if (way.node != capsule.owner)
    throw upgrade_conflict(capsule, fmt::format("the snapshot from before the upgrade is on {}, and it runs on {}",
                                                way.node_name, capsule.owner_name))
        .advise(fmt::format("move it there first: `underway capsule move {} -to {}`", capsule.name, way.node_name));
  if (way.from_image != asked)
    throw upgrade_conflict(capsule,
                           fmt::format("its job asks for '{}' since, and no more for '{}'", asked, way.from_image));
  model::CapsuleUpgrade upgrade;
  upgrade.to_image = way.image;
  upgrade.data = way.snapshot;
  return upgrade;
}

}  // namespace

namespace {

Decision<std::string> begin(const Tables& tables, Capsule capsule, model::CapsuleUpgrade upgrade, const Limits& limits,
                            const Context& context) {
  auto job = tables.find_job(capsule.ns, capsule.job);
  std::string group = capsule.group;
  Ownership ownership(tables, limits, context, std::move(capsule), std::move(job), std::move(group));
  ownership.begin_upgrade(std::move(upgrade));
  Decision<std::string> decision;
  decision.result = ownership.record().upgrade->id;
  decision.changes = ownership.take();
  return decision;
}

}  // namespace

Decision<std::string> decide(const Tables& tables, const BeginUpgrade& begun, const Context& context) {
  const auto& [request, limits] = begun;
  Capsule capsule = get_capsule(tables, request.ns, request.name);
  check_idle(tables, capsule);
  const std::string asked = image_of(*tables.find_job(capsule.ns, capsule.job), capsule.group);
  auto upgrade = request.back ? backward(capsule, asked) : forward(request, capsule, asked);
  return begin(tables, std::move(capsule), std::move(upgrade), limits, context);
}

Decision<std::string> decide(const Tables& tables, const BeginRestore& asked, const Context& context) {
  const auto& [request, limits] = asked;
  Capsule capsule = get_capsule(tables, request.ns, request.name);
  check_idle(tables, capsule);
  if (request.snapshot.empty()) throw Error(Code::invalid, "no snapshot is named");
  model::CapsuleUpgrade upgrade;
  upgrade.to_image = image_of(*tables.find_job(capsule.ns, capsule.job), capsule.group);
  upgrade.data = request.snapshot;
  upgrade.restores = true;
  return begin(tables, std::move(capsule), std::move(upgrade), limits, context);
}

namespace {

/// `told` is what was told of the failures before: of all of them the first says most, and of the others the last.
std::string causes(const std::string& told, std::int64_t before, const std::string& error) {
  constexpr std::string_view kThen = "; then: ";
  const std::string known = fmt::format("tried {} times: ", before);
  if (before == 0 || !told.starts_with(known)) return error;
  const std::string first = told.substr(known.size(), told.find(kThen) - known.size());
  return first == error ? error : first + std::string(kThen) + error;
}

void failed(Ownership& ownership, const UpgradeOutcome& outcome, const Limits& limits) {
  auto& capsule = ownership.record();
  auto& upgrade = *capsule.upgrade;
  const std::string why = causes(capsule.description, upgrade.attempts, *outcome.error);
  capsule.description = *outcome.error;
  const auto effort = row_of(upgrade.phase).effort;
  if (effort == Effort::until_late) return;
  if (outcome.busy) return;
  ++upgrade.attempts;
  capsule.description = fmt::format("tried {} times: {}", upgrade.attempts, why);
  if (effort == Effort::until_done) return;
  if (outcome.final || upgrade.attempts >= limits.attempts) ownership.give_up(why);
}

}  // namespace

Decision<Nothing> decide(const Tables& tables, const EndUpgradeStep& asked, const Context& context) {
  const auto& [key, upgrade_id, phase, outcome, limits] = asked;
  auto capsule = tables::find_record<Capsule>(tables, key);
  if (!capsule || !capsule->upgrade || capsule->upgrade->id != upgrade_id || capsule->upgrade->phase != phase)
    return {};
  auto job = tables.find_job(capsule->ns, capsule->job);
  std::string group = capsule->group;
  Ownership ownership(tables, limits, context, std::move(capsule), std::move(job), std::move(group));
  if (outcome.error)
    failed(ownership, outcome, limits);
  else
    ownership.note(outcome);
  ownership.reconcile();
  return {ownership.take(), {}};
}

}  // namespace underway::ownership
