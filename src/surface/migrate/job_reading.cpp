#include "migrate/job_reading.hpp"

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "jobspec/jobspec.hpp"
#include "migrate/kinds.hpp"
#include "model/validate/validate.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace underway::migrate {
namespace {

/// What a Nomad keeps of a job that is no part of it, or that says only where the job came from.
bool is_kept(std::string_view path) {
  static const std::set<std::string_view> kKept = {"Job.NomadTokenID",    "Job.VaultNamespace",
                                                   "Job.ConsulNamespace", "Job.CreateTime",
                                                   "Job.ModifyTime",      "Job.DispatchIdempotencyToken"};
  return kKept.contains(path);
}

void find_unknown(const boost::json::value& json, const describe::Type& type, const std::string& path,
                  std::vector<std::string>& out);

void find_unknown(const boost::json::object& object, const describe::Structure& structure, const std::string& path,
                  std::vector<std::string>& out) {
  for (const auto& [key, value] : object) {
    const std::string name = fmt::format("{}.{}", path, std::string_view(key));
    const auto* field = structure.find_json(std::string(key));
    if (field != nullptr)
      find_unknown(value, *field->type, name, out);
    else if (!structure.nests(std::string(key)) && !says_nothing(value) && !is_kept(name))
      out.push_back(name);
  }
}

void find_unknown(const boost::json::value& json, const describe::Type& type, const std::string& path,
                  std::vector<std::string>& out) {
  using describe::Kind;
  if (type.kind == Kind::structure && json.is_object()) {
    find_unknown(json.get_object(), type.structure(), path, out);
  } else if (type.kind == Kind::optional) {
    find_unknown(json, *type.element, path, out);
  } else if (type.kind == Kind::list && json.is_array()) {
    std::size_t index = 0;
    for (const auto& element : json.get_array())
      find_unknown(element, *type.element, fmt::format("{}[{}]", path, index++), out);
  } else if (type.kind == Kind::map && json.is_object()) {
    for (const auto& [key, element] : json.get_object())
      find_unknown(element, *type.element, fmt::format("{}.{}", path, std::string_view(key)), out);
  }
}

/// Source: nomad/job_endpoint_hooks.go of Nomad 1.6 (implicit constraints), by what they are about.
struct Derived {
  std::string_view attribute;  ///< or its beginning, when it ends in '.'
  std::string_view note;       ///< what is different here; empty: nothing
};
constexpr Derived kDerived[] = {
    {"attr.nomad.service_discovery", ""},
    {"attr.os.signals", ""},
    {"attr.plugins.cni.version.", ""},
    {"attr.numa.", ""},
    {"attr.consul.version", "its services were Consul's; here they are in the built-in catalogue"},
    {"attr.consul.grpc", "its services were Consul's; here they are in the built-in catalogue"},
    {"attr.consul.dns.", "its services were Consul's; here they are in the built-in catalogue"},
    {"attr.vault.version", "its secrets came from Vault; here they are variables: write them with `underway var put`"},
};

const Derived* find_derived(const model::Constraint& constraint) {
  std::string_view target = constraint.ltarget;
  if (!target.starts_with("${") || !target.ends_with("}")) return nullptr;
  target = target.substr(2, target.size() - 3);
  for (const auto& derived : kDerived) {
    if (derived.attribute.ends_with('.') ? target.starts_with(derived.attribute) : target == derived.attribute)
      return &derived;
  }
  return nullptr;
}

const boost::json::object* object_in(const boost::json::object& body, std::string_view name) {
  const auto* value = body.if_contains(name);
  return value != nullptr ? value->if_object() : nullptr;
}

bool is_number(const boost::json::object& body, std::string_view name, std::int64_t wanted) {
  const auto* value = body.if_contains(name);
  return value != nullptr && value->is_int64() && value->get_int64() == wanted;
}

/// The identity that every task has since Nomad 1.5, when its author said nothing of it.
bool is_filled_in(const boost::json::object& identity) {
  const auto unset = [&](std::string_view name) {
    const auto* value = identity.if_contains(name);
    return value == nullptr || says_nothing(*value);
  };
  return unset("Env") && unset("File") && unset("Filepath") && unset("TTL") && unset("ChangeMode") &&
         unset("ExtraClaims");
}

void drop_filled_in_of_task(boost::json::object& task) {
  if (const auto* identity = object_in(task, "Identity"); identity != nullptr && is_filled_in(*identity))
    task["Identity"] = nullptr;
  if (const auto* consul = object_in(task, "Consul"); consul != nullptr && says_nothing(*consul))
    task["Consul"] = nullptr;
}

/// Without what Nomad fills in where nothing was written, and what it writes of stanzas that it has moved into groups.
boost::json::object without_filled_in(boost::json::object job) {
  // Of a job the wire keeps how many and how far apart; all that holds stands in its groups.
  if (const auto* update = object_in(job, "Update"); update != nullptr && is_number(*update, "HealthyDeadline", 0))
    job["Update"] = nullptr;
  const auto* type = job.if_contains("Type");
  const bool rolls = type == nullptr || (*type != "batch" && *type != "sysbatch");
  const bool everywhere = type != nullptr && (*type == "system" || *type == "sysbatch");
  if (auto* groups = job.if_contains("TaskGroups"); groups != nullptr && groups->is_array()) {
    for (auto& group : groups->get_array()) {
      if (!group.is_object()) continue;
      // Of kinds of jobs that have none: older versions keep them all the same.
      const auto* own = object_in(group.get_object(), "Update");
      if (!rolls && own != nullptr && is_number(*own, "MaxParallel", 0)) group.get_object()["Update"] = nullptr;
      const auto* moves = object_in(group.get_object(), "ReschedulePolicy");
      if (everywhere && moves != nullptr && is_number(*moves, "Attempts", 0))
        group.get_object()["ReschedulePolicy"] = nullptr;
      const auto* consul = object_in(group.get_object(), "Consul");
      if (consul != nullptr && says_nothing(*consul)) group.get_object()["Consul"] = nullptr;
      auto* tasks = group.get_object().if_contains("Tasks");
      if (tasks == nullptr || !tasks->is_array()) continue;
      for (auto& task : tasks->get_array()) {
        if (task.is_object()) drop_filled_in_of_task(task.get_object());
      }
    }
  }
  return job;
}

class Settler {
 public:
  explicit Settler(const Object& object) : object_(object) {}

  JobReading run() {
    std::vector<std::string> unknown;
    find_unknown(object_.body, describe::kType<model::Job>, "Job", unknown);
    for (const auto& name : unknown)
      out_.notes.push_back(fmt::format("{} is not known here and is left out", printable(name)));
    try {
      settle(jobspec::job_from_json(without_filled_in(object_.body)));
    } catch (const Error& error) {
      out_.refusals = error.reasons();
      if (out_.refusals.empty()) out_.refusals.push_back(error.message());
    }
    for (auto& line : out_.refusals) line = printable(line);
    if (!out_.refusals.empty()) out_.job.reset();
    return std::move(out_);
  }

 private:
  void settle(model::Job job) {
    job.stop = job.stable = job.dispatched = false;
    job.status = {};
    job.status_description.clear();
    job.version = job.submit_time = job.create_index = job.modify_index = job.job_modify_index = 0;
    job.version_tag.reset();
    job.cluster.clear();
    forget_scaling_ids(job);
    drop_derived(job.constraints);
    for (auto& group : job.groups) {
      drop_derived(group.constraints);
      for (auto& network : group.networks) {
        if (network.mode.empty()) network.mode = "host";
      }
      for (auto& task : group.tasks) {
        drop_derived(task.constraints);
        note_driver(task);
      }
    }
    for (const auto& problem : model::validate(job)) out_.refusals.push_back(problem.text());
    if (job.id != object_.name || job.ns != object_.ns)
      out_.refusals.push_back("the server tells of another job than was asked for");
    out_.job = std::move(job);
  }

  /// They are computed.
  static void forget_scaling_ids(model::Job& job) {
    for (auto& group : job.groups) {
      if (group.scaling) group.scaling->id.clear();
      for (auto& task : group.tasks) {
        for (auto& scaling : task.scaling) scaling.id.clear();
      }
    }
  }

  void drop_derived(std::vector<model::Constraint>& constraints) {
    std::erase_if(constraints, [&](const model::Constraint& constraint) {
      const auto* derived = find_derived(constraint);
      if (derived == nullptr || is_written(derived->attribute)) return false;
      if (!derived->note.empty()) note_once(std::string(derived->note));
      return true;
    });
  }
  bool is_written(std::string_view attribute) const {
    return object_.submission && object_.submission->source.find(attribute) != std::string::npos;
  }

  void note_driver(const model::Task& task) {
    static const std::set<std::string_view> kHere = {"exec", "raw_exec", "podman", "docker", "capsule"};
    if (!kHere.contains(task.driver))
      note_once(fmt::format("no node here has the driver '{}': task '{}' would wait", printable(task.driver),
                            printable(task.name)));
  }
  void note_once(std::string note) {
    if (std::find(out_.notes.begin(), out_.notes.end(), note) == out_.notes.end())
      out_.notes.push_back(std::move(note));
  }

  const Object& object_;
  JobReading out_;
};

}  // namespace

JobReading read_job(const Object& object) { return Settler(object).run(); }

namespace {

using Key = std::pair<std::string, std::string>;

/// What a job needs of others before it.
std::vector<Key> needs(const JobReading& reading) {
  std::vector<Key> out;
  if (!reading.job) return out;
  const auto add = [&](const std::vector<model::Dependency>& dependencies) {
    for (const auto& dependency : dependencies) out.emplace_back(reading.job->ns, dependency.job);
  };
  add(reading.job->depends_on);
  for (const auto& group : reading.job->groups) add(group.depends_on);
  return out;
}

/// Longer chains than any site has: beyond, the order is the server's to complain of.
constexpr int kLongestChain = 1'000;

class Order {
 public:
  explicit Order(std::vector<ReadJob> jobs) : jobs_(std::move(jobs)), met_(jobs_.size()) {
    for (std::size_t i = 0; i < jobs_.size(); ++i) by_key_[{jobs_[i].from->ns, jobs_[i].from->name}] = i;
  }
  std::vector<ReadJob> run() {
    for (std::size_t i = 0; i < jobs_.size(); ++i) visit(i, 0);
    return std::move(out_);
  }

 private:
  /// A cycle is cut where it is met: the server refuses it.
  void visit(std::size_t index, int depth) {
    if (met_[index] || depth > kLongestChain) return;
    met_[index] = true;
    for (const auto& key : needs(jobs_[index].reading)) {
      if (const auto found = by_key_.find(key); found != by_key_.end()) visit(found->second, depth + 1);
    }
    out_.push_back(std::move(jobs_[index]));
  }

  std::vector<ReadJob> jobs_, out_;
  std::vector<bool> met_;
  std::map<Key, std::size_t> by_key_;
};

}  // namespace

std::vector<ReadJob> read_jobs(const Inventory& inventory) {
  std::vector<ReadJob> jobs;
  for (const auto& object : inventory.objects) {
    if (object.kind == Kind::job) jobs.push_back({&object, read_job(object)});
  }
  return Order(std::move(jobs)).run();
}

bool same_job(const model::Job& a, const model::Job& b) { return describe::equal(a, b); }

}  // namespace underway::migrate
