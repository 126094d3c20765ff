#pragma once
/// @file
/// What the job language has beyond the descriptions of model/job/job.hpp.

#include "jobspec/decode.hpp"
#include "model/job/job.hpp"

#include <map>
#include <span>

namespace underway::jobspec::detail {

/// A name of Nomad's specification that belongs to what Underway is not.
struct Refused {
  std::string_view structure;  ///< in which block
  std::string_view hcl;
  std::string_view json;
  std::string_view why;
};
std::span<const Refused> refused_names();

/// The parts that constraints and affinities have in common.
struct Comparison {
  std::string& ltarget;
  std::string& operand;
  std::string& rtarget;
};

/// A constraint's operator written as an attribute: `distinct_hosts = true`, `version = ">= 5"`.
struct Shorthand {
  enum class Takes { flag, target, value };
  std::string_view name;  ///< also the operator's
  Takes takes;
  std::string_view doc;
};
std::span<const Shorthand> constraint_shorthands();

/// The shorthands, for `constraint` and `affinity` blocks outside of jobs.
const Dialect& comparison_dialect();

/// What decoding a job finds beside the job itself.
struct JobSites {
  std::map<std::string, hcl::Range> blocks;  ///< by model::Problem::path
  std::vector<std::pair<std::string, hcl::Range>> dependencies;
};

/// Lives as long as one job is decoded: defaults depend on the job's type and on the group around a task.
class JobDialect {
 public:
  explicit JobDialect(JobSites& sites);
  JobDialect(const JobDialect&) = delete;
  JobDialect& operator=(const JobDialect&) = delete;

  const Dialect& extensions() const { return extensions_; }

 private:
  void add_sugar();
  void add_network();
  void add_context();
  void add_old_names();
  void add_inherited();
  /// What the tasks around which `site` stands have from there. Looked up once: a job may have many groups.
  struct Inherited {
    std::vector<const hcl::Block*> vaults;
    std::vector<const hcl::Block*> secrets;
  };
  static Inherited inherited(const Site& site);
  static void inherit(std::span<model::Task> tasks, const Inherited& from, const Site& site);
  static void read_scaling(model::Task& task, const Site& site);
  void read_tasks(model::Job& job, const Site& site);
  void note_config(const std::string& path, const model::Task& task, const Site& site);

  JobSites& sites_;
  const model::Job* job_ = nullptr;
  const model::TaskGroup* group_ = nullptr;
  bool in_task_ = false;
  Dialect extensions_;
};

}  // namespace underway::jobspec::detail
