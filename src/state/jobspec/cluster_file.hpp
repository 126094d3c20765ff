#pragma once
/// @file
/// A cluster's directory: cluster.hcl (the `cluster` block, `namespace` blocks with what its jobs need of them, and
/// variables and locals that all files share, `file` blocks with what is the same everywhere), *.files.hcl with more
/// `file` blocks, every other *.hcl as a job file, and underway.vars.hcl with values for variables. Job files see the
/// cluster as the root `cluster`: { name, datacenter, networks, pools }; each pool has { name, size, cpus, memory,
/// hosts }, each host { name, address, addresses }.

#include "jobspec/jobspec.hpp"
#include "model/access/namespace.hpp"
#include "model/cluster.hpp"
#include "model/file.hpp"

#include <functional>

namespace underway::jobspec {

inline constexpr const char* kClusterFile = "cluster.hcl";
inline constexpr const char* kVariablesFile = "underway.vars.hcl";
inline constexpr const char* kFilesEnding = ".files.hcl";

/// Host → network → address.
using Addresses = std::map<std::string, std::map<std::string, std::string>>;

struct DirectoryInputs {
  /// base_dir and roots are set by load_directory.
  Inputs inputs{};
  /// Who has which address, as the host provider will assign them. May throw Error: reported at the cluster block.
  std::function<Addresses(const model::Cluster&)> addresses{};
  /// Further roots, made from the cluster and its `cluster` root: `slurm`. May throw Error.
  std::function<std::map<std::string, hcl::Value>(const model::Cluster&, const hcl::Value&)> roots{};
  /// Whether a job outside of the directory exists, for depends_on. Absent: none does.
  std::function<bool(std::string_view)> job_exists{};
};

struct JobFile {
  std::string file;  ///< its name in the directory
  std::string source;
  model::Job job;
};

struct Directory {
  model::Cluster cluster;
  std::vector<JobFile> jobs;  ///< by file name
  std::vector<model::Namespace> namespaces;
  std::vector<model::FileDeclaration> files;  ///< with their content, by name
};

struct DirectoryResult {
  std::optional<Directory> directory;  ///< present exactly when there was no error
  hcl::Diagnostics diagnostics;        ///< of all files
};

/// Reads the directory. Blocks: yes (disk).
DirectoryResult load_directory(const std::filesystem::path& path, const DirectoryInputs& inputs);

struct SourceFile {
  std::string name;
  std::string text;
};

/// The same from texts that were read already; `base` is where file functions start.
DirectoryResult load_directory(const std::vector<SourceFile>& files, const std::filesystem::path& base,
                               const DirectoryInputs& inputs);

/// The `cluster` root that job files see.
hcl::Value cluster_root(const model::Cluster& cluster, const Addresses& addresses);

}  // namespace underway::jobspec
