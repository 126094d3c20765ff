#include "promotion/requests.hpp"

#include <fmt/chrono.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"

namespace underway::promotion {
namespace {

using releasefile::Tier;
using server::Context;
using server::Decision;
using tables::Tables;

constexpr std::size_t kLongestName = 63;
constexpr std::size_t kLongestNote = 4096;
/// Of one tier; the oldest go. What it may go back to is `keep` of it.
constexpr std::size_t kMostSteps = 1000;
constexpr std::size_t kMostOfADay = 10'000;

void check_name(const std::string& name) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '-' || c == '_'; };
  if (!name.empty() && name.size() <= kLongestName && std::isalnum(static_cast<unsigned char>(name.front())) &&
      std::all_of(name.begin(), name.end(), fits))
    return;
  throw Error(Code::invalid, fmt::format("'{}' is no name of a release", name))
      .because("it is a part of paths: up to 63 letters, digits, '.', '-' and '_', and begins with one of the former");
}

void check_text(std::string_view what, const std::string& text) {
  if (text.size() <= kLongestNote && is_utf8(text)) return;
  throw Error(Code::invalid, fmt::format("{} is no text of at most {} bytes", what, kLongestNote));
}

const Tier& get_tier(const Declared& declared, const std::string& name) {
  const auto* tier = declared.releases.find_tier(name);
  if (tier != nullptr) return *tier;
  std::vector<std::string> names;
  for (const auto& each : declared.releases.tiers) names.push_back(each.name);
  throw Error(Code::not_found, fmt::format("there is no tier '{}'", name))
      .because(fmt::format("declared are {}", names.empty() ? "none" : join_some(names, 20)));
}

/// The tier whose sources are frozen.
const Tier& first_tier(const Declared& declared, const std::string& name) {
  if (!name.empty()) {
    const auto& tier = get_tier(declared, name);
    if (tier.from.empty()) return tier;
    throw Error(Code::invalid, fmt::format("tier '{}' takes what tier '{}' had, and nothing else", name, tier.from));
  }
  const Tier* only = nullptr;
  for (const auto& tier : declared.releases.tiers) {
    if (!tier.from.empty()) continue;
    if (only != nullptr)
      throw Error(Code::invalid, "more than one tier takes its sources as they are")
          .because(fmt::format("'{}' and '{}' do", only->name, tier.name))
          .advise("say which one");
    only = &tier;
  }
  if (only != nullptr) return *only;
  throw Error(Code::not_found, "no tier is declared that takes its sources as they are");
}

Part part_of(const Tables& tables, const Declared& declared, const std::string& source) {
  const auto state = tables::find_record<SourceState>(tables, declared.cluster + "/" + source);
  if (!state || state->view.suites.empty())
    throw Error(Code::conflict, fmt::format("'{}' has nothing yet", source))
        .because(state && !state->failure.empty() ? state->failure : "it was never synchronised")
        .advise("a release has something of each source of its tier: look at `underway release status`");
  const auto* mirror = declared.releases.find_mirror(source);
  const auto* repository = declared.releases.find_repository(source);
  return {.source = source,
          .format = mirror != nullptr ? mirror->format : repository->format,
          .priority = mirror != nullptr ? releasefile::kMirrorPriority : repository->priority,
          .view = state->view};
}

/// Of what clients get: not of when upstream's server was asked.
std::string digest_of(const std::vector<Part>& parts) {
  std::string all;
  for (const auto& part : parts) {
    all += fmt::format("{} {} {}\n", part.source, static_cast<int>(part.format), part.priority);
    for (const auto& suite : part.view.suites) {
      all += fmt::format("  {} {}\n", suite.suite, suite.codename);
      for (const auto& index : suite.indexes)
        all += fmt::format("    {} {} {}\n", index.component, index.architecture, index.list);
    }
  }
  return "sha256:" + hex(crypto::sha256(all));
}

std::string name_of_the_day(const Tables& tables, const std::string& cluster, TimePoint now) {
  const auto day = fmt::format("{:%Y.%m.%d}", fmt::gmtime(static_cast<std::time_t>(unix_seconds(now))));
  for (std::size_t number = 1; number <= kMostOfADay; ++number) {
    auto name = fmt::format("{}-{}", day, number);
    if (!tables::find_record<Release>(tables, cluster + "/" + name)) return name;
  }
  throw Error(Code::exhausted, fmt::format("{} releases were made on one day", kMostOfADay)).advise("name it yourself");
}

/// That it may go back to, with what it has: the newest first, each once.
std::vector<std::string> kept_of(const TierState& state, std::int64_t keep) {
  std::vector<std::string> out;
  for (auto step = state.steps.rbegin(); step != state.steps.rend(); ++step) {
    if (std::ssize(out) > keep) break;
    if (std::ranges::find(out, step->release) == out.end()) out.push_back(step->release);
  }
  return out;
}

Decision<TierState> give(TierState state, Step step) {
  state.steps.push_back(std::move(step));
  if (state.steps.size() > kMostSteps) state.steps.erase(state.steps.begin());
  Decision<TierState> decision;
  decision.changes.push_back(tables::put_record(state));
  decision.result = std::move(state);
  return decision;
}

}  // namespace

Decision<Declared> decide(const Tables& tables, const DeclareReleases& request, const Context& /*context*/) {
  const auto before = tables::find_record<Declared>(tables, request.declared.cluster);
  const auto check = [&](const std::string& name, releasefile::Format format, const auto* old) {
    if (old == nullptr || old->format == format) return;
    throw Error(Code::conflict, fmt::format("'{}' cannot have another format", name))
        .because("releases have it as it was")
        .advise("give the new one another name");
  };
  for (const auto& each : request.declared.releases.mirrors)
    check(each.name, each.format, before ? before->releases.find_mirror(each.name) : nullptr);
  for (const auto& each : request.declared.releases.repositories)
    check(each.name, each.format, before ? before->releases.find_repository(each.name) : nullptr);
  return {.changes = {tables::put_record(request.declared)}, .result = request.declared};
}

Decision<SourceState> decide(const Tables& tables, const NoteSynchronised& request, const Context& context) {
  const auto declared = tables::find_record<Declared>(tables, request.cluster);
  if (!declared || declared->releases.find_mirror(request.source) == nullptr) return {};
  auto state =
      tables::find_record<SourceState>(tables, request.cluster + "/" + request.source)
          .value_or(SourceState{.cluster = request.cluster, .source = request.source, .view = {}, .failure = {}});
  const auto now = unix_nanos(context.now);
  if (!request.failure.empty()) {
    if (state.failing_since == 0) state.failing_since = now;
    state.failure = request.failure;
  } else {
    state.failing_since = 0;
    state.failure.clear();
    state.looked = now;
    if (request.changed) {
      state.changed = now;
      state.files = request.files;
      state.bytes = request.bytes;
    }
    state.view = request.view;
  }
  Decision<SourceState> decision;
  decision.changes.push_back(tables::put_record(state));
  decision.result = std::move(state);
  return decision;
}

Decision<Made> decide(const Tables& tables, const MakeRelease& request, const Context& context) {
  if (!request.name.empty()) check_name(request.name);
  check_text("the note", request.note);
  const auto declared = get_declared(tables, request.cluster);
  const auto& tier = first_tier(declared, request.tier);
  Release release{.cluster = request.cluster,
                  .name = request.name,
                  .note = request.note,
                  .by = request.by,
                  .created = unix_nanos(context.now)};
  for (const auto& source : tier.sources) release.parts.push_back(part_of(tables, declared, source));
  release.digest = digest_of(release.parts);
  if (request.name.empty()) {
    const auto all = releases_of(tables, request.cluster);
    if (!all.empty() && all.front().digest == release.digest) return {.changes = {}, .result = {all.front(), false}};
    release.name = name_of_the_day(tables, request.cluster, context.now);
  } else if (auto other = tables::find_record<Release>(tables, request.cluster + "/" + request.name)) {
    if (other->digest == release.digest) return {.changes = {}, .result = {std::move(*other), false}};
    throw Error(Code::conflict, fmt::format("there is a release '{}' already, and it is another", request.name));
  }
  Decision<Made> decision;
  decision.changes.push_back(tables::put_record(release));
  decision.result.release = std::move(release);
  return decision;
}

Decision<TierState> decide(const Tables& tables, const Promote& request, const Context& context) {
  check_text("the reason", request.why);
  const auto declared = get_declared(tables, request.cluster);
  const auto& tier = get_tier(declared, request.tier);
  const auto release = get_release(tables, request.cluster, request.release);
  if (!tier.from.empty() && !tier_state(tables, request.cluster, tier.from).had(release.name))
    throw Error(Code::denied, fmt::format("release '{}' is not given to tier '{}'", release.name, tier.name))
        .because(fmt::format("tier '{}' never had it, and '{}' has what was tried there and nothing else", tier.from,
                             tier.name))
        .advise(fmt::format("underway release promote {} {}", release.name, tier.from));
  auto state = tier_state(tables, request.cluster, tier.name);
  if (state.release() == release.name) return {.changes = {}, .result = std::move(state)};
  return give(std::move(state), {release.name, Move::promoted, unix_nanos(context.now), request.by, request.why});
}

Decision<TierState> decide(const Tables& tables, const RollBack& request, const Context& context) {
  check_text("the reason", request.why);
  const auto declared = get_declared(tables, request.cluster);
  const auto& tier = get_tier(declared, request.tier);
  auto state = tier_state(tables, request.cluster, tier.name);
  const auto kept = kept_of(state, tier.keep);
  const auto wanted = !request.release.empty() ? request.release : kept.size() > 1 ? kept[1] : std::string();
  if (wanted.empty())
    throw Error(Code::conflict, fmt::format("tier '{}' has nothing to go back to", tier.name))
        .because(kept.empty() ? "it has had no release" : fmt::format("'{}' is the only one that it has had", kept[0]));
  if (std::ranges::find(kept, wanted) == kept.end())
    throw Error(Code::conflict, fmt::format("tier '{}' does not go back to '{}'", tier.name, wanted))
        .because(fmt::format("it keeps {}", kept.empty() ? "none" : join_some(kept, 20)));
  get_release(tables, request.cluster, wanted);
  if (state.release() == wanted) return {.changes = {}, .result = std::move(state)};
  return give(std::move(state), {wanted, Move::rolled_back, unix_nanos(context.now), request.by, request.why});
}

Decision<Release> decide(const Tables& tables, const ForgetRelease& request, const Context& /*context*/) {
  const auto release = get_release(tables, request.cluster, request.release);
  const auto declared = tables::find_record<Declared>(tables, request.cluster);
  for (const auto& state : tables::records<TierState>(tables, request.cluster + "/")) {
    const auto* tier = declared ? declared->releases.find_tier(state.tier) : nullptr;
    const auto kept = kept_of(state, tier == nullptr ? 0 : tier->keep);
    if (std::ranges::find(kept, release.name) == kept.end()) continue;
    throw Error(Code::conflict, fmt::format("release '{}' is not forgotten", release.name))
        .because(state.release() == release.name ? fmt::format("tier '{}' has it", state.tier)
                                                 : fmt::format("tier '{}' may go back to it", state.tier));
  }
  Decision<Release> decision;
  decision.changes.push_back(tables::delete_record<Release>(request.cluster + "/" + release.name));
  decision.result = release;
  return decision;
}

std::vector<std::string> lists_in_use(const Tables& tables) {
  std::set<std::string> out;
  const auto add = [&](const mirror::View& view) {
    for (const auto& suite : view.suites) {
      if (!suite.release.empty()) out.insert(suite.release);
      for (const auto& index : suite.indexes) out.insert(index.list);
    }
  };
  for (const auto& state : tables::records<SourceState>(tables)) add(state.view);
  for (const auto& release : tables::records<Release>(tables)) {
    for (const auto& part : release.parts) add(part.view);
  }
  return {out.begin(), out.end()};
}

}  // namespace underway::promotion
