#pragma once
/// @file
/// Templates, in Go's template language as in Nomad (docs/reference/templates.md). The `data` of a job file was
/// evaluated once already, when the file was parsed; what is left in it is each `${…}` that only the node can answer,
/// which is filled in before the template is read. A `source` file is a template as it is.
///
/// Roots of `${…}`: env (the task's environment), attr, meta, node, secret (when the task has such blocks), and every
/// NOMAD_* variable by its name.

#include <map>
#include <string>
#include <vector>

#include "hcl/context.hpp"
#include "model/job/job.hpp"
#include "node/artifact/destination.hpp"
#include "node/server/cluster_data.hpp"
#include "node/streams/file_access.hpp"
#include "node/task/environment.hpp"
#include "node/task/interpolate.hpp"
#include "os/process/user.hpp"

namespace underway::node {

/// What `${…}` sees, built once per rendering of a task.
hcl::Context template_context(const Interpolation& interpolation);

/// `data`: each `${…}` that is an expression over the roots above is replaced; others stay as they are, as a shell's
/// `${x}` must. Errors: invalid, with the place, when a known root lacks what is asked for.
std::string render_data(const std::string& data, const hcl::Context& context, const std::string& name);

struct TemplateInputs {
  const model::Task& task;
  const Interpolation& interpolation;
  std::string allocation_root;
  TaskPaths view;
  os::Owner owner;                     ///< of files that name no uid and gid
  bool allow_outside_sources = false;  ///< disable_file_sandbox
  TimePoint now{};
  std::int64_t disk_mb = 0;  ///< the group's `ephemeral_disk` in MiB; 0: artifacts are not bounded by it
  TemplateAsker asker;
  ClusterData* cluster = nullptr;             ///< null: variables and services are not known
  const sources::Settings* compat = nullptr;  ///< null: where Consul's and Vault's functions read is as by default
};

/// What a rendering changed.
struct Rendering {
  std::vector<std::size_t> changed;  ///< indexes of templates whose file was written
  model::StringMap environment;      ///< of those with `env`, all of them
  /// What is not there yet, each once. The templates that need it were not written.
  std::vector<std::string> missing;
  gotemplate::Dependencies dependencies;
};

/// Renders every template and writes the files whose content is not there yet. Blocks: yes (disk).
/// Errors: those of rendering and writing, naming the template.
Rendering render_templates(const TemplateInputs& inputs);

/// What must happen because `changed` templates were rewritten: the strongest of their change modes.
struct TemplateChange {
  bool restart = false;
  std::vector<std::string> signals;                 ///< once each
  std::vector<const model::ChangeScript*> scripts;  ///< in order
  Duration splay{0};                                ///< the longest; a random part of it is waited
};
TemplateChange decide_change(const std::vector<model::Template>& templates, const std::vector<std::size_t>& changed);

}  // namespace underway::node
