// What Nomad's structs say of nothing, struct by struct, and which members they have beside ours. Members that are ours
// alone are left out while they say nothing, so that a site that does not use them sees Nomad's bodies.
#include <stdexcept>
#include <unordered_map>

#include "api/detail/nomad_shape.hpp"
#include "api/nomad/nomad_body.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "model/access/auth_method.hpp"
#include "model/access/quota.hpp"
#include "model/diff/diff.hpp"
#include "model/job/scaling_event.hpp"
#include "model/node/node_pool.hpp"
#include "model/service_instance.hpp"
#include "wire/allocation/allocation_stub.hpp"
#include "wire/job/job_stub.hpp"
#include "wire/job/service_stub.hpp"
#include "wire/node/node_stub.hpp"

namespace underway::api::detail {
namespace {

using describe::Kind;
using Names = std::vector<std::string_view>;
using More = void (*)(std::string&, const void*);
using Shapes = std::unordered_map<const describe::Structure*, Shape>;

/// Of a Go struct nothing else is said of: null for what is a slice, a map, a pointer or a time there.
Empty usual(const describe::Field& field) {
  const Kind kind = field.type->kind;
  const bool nil = kind == Kind::list || kind == Kind::map || kind == Kind::optional || kind == Kind::any;
  return nil || field.time ? Empty::null : Empty::as_is;
}

class Of {
 public:
  template <class T>
  static Of nomad(Shapes& shapes) {
    const auto& structure = describe::structure_of<T>();
    Shape& shape = shapes[&structure];
    for (const auto& field : structure.fields) shape.members.push_back(usual(field));
    return Of(structure, shape);
  }
  Of& keeps(const Names& names) { return all(names, Empty::as_is); }
  Of& null(const Names& names) { return all(names, Empty::null); }
  Of& null_by_default(const Names& names) { return all(names, Empty::null_by_default); }
  /// Ours alone, or with `omitempty` there.
  Of& leaves_out(const Names& names) { return all(names, Empty::left_out); }
  Of& elsewhere(const Names& names) { return all(names, Empty::elsewhere); }
  /// A struct with `_struct bool codec:",omitempty"`.
  Of& leaves_out_all() {
    for (auto& member : shape_.members) member = Empty::left_out;
    return *this;
  }
  void more(More more) { shape_.more = more; }

 private:
  Of(const describe::Structure& structure, Shape& shape) : structure_(structure), shape_(shape) {}

  Of& all(const Names& names, Empty rule) {
    for (const auto name : names) {
      const auto* field = structure_.find_json(name);
      if (field == nullptr) throw std::logic_error(fmt::format("'{}' has no member '{}'", structure_.name, name));
      shape_.members[static_cast<std::size_t>(field - structure_.fields.data())] = rule;
    }
    return *this;
  }

  const describe::Structure& structure_;
  Shape& shape_;
};

/// Nomad's digest of a row, by which its clients see that two are equal; of what the row says, without its revisions.
template <class T>
void append_hash(std::string& out, const void* value) {
  T row = *static_cast<const T*>(value);
  row.create_index = row.modify_index = 0;
  out += ",\"Hash\":\"" + base64_encode(crypto::sha256(json::encode(row, json::Encoding::compact))) + '"';
}

// --- allocations

void more_of_event(std::string& out, const void*) {
  out += R"(,"Message":"","RestartReason":"","SetupError":"","DriverError":"","DriverMessage":"","KillReason":"",)"
         R"("KillTimeout":0,"KillError":"","StartDelay":0,"DownloadError":"","ValidationError":"","DiskLimit":0,)"
         R"("FailedSibling":"","VaultError":"","TaskSignalReason":"","TaskSignal":"","GenericSource":"")";
}

/// Null there when nothing was tried again, and not an empty list.
void more_of_stub(std::string& out, const void* value) {
  if (static_cast<const wire::AllocationStub*>(value)->reschedules.empty()) out += R"(,"RescheduleTracker":null)";
}

void add_allocations(Shapes& shapes) {
  Of::nomad<model::TaskEvent>(shapes).keeps({"Details"}).more(more_of_event);
  Of::nomad<model::TaskState>(shapes).more([](std::string& out, const void*) { out += R"(,"TaskHandle":null)"; });
  Of::nomad<model::AllocatedPort>(shapes);
  Of::nomad<model::AllocatedDevice>(shapes);
  Of::nomad<model::TaskResources>(shapes).more([](std::string& out, const void*) { out += R"(,"Networks":null)"; });
  Of::nomad<model::NodeScore>(shapes);
  Of::nomad<model::AllocMetric>(shapes).more(
      [](std::string& out, const void*) { out += R"(,"ResourcesExhausted":null,"Scores":null)"; });
  Of::nomad<model::AllocHealth>(shapes).leaves_out({"Description"}).more([](std::string& out, const void*) {
    out += R"(,"ModifyIndex":0)";
  });
  Of::nomad<model::AllocNetworkStatus>(shapes).leaves_out({"AddressIPv6"});
  Of::nomad<model::RescheduleEvent>(shapes);
  Of::nomad<model::DesiredTransition>(shapes)
      .null({"Migrate", "Reschedule", "NoShutdownDelay"})
      .leaves_out({"WithMachines", "Wakes", "ToNode"})
      .more([](std::string& out, const void*) { out += R"(,"ForceReschedule":null)"; });
  Of::nomad<model::Allocation>(shapes)
      .leaves_out_all()
      .keeps({"Metrics"})
      .elsewhere({"AllocatedResources", "NetworkStatus"});
  Of::nomad<wire::AllocationStub>(shapes)
      .null({"DeploymentStatus"})
      .leaves_out({"WaitingFor", "RescheduleTracker.Events"})
      .elsewhere({"AllocatedResources"})
      .more(more_of_stub);
}

// --- jobs

void more_of_job(std::string& out, const void* value) {
  out += R"(,"Multiregion":null,"ConsulToken":"","ConsulNamespace":"","VaultToken":"","VaultNamespace":"",)"
         R"("NomadTokenID":"")";
  // A struct there, and not a pointer to one.
  if (!static_cast<const model::Job*>(value)->update)
    out += R"(,"Update":{"Stagger":0,"MaxParallel":0,"HealthCheck":"","MinHealthyTime":0,"HealthyDeadline":0,)"
           R"("ProgressDeadline":0,"AutoRevert":false,"AutoPromote":false,"Canary":0})";
}

/// Nomad's own library asks for it of every job that it reads.
void more_of_group(std::string& out, const void* value) {
  if (!static_cast<const model::TaskGroup*>(value)->consul) out += R"(,"Consul":{"Namespace":""})";
}

void add_groups_and_tasks(Shapes& shapes) {
  Of::nomad<model::TaskGroup>(shapes)
      .null({"ShutdownDelay"})
      .leaves_out({"Consul", "Disconnect", "DependsOn", "MaxRunDuration", "PreventRescheduleOnLost"})
      .more(more_of_group);
  Of::nomad<model::Task>(shapes)
      .leaves_out({"Identities", "Actions", "Secrets", "Schedule", "Consul"})
      .more([](std::string& out, const void*) { out += R"(,"CSIPluginConfig":null)"; });
  Of::nomad<model::Resources>(shapes).leaves_out({"PIDs", "SecretsMB", "NUMA"});
  Of::nomad<model::RequestedDevice>(shapes);
  Of::nomad<model::RestartPolicy>(shapes).leaves_out({"RenderTemplates"});
  Of::nomad<model::UpdateStrategy>(shapes);
  Of::nomad<model::MigrateStrategy>(shapes);
  Of::nomad<model::RescheduleStrategy>(shapes);
  Of::nomad<model::Lifecycle>(shapes);
  Of::nomad<model::Artifact>(shapes).leaves_out({"Chown"});
  Of::nomad<model::ChangeScript>(shapes).leaves_out({"RunOnFirstRender"});
  Of::nomad<model::TemplateWait>(shapes);
  Of::nomad<model::Template>(shapes)
      .leaves_out({"Once"})
      .null_by_default({"Uid", "Gid"})
      .more([](std::string& out, const void*) { out += R"(,"VaultGrace":0)"; });
  Of::nomad<model::LogConfig>(shapes);
  Of::nomad<model::EphemeralDisk>(shapes);
  Of::nomad<model::NetworkResource>(shapes).leaves_out({"Hostname", "CNI"}).more([](std::string& out, const void*) {
    out += R"(,"CIDR":"")";
  });
  Of::nomad<model::Port>(shapes).leaves_out({"IgnoreCollision"});
  Of::nomad<model::Dns>(shapes);
  Of::nomad<model::VolumeRequest>(shapes).leaves_out({"Sticky"});
  Of::nomad<model::VolumeMount>(shapes).leaves_out({"SELinuxLabel"});
  Of::nomad<model::MountOptions>(shapes);
  Of::nomad<model::Scaling>(shapes);
}

void add_jobs(Shapes& shapes) {
  Of::nomad<model::Job>(shapes)
      .leaves_out({"Update", "Migrate", "Reschedule", "DependsOn", "UI", "VersionTag", "Cluster"})
      .more(more_of_job);
  Of::nomad<model::Constraint>(shapes);
  Of::nomad<model::Affinity>(shapes);
  Of::nomad<model::Spread>(shapes).leaves_out({"AcrossGroups"});
  Of::nomad<model::Periodic>(shapes).leaves_out({"Specs"});
  Of::nomad<model::Parameterized>(shapes);
  Of::nomad<model::Service>(shapes)
      .leaves_out({"Weights", "Identity", "Cluster", "Kind", "CheckRestart"})
      .more([](std::string& out, const void*) { out += R"(,"Connect":null)"; });
  Of::nomad<model::Check>(shapes).leaves_out({"TLSServerName", "Notes", "FailuresBeforeWarning"});
  Of::nomad<model::CheckRestart>(shapes);
  add_groups_and_tasks(shapes);
  Of::nomad<wire::JobStub>(shapes).leaves_out({"Meta", "Cluster"}).more([](std::string& out, const void*) {
    out += R"(,"Multiregion":null)";
  });
  Of::nomad<model::FieldDiff>(shapes).leaves_out({"Lines"});
  Of::nomad<model::ObjectDiff>(shapes);
  Of::nomad<model::TaskDiff>(shapes);
  Of::nomad<model::TaskGroupDiff>(shapes);
  Of::nomad<model::JobDiff>(shapes);
  Of::nomad<model::JobSubmission>(shapes);
  Of::nomad<model::ScalingEvent>(shapes);
}

// --- evaluations, deployments, nodes

/// Nomad tells by which state of the world it was worked out.
void more_of_evaluation(std::string& out, const void* value) {
  const auto& evaluation = *static_cast<const model::Evaluation*>(value);
  if (evaluation.status != model::EvalStatus::pending && evaluation.create_index > 0)
    out += fmt::format(",\"SnapshotIndex\":{}", evaluation.create_index);
}

void add_work(Shapes& shapes) {
  Of::nomad<model::Evaluation>(shapes).leaves_out_all().more(more_of_evaluation);
  Of::nomad<model::Deployment>(shapes).more([](std::string& out, const void*) { out += R"(,"IsMultiregion":false)"; });
  Of::nomad<model::DeploymentState>(shapes);
}

void add_nodes(Shapes& shapes) {
  // Those that Nomad's client makes before it looks at anything.
  Of::nomad<model::Node>(shapes)
      .keeps({"Attributes", "Meta", "Drivers"})
      .leaves_out({"Host", "Cluster", "SlurmDrain", "LastStart"});
  Of::nomad<wire::NodeStub>(shapes)
      .keeps({"Drivers"})
      .leaves_out({"Attributes", "NodeResources", "ReservedResources", "Host", "Cluster"});
  Of::nomad<model::DriverInfo>(shapes);
  Of::nomad<model::NodeEvent>(shapes);
  Of::nomad<model::NodeResources>(shapes);
  Of::nomad<model::NodeDeviceGroup>(shapes);
  Of::nomad<model::NodeDevice>(shapes).leaves_out({"Paths"});
  Of::nomad<model::DrainStrategy>(shapes).leaves_out({"AskSlurm"});
  Of::nomad<model::DrainMetadata>(shapes);
  Of::nomad<model::NodeVolume>(shapes).leaves_out({"ID", "Namespace", "Capabilities"});
}

// --- who may do what, and where

void add_rest(Shapes& shapes) {
  Of::nomad<model::Namespace>(shapes)
      .null({"Capabilities"})
      .leaves_out({"AllowedUsers", "HostRights", "RawExecAsRoot"})
      .more([](std::string& out, const void* value) {
        out += R"(,"NodePoolConfiguration":null)";
        append_hash<model::Namespace>(out, value);
      });
  Of::nomad<model::NamespaceCapabilities>(shapes).leaves_out({"EnabledNetworkModes", "DisabledNetworkModes"});
  Of::nomad<model::NodePool>(shapes)
      .null({"SchedulerConfiguration"})
      .leaves_out({"NodeIdentityTTL"})
      .more(append_hash<model::NodePool>);
  Of::nomad<model::AclPolicy>(shapes).more(append_hash<model::AclPolicy>);
  Of::nomad<model::AclToken>(shapes).keeps({"ExpirationTime"}).more([](std::string& out, const void* value) {
    auto told = *static_cast<const model::AclToken*>(value);
    told.secret_hash = told.sealed = told.key_id = {};  // what only the server knows is in no digest of it
    append_hash<model::AclToken>(out, &told);
  });
  Of::nomad<model::AclRole>(shapes).more(append_hash<model::AclRole>);
  Of::nomad<model::AuthMethod>(shapes).more(append_hash<model::AuthMethod>);
  Of::nomad<model::AuthMethodConfig>(shapes).leaves_out(
      {"OIDCClientAssertion", "OIDCEnablePKCE", "VerboseLogging", "EndpointHosts"});
  Of::nomad<model::BindingRule>(shapes).more(append_hash<model::BindingRule>);
  Of::nomad<model::Quota>(shapes).more(append_hash<model::Quota>);
  Of::nomad<model::QuotaLimit>(shapes);
  Of::nomad<model::ServiceInstance>(shapes).leaves_out({"Meta"});
  Of::nomad<wire::ServiceListStub>(shapes);
}

Shapes all_shapes() {
  Shapes shapes;
  add_allocations(shapes);
  add_jobs(shapes);
  add_work(shapes);
  add_nodes(shapes);
  add_rest(shapes);
  return shapes;
}

}  // namespace

const Shape* find_shape(const describe::Structure& structure) {
  static const Shapes shapes = all_shapes();
  const auto found = shapes.find(&structure);
  return found == shapes.end() ? nullptr : &found->second;
}

}  // namespace underway::api::detail
