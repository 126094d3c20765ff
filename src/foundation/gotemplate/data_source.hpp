#pragma once
/// @file
/// What a rendering asks its surroundings, and the record of what it asked. The node implements DataSource over what it
/// has at hand: it never waits. What is not known yet is a missing answer: the rendering then ends without a text and
/// says what is missing, and whoever watches `Dependencies` renders again.

#include "base/clock.hpp"
#include "gotemplate/foreign_data.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace underway::gotemplate {

struct VariableMetadata {
  std::string namespace_name;
  std::string path;
  std::uint64_t create_index = 0;
  std::uint64_t modify_index = 0;
  TimePoint create_time{};
  TimePoint modify_time{};
};

struct Variable {
  VariableMetadata metadata;
  std::map<std::string, std::string> items;
};

/// One instance of a service.
struct ServiceInstance {
  std::string id;
  std::string name;
  std::string node;
  std::string address;
  std::int64_t port = 0;
  std::string datacenter;
  std::vector<std::string> tags;
  std::string job_id;
  std::string alloc_id;
};

struct Dependencies;

/// `namespace_name` is empty for the job's own namespace. An answer that is nothing means: not known yet.
/// Thread: that of the rendering. Blocks: no, but for read_file (disk).
class DataSource {
 public:
  template <class T>
  using Answer = std::optional<T>;

  virtual ~DataSource() = default;
  /// The task's environment; nothing when it has no such variable.
  virtual std::optional<std::string> env(const std::string& name) = 0;
  /// Known and absent is an answer that holds nothing.
  virtual Answer<std::optional<Variable>> variable(const std::string& path, const std::string& namespace_name) = 0;
  virtual Answer<std::vector<VariableMetadata>> variables(const std::string& prefix,
                                                          const std::string& namespace_name) = 0;
  /// No instance is an answer too: an empty list.
  virtual Answer<std::vector<ServiceInstance>> service(const std::string& name) = 0;
  virtual Answer<std::vector<ServiceSummary>> services() = 0;
  /// What Consul's and Vault's functions ask. What had to be known for the answer is added to `used`: the query itself,
  /// or the variables and services that stand in for it here. Errors: unsupported where nothing answers such queries.
  virtual ForeignReply foreign(const ForeignQuery& query, Dependencies& used);
  /// A file inside the allocation. Errors: denied when it lies elsewhere, not_found.
  virtual std::string read_file(const std::string& path) = 0;
};

/// What a rendering asked for, so that its asker knows what to watch. Variables and prefixes are written as in the
/// template, "path" or "path@namespace".
struct Dependencies {
  std::set<std::string> variables;
  std::set<std::string> variable_prefixes;
  std::set<std::string> services;
  bool services_list = false;
  std::set<ForeignQuery> foreign;
  std::set<std::string> files;

  bool empty() const {
    return variables.empty() && variable_prefixes.empty() && services.empty() && !services_list && foreign.empty() &&
           files.empty();
  }
  void merge(const Dependencies& other);
  bool operator==(const Dependencies&) const = default;
};

}  // namespace underway::gotemplate
