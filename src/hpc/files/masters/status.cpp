#include "files/masters/status.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace underway::files {

using model::FileReport;
using model::FileState;

namespace {

bool any(const FileReport& report, FileState state) {
  return std::ranges::any_of(report.problems, [&](const auto& problem) { return problem.state == state; });
}

std::string first_reason(const FileReport& report, FileState state) {
  std::size_t more = 0;
  std::string said;
  for (const auto& problem : report.problems) {
    if (problem.state != state) continue;
    if (said.empty())
      said = problem.path.empty() ? problem.reason : fmt::format("{}: {}", problem.path, problem.reason);
    else
      ++more;
  }
  return more == 0 ? said : fmt::format("{}; and {} more", said, more);
}

void judge(const FileReport& report, const Wanted* wanted, TargetStatus& out) {
  if (!report.refused.empty()) {
    out.state = TargetState::refused;
    out.reason = report.refused;
  } else if (any(report, FileState::failed)) {
    out.state = TargetState::failed;
    out.reason = first_reason(report, FileState::failed);
  } else if (any(report, FileState::drifted)) {
    out.state = TargetState::drifted;
    out.reason = first_reason(report, FileState::drifted);
  } else if (any(report, FileState::pending)) {
    out.reason = first_reason(report, FileState::pending);
  } else if (wanted != nullptr && wanted->digest != report.manifest) {
    out.reason = out.linked ? "it is being told of a change" : "its agent has no link to the server";
  } else {
    out.state = TargetState::synced;
  }
}

/// "c1, c2 and 3 more".
std::string names_of(const std::vector<const TargetStatus*>& targets) {
  constexpr std::size_t kNamed = 4;
  std::vector<std::string> names;
  for (const auto* target : targets) {
    if (names.size() == kNamed) return fmt::format("{} and {} more", join(names, ", "), targets.size() - kNamed);
    names.push_back(target->capsule.empty() ? target->node : fmt::format("{} on {}", target->capsule, target->node));
  }
  return join(names, ", ");
}

}  // namespace

std::vector<TargetStatus> target_states(const tables::Tables& tables, const FileService& service,
                                        const std::string& cluster,
                                        const std::function<bool(const std::string& node_id)>& linked) {
  std::map<std::string, FileReport> reports;
  for (auto& report : tables::records<FileReport>(tables)) {
    std::string key = model::report_key(report.node_id, report.capsule);
    reports.emplace(std::move(key), std::move(report));
  }
  // A change that was acknowledged a moment ago counts, although nobody was told of it yet.
  const bool behind = !service.follows(tables);
  std::vector<TargetStatus> out;
  const auto add = [&](const model::Node& node, const FileReport* report, const std::string& capsule) {
    const auto of_capsule = capsule.empty() ? std::nullopt : service.wanted_by(node.id, capsule);
    const Wanted* wanted = capsule.empty() ? service.wanted(node.id) : of_capsule ? &*of_capsule : nullptr;
    if (report == nullptr && (wanted == nullptr || wanted->files == 0)) return;
    TargetStatus status;
    status.node_id = node.id;
    status.node = node.name;
    status.cluster = node.cluster;
    status.capsule = capsule;
    status.linked = linked(node.id);
    status.files = wanted != nullptr ? wanted->files : report != nullptr ? report->files : 0;
    if (report != nullptr) {
      status.epoch = report->epoch;
      status.revision = report->revision;
      status.applied_at = report->applied_at;
      status.problems = report->problems;
      status.events = report->events;
      judge(*report, wanted, status);
    } else {
      status.reason = status.linked ? "it has not reported yet" : "its agent has no link to the server";
    }
    if (status.reason.empty() && wanted != nullptr && !wanted->problems.empty()) {
      status.state = TargetState::pending;
      status.reason = wanted->problems.front();
    }
    if (behind && status.state == TargetState::synced) {
      status.state = TargetState::pending;
      status.reason = "the server works out what it shall have";
    }
    out.push_back(std::move(status));
  };
  for (const auto& node : tables.nodes()) {
    if (!cluster.empty() && node->cluster != cluster) continue;
    const auto own = reports.find(model::report_key(node->id, ""));
    add(*node, own == reports.end() ? nullptr : &own->second, "");
    for (const auto& capsule : capsules_on(tables, node->id)) {
      const auto of_capsule = reports.find(model::report_key(node->id, capsule));
      add(*node, of_capsule == reports.end() ? nullptr : &of_capsule->second, capsule);
    }
  }
  std::ranges::sort(out, {}, [](const auto& status) { return std::tie(status.node, status.capsule); });
  return out;
}

std::vector<FileAttention> attention(const std::vector<TargetStatus>& targets) {
  std::vector<FileAttention> out;
  const auto tell = [&](TargetState state, const char* what, const char* advice) {
    std::vector<const TargetStatus*> concerned;
    for (const auto& target : targets) {
      if (target.state == state) concerned.push_back(&target);
    }
    if (concerned.empty()) return;
    const auto& first = *concerned.front();
    out.push_back({fmt::format("{} {}", what, names_of(concerned)),
                   concerned.size() == 1 ? first.reason : fmt::format("{}: {}", first.node, first.reason), advice});
  };
  tell(TargetState::refused, "files are not taken by", "underway file status");
  tell(TargetState::failed, "files could not be written on", "underway file status");
  tell(TargetState::drifted, "files were changed by hand on", "underway file diff");
  std::vector<const TargetStatus*> unknown;
  for (const auto& target : targets) {
    const bool template_fails =
        target.state == TargetState::pending && target.reason.find("cannot be rendered") != std::string::npos;
    if (template_fails) unknown.push_back(&target);
  }
  if (!unknown.empty())
    out.push_back({fmt::format("a template of a file fails for {}", names_of(unknown)), unknown.front()->reason,
                   "underway file status"});
  return out;
}

std::vector<FileAttention> waiting_masters(const tables::Tables& tables, const std::string& cluster,
                                           const std::function<bool(const std::string& node_id)>& linked) {
  std::map<std::string, std::vector<std::string>> waiting;  // by node
  for (const auto& file : tables::records<model::FileDeclaration>(tables)) {
    if (file.from.empty() || (!cluster.empty() && file.cluster != cluster)) continue;
    const auto node = node_of_master(tables, file);
    if (!node || !linked(node->id)) waiting[file.from].push_back(file.where());
  }
  std::vector<FileAttention> out;
  for (const auto& [node, paths] : waiting) {
    out.push_back(
        {fmt::format("file changes wait for '{}'", node),
         fmt::format("it is off, and has the {} of {}; what others have of {} stays as it is",
                     paths.size() == 1 ? "master" : "masters", join(paths, ", "), paths.size() == 1 ? "it" : "them"),
         "underway host list"});
  }
  return out;
}

std::vector<FileAttention> waiting_rotation(const tables::Tables& tables, TimePoint now) {
  constexpr Duration kRotationPatience = std::chrono::minutes(5);
  const auto key = key_state(tables);
  if (!key || key->next.empty() || key->waiting.empty() || now - from_unix_nanos(key->next_since) < kRotationPatience)
    return {};
  return {{fmt::format("the key that signs manifests of files waits to be rotated for {}", join(key->waiting, ", ")),
           "they are alive, and have not said that they believe the new key: an older agent never does",
           "underway file key info"}};
}

}  // namespace underway::files
