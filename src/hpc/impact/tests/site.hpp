#pragma once
/// @file
/// A site to try changes on: decisions are made for real, and judged by what they would change. For tests.

#include <gtest/gtest.h>

#include "files/masters/decisions.hpp"
#include "impact/judge.hpp"
#include "ownership/upgrade.hpp"
#include "server/node/drain_decisions.hpp"
#include "server/testing/desk.hpp"

namespace underway::impact::testing {

using model::ClientStatus;
using model::Job;
using model::JobType;
using server::Context;
using server::testing::make_job;
using server::testing::uuid;
using tables::Tables;
using namespace std::chrono_literals;

class Site {
 public:
  Site() {
    desk.scheduling.home = [this](const auto& t, const auto& job, const auto& group) {
      return guard.home(t, job, group);
    };
  }

  void node(int number, const std::string& name, const std::string& pool) {
    model::Node row = server::testing::make_node(number);
    row.name = name;
    row.attributes["unique.hostname"] = name;
    row.attributes["driver.capsule"] = "1";
    row.drivers["capsule"] = {true, true, "", {}};
    row.node_pool = pool;
    desk.join(row);
  }
  static Job job_in(const std::string& id, const std::string& pool, JobType type = JobType::service,
                    std::int64_t count = 1) {
    Job job = make_job(id, count, type);
    job.node_pool = pool;
    return job;
  }
  static Job capsule_in(const std::string& id, const std::string& pool, const std::string& image) {
    Job job = job_in(id, pool);
    job.groups[0].tasks[0].driver = "capsule";
    job.groups[0].tasks[0].config = boost::json::object{{"image", image}};
    return job;
  }
  static Job slurmd_in(const std::string& pool, bool spares = true) {
    Job job = job_in("slurmd", pool, JobType::system);
    auto& config = job.groups[0].tasks[0].config.get_object();
    config["command"] = "/usr/sbin/slurmd";
    if (spares) config["kill_mode"] = "process";
    return job;
  }
  /// Registers it, and everything that is placed runs.
  void run(const Job& job) {
    desk.register_job(job);
    reconcile();
    for (const auto& row : desk.live(job.id))
      desk.update(row->node_id, {server::testing::report(row->id, ClientStatus::running, true)});
    reconcile();
  }
  void reconcile() {
    for (model::Revision before = -1; before != desk.store.revision();) {
      before = desk.store.revision();
      desk.run([this](const auto& t, const auto& c) { return decide(t, ownership::ReconcileCapsules{limits}, c); });
    }
  }
  void file(const std::string& path, const std::string& content, std::optional<model::FileHook> after = {},
            std::vector<model::FileReload> reloads = {}) {
    desk.run(files({declared(path, content, std::move(after), std::move(reloads))}));
  }
  static files::NewFile declared(const std::string& path, const std::string& content,
                                 std::optional<model::FileHook> after = {},
                                 std::vector<model::FileReload> reloads = {}) {
    model::FileDeclaration file;
    file.name = path;
    file.after = std::move(after);
    file.reloads = std::move(reloads);
    file.content_id = "sha256-" + content;
    return {file, model::FileContent{.id = file.content_id, .key_id = {}, .data = {}}};
  }
  static files::PutFiles files(std::vector<files::NewFile> some) { return {"", std::move(some), false, false}; }
  /// The same declaration with other bytes.
  files::NewFile edited(const std::string& path) const {
    auto file = *tables::find_record<model::FileDeclaration>(desk.tables, model::file_key("", path));
    file.content_id += "-edited";
    return {file, model::FileContent{.id = file.content_id, .key_id = {}, .data = {}}};
  }

  View view() {
    return {desk.tables, [this](const auto& job, const auto& group) {
              return scheduler::judge_nodes(desk.tables, desk.fleet, job, group);
            }};
  }
  /// What the request would do; nothing is done.
  template <class What>
  std::vector<Finding> findings(What what) {
    const auto request = server::testing::asked(std::move(what));
    const auto decision = decide(std::as_const(desk.tables), request, desk.context());
    return findings_of(view(), decision.changes);
  }
  template <class What>
  std::string judged(What what) {
    const auto found = findings(std::move(what));
    return found.empty() ? "" : sentence(judgement_of(found));
  }

  std::vector<Finding> drained(int node, bool ask_slurm = true, Duration deadline = 1h) {
    server::DrainNode request{.node_id = uuid(node)};
    request.drain = model::DrainStrategy{.deadline = deadline, .ignore_system_jobs = false, .ask_slurm = ask_slurm};
    return findings(request);
  }
  std::vector<Finding> registered(const Job& job) { return findings(server::RegisterJob{job, {}, {}}); }
  std::vector<Finding> stopped(const std::string& id) { return findings(server::DeregisterJob{"default", id}); }
  std::vector<Finding> put(std::vector<files::NewFile> some) { return findings(files(std::move(some))); }
  std::vector<Finding> upgraded(const std::string& capsule, const std::string& image) {
    const ownership::UpgradeRequest request{.ns = "default", .name = capsule, .image = image};
    return findings(
        [&](const Tables& t, const Context& c) { return decide(t, ownership::BeginUpgrade{request, limits}, c); });
  }

  server::testing::Desk desk;
  ownership::CapsuleGuard guard;
  ownership::Limits limits;
};

inline std::string told(const std::vector<Finding>& findings) {
  return findings.empty() ? "" : sentence(judgement_of(findings));
}

}  // namespace underway::impact::testing
