#include "jobspec/given.hpp"

#include "base/json/json.hpp"

#include <algorithm>

namespace underway::jobspec {
namespace {

using describe::Field;
using describe::Kind;
using describe::Structure;
using describe::Type;
using Names = std::vector<std::string_view>;

/// What Nomad's struct says of what was not given.
struct Shape {
  std::string_view structure;
  Names null;         ///< pointers, slices and maps there
  Names plain = {};   ///< told as nothing: "", 0 or false
  Names always = {};  ///< filled in by the parser
};

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> kShapes = {
      {"job",
       {"Region",
        "Namespace",
        "Type",
        "Priority",
        "AllAtOnce",
        "Datacenters",
        "NodePool",
        "Constraints",
        "Affinities",
        "TaskGroups",
        "Update",
        "Spreads",
        "Periodic",
        "ParameterizedJob",
        "Reschedule",
        "Migrate",
        "Meta",
        "Stop",
        "ParentID",
        "DispatchIdempotencyToken",
        "Payload",
        "Status",
        "StatusDescription",
        "Stable",
        "Version",
        "SubmitTime",
        "CreateIndex",
        "ModifyIndex",
        "JobModifyIndex"},
       {"Dispatched"},
       {"ID", "Name"}},
      {"group",
       {"Name",
        "Count",
        "Constraints",
        "Affinities",
        "Tasks",
        "Spreads",
        "Volumes",
        "RestartPolicy",
        "ReschedulePolicy",
        "EphemeralDisk",
        "Update",
        "Migrate",
        "Networks",
        "Meta",
        "Services",
        "ShutdownDelay",
        "StopAfterClientDisconnect",
        "MaxClientDisconnect",
        "Scaling",
        "Consul"}},
      {"task",
       {"Lifecycle", "Config", "Constraints", "Affinities", "Env", "Services", "Resources", "RestartPolicy", "Meta",
        "KillTimeout", "LogConfig", "Artifacts", "Vault", "Templates", "DispatchPayload", "VolumeMounts",
        "ScalingPolicies", "Identity"},
       {"Name", "Driver", "User", "Leader", "ShutdownDelay", "KillSignal", "Kind"}},
      {"constraint", {}, {"LTarget", "RTarget", "Operand"}},
      {"affinity", {"Weight"}, {"LTarget", "RTarget", "Operand"}},
      {"spread", {"Weight", "SpreadTarget"}, {"Attribute"}},
      {"target", {}, {"Value", "Percent"}},
      {"lifecycle", {}, {"Hook", "Sidecar"}},
      {"service",
       {"Tags", "CanaryTags", "Checks", "CheckRestart", "Meta", "CanaryMeta", "TaggedAddresses"},
       {"Name", "EnableTagOverride", "PortLabel", "AddressMode", "Address", "TaskName", "OnUpdate", "Provider"}},
      {"check",
       {"Args", "Header", "CheckRestart"},
       {"Name",
        "Type",
        "Command",
        "Path",
        "Protocol",
        "PortLabel",
        "Expose",
        "AddressMode",
        "Interval",
        "Timeout",
        "InitialStatus",
        "TLSServerName",
        "TLSSkipVerify",
        "Method",
        "GRPCService",
        "GRPCUseTLS",
        "TaskName",
        "SuccessBeforePassing",
        "FailuresBeforeCritical",
        "Body",
        "OnUpdate"}},
      {"check_restart", {"Grace"}, {"Limit", "IgnoreWarnings"}},
      {"resources", {"CPU", "Cores", "MemoryMB", "MemoryMaxMB", "DiskMB", "Networks", "Devices", "IOPS"}},
      {"network", {"DNS", "ReservedPorts", "DynamicPorts", "MBits"}, {"Mode", "Device", "CIDR", "IP", "Hostname"}},
      {"dns", {"Servers", "Searches", "Options"}},
      {"device", {"Count", "Constraints", "Affinities"}, {"Name"}},
      {"logs", {"MaxFiles", "MaxFileSizeMB", "Disabled"}},
      {"restart", {"Interval", "Attempts", "Delay", "Mode"}},
      {"artifact", {"GetterSource", "GetterOptions", "GetterHeaders", "GetterMode", "RelativeDest"}},
      {"vault", {"Policies", "Namespace", "DisableFile", "ChangeSignal"}, {}, {"Env", "ChangeMode"}},
      {"template",
       {"SourcePath", "DestPath", "EmbeddedTmpl", "ChangeScript", "ChangeSignal", "Uid", "Gid", "LeftDelim",
        "RightDelim", "Envvars", "VaultGrace", "Wait"},
       {},
       {"ChangeMode", "Splay", "Perms", "ErrMissingKey"}},
      {"change_script", {"Command"}, {}, {"Args", "Timeout", "FailOnError"}},
      {"wait", {"Min", "Max"}},
      {"dispatch_payload", {}, {"File"}},
      {"volume_mount", {"Volume", "Destination", "ReadOnly", "PropagationMode"}},
      {"volume", {"MountOptions"}, {"Name", "Type", "Source", "ReadOnly", "AccessMode", "AttachmentMode", "PerAlloc"}},
      {"mount_options", {"MountFlags"}, {"FSType"}},
      {"scaling", {"Min", "Max", "Policy", "Enabled", "Target"}, {"Type", "ID"}},
      {"reschedule", {"Attempts", "Interval", "Delay", "DelayFunction", "MaxDelay", "Unlimited"}},
      {"ephemeral_disk", {"Sticky", "Migrate", "SizeMB"}},
      {"update",
       {"Stagger", "MaxParallel", "HealthCheck", "MinHealthyTime", "HealthyDeadline", "ProgressDeadline", "Canary",
        "AutoRevert", "AutoPromote"}},
      {"migrate", {"MaxParallel", "HealthCheck", "MinHealthyTime", "HealthyDeadline"}},
      {"consul", {}, {"Namespace"}},
      {"periodic", {"Enabled", "Spec", "ProhibitOverlap", "TimeZone"}, {}, {"SpecType"}},
      {"parameterized", {"MetaRequired", "MetaOptional"}, {"Payload"}},
      {"identity", {}, {"Env", "File"}},
  };
  return kShapes;
}

const Shape* shape_of(const Structure& structure) {
  const auto it = std::find_if(shapes().begin(), shapes().end(),
                               [&](const Shape& shape) { return shape.structure == structure.name; });
  return it == shapes().end() ? nullptr : &*it;
}

bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Depends on what is around it, so that it may differ from the default without having been given.
bool derived(const Structure& structure, const Field& field) {
  return structure.name == "restart" || structure.name == "resources" ||
         (structure.name == "group" && field.json == "Count");
}

/// Where an empty word means what nothing does; elsewhere it would be a value.
bool empty_is_nothing(const Field& field, const void* of_default) {
  static const Names kFilledIn = {"Operand", "Provider", "AddressMode", "Protocol", "Mode"};
  return static_cast<const std::string*>(field.in(of_default))->empty() || contains(kFilledIn, field.json);
}

std::string_view nothing(const Field& field, const void* of_default) {
  switch (field.type->kind) {
    case Kind::string:
      return empty_is_nothing(field, of_default) ? R"("")" : "null";
    case Kind::enumeration:
      return R"("")";
    case Kind::boolean:
      return "false";
    case Kind::integer:
    case Kind::number:
    case Kind::duration:
      return "0";
    default:
      return "null";
  }
}

class GivenWriter {
 public:
  explicit GivenWriter(std::string& out) : out_(out) {}

  void object(const Structure& structure, const void* value, const Given& given, std::string_view more = {}) {
    const Shape* shape = shape_of(structure);
    bool first = true;
    out_ += '{';
    for (const auto& field : structure.fields) {
      const bool told = tells(structure, shape, field, value, given);
      const bool null = shape != nullptr && contains(shape->null, field.json);
      const bool plain = shape != nullptr && contains(shape->plain, field.json);
      if (field.json.empty() || (!told && !null && !plain)) continue;
      if (!std::exchange(first, false)) out_ += ',';
      out_ += fmt::format("\"{}\":", field.json);
      if (told)
        member(field, value, given);
      else
        out_ += plain ? nothing(field, structure.defaults()) : "null";
    }
    out_ += more;
    out_ += '}';
  }

 private:
  static bool tells(const Structure& structure, const Shape* shape, const Field& field, const void* value,
                    const Given& given) {
    if (field.json.empty()) return false;
    if (given.names(field.json) || field.form == describe::Form::label) return true;
    if (shape != nullptr && contains(shape->always, field.json)) return true;
    return !derived(structure, field) && !describe::equal(*field.type, field.in(value), field.in(structure.defaults()));
  }

  void member(const Field& field, const void* object, const Given& given) {
    const Type& type = *field.type;
    const void* value = field.in(object);
    const Type* element = type.kind == Kind::structure ? &type : type.element;
    if (element == nullptr || element->kind != Kind::structure)
      return json::append(out_, type, value, json::Encoding::full);
    if (type.kind == Kind::list) return list(field, value, given);
    if (type.kind == Kind::map) return map(field, value, given);
    const bool absent = type.kind == Kind::optional && type.size(value) == 0;
    const void* held = type.kind == Kind::optional && !absent ? type.element_at(value, 0) : value;
    if (absent)
      out_ += "null";
    else
      block(element->structure(), *element, held, given.find(field.json, 0, 1));
  }

  void block(const Structure& structure, const Type& type, const void* value, const Given* given) {
    if (given != nullptr)
      object(structure, value, *given);
    else
      json::append(out_, type, value, json::Encoding::full);
  }

  void list(const Field& field, const void* value, const Given& given) {
    const Type& type = *field.type;
    const std::size_t count = type.size(value);
    out_ += '[';
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out_ += ',';
      block(type.element->structure(), *type.element, type.element_at(value, i), given.find(field.json, i, count));
    }
    out_ += ']';
  }

  void map(const Field& field, const void* value, const Given& given) {
    struct Context {
      GivenWriter& writer;
      const Field& field;
      const Given& given;
      bool first = true;
    } context{*this, field, given};
    out_ += '{';
    field.type->each(value, &context, [](void* raw, const std::string& key, const void* element) {
      auto& [writer, of, by, first] = *static_cast<Context*>(raw);
      if (!std::exchange(first, false)) writer.out_ += ',';
      json::append_string(writer.out_, key);
      writer.out_ += ':';
      writer.block(of.type->element->structure(), *of.type->element, element, by.find(of.json, key));
    });
    out_ += '}';
  }

  std::string& out_;
};

}  // namespace

bool Given::names(std::string_view field) const {
  return fields_.contains(field) || blocks_.contains(field) || keyed_.contains(field);
}

const Given* Given::find(std::string_view field, std::size_t index, std::size_t count) const {
  const auto it = blocks_.find(field);
  return it == blocks_.end() || it->second.size() != count ? nullptr : &it->second[index];
}

const Given* Given::find(std::string_view field, const std::string& key) const {
  const auto it = keyed_.find(field);
  if (it == keyed_.end()) return nullptr;
  const auto found = it->second.find(key);
  return found == it->second.end() ? nullptr : &found->second;
}

Given given_by(const boost::json::object& object, const Structure& structure) {
  Given given;
  for (const auto& [key, value] : object) {
    const Field* field = structure.find_json({key.data(), key.size()});
    if (field == nullptr || value.is_null()) continue;
    given.note(field->json);
    const Type& type = *field->type;
    const Type* element = type.kind == Kind::structure ? &type : type.element;
    if (element == nullptr || element->kind != Kind::structure) continue;
    const Structure& inner = element->structure();
    if (type.kind == Kind::map) {
      if (const auto* members = value.if_object()) {
        for (const auto& [name, member] : *members) {
          if (const auto* block = member.if_object())
            given.add(field->json, std::string(name.data(), name.size())) = given_by(*block, inner);
        }
      }
    } else if (const auto* array = value.if_array()) {
      for (const auto& item : *array) {
        if (const auto* block = item.if_object()) given.add(field->json) = given_by(*block, inner);
      }
    } else if (const auto* block = value.if_object()) {
      given.add(field->json) = given_by(*block, inner);
    }
  }
  return given;
}

std::string encode_given(const model::Job& job, const Given& given) {
  std::string out;
  GivenWriter(out).object(describe::structure_of<model::Job>(), &job, given,
                          R"(,"Multiregion":null,"ConsulToken":null,"VaultToken":null,"ConsulNamespace":null,)"
                          R"("VaultNamespace":null,"NomadTokenID":null)");
  return out;
}

}  // namespace underway::jobspec
