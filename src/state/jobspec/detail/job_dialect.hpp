#pragma once
/// @file
/// What the job language has beyond the descriptions of model/job.hpp.

#include "jobspec/decode.hpp"
#include "model/job.hpp"

#include <map>
#include <span>

namespace underway::jobspec::detail {

/// A name of Nomad's specification that the model lacks.
struct Unsupported {
  std::string_view structure;  ///< in which block
  std::string_view hcl;        ///< empty: only on the wire
  std::string_view json;       ///< empty: only in files
};
std::span<const Unsupported> unsupported_names();

/// A constraint's operator written as an attribute: `distinct_hosts = true`, `version = ">= 5"`.
struct Shorthand {
  enum class Takes { flag, target, value };
  std::string_view name;  ///< also the operator's
  Takes takes;
  std::string_view doc;
};
std::span<const Shorthand> constraint_shorthands();

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
  void add_constraint();
  void add_context();
  void read_tasks(model::Job& job, const Site& site);

  JobSites& sites_;
  const model::Job* job_ = nullptr;
  const model::TaskGroup* group_ = nullptr;
  bool in_task_ = false;
  Dialect extensions_;
};

}  // namespace underway::jobspec::detail
