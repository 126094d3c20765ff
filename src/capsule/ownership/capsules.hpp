#pragma once
/// @file
/// Capsules in the tables: their records, and what the engine is told of them.

#include "model/capsule/capsule.hpp"
#include "model/capsule/capsule_name.hpp"
#include "run/config/config.hpp"
#include "server/guard.hpp"
#include "tables/records.hpp"

namespace underway::tables {

template <>
struct RecordOf<model::Capsule> {
  static constexpr std::string_view kind = "capsule";
  static std::string name(const model::Capsule& capsule) { return model::capsule_key(capsule.ns, capsule.name); }
};

}  // namespace underway::tables

namespace underway::ownership {

using model::capsule_name;
using model::capsule_task;

/// What the group's capsule is started from, as the job asks for it; empty: nothing, or the group is none.
std::string image_of(const model::Job& job, const std::string& group);
/// What its job asks for in case its host dies.
run::ProtectConfig protection_of(const model::Job& job, const std::string& group);
/// Why the operator should know what would be lost now, in words: "a copy that is 40s old, and 5s were declared";
/// empty: no reason. `successor`: of now. What has just begun is given some time.
std::string exposed(const model::Capsule& capsule, TimePoint now);
/// The job, asking for another image.
model::Job with_image(const model::Job& job, const std::string& group, const std::string& image);
/// The group's record.
std::optional<model::Capsule> find_capsule(const tables::Tables& tables, const model::Job& job,
                                           const model::TaskGroup& group);
/// The newest copy that another node could start from if the owner was last heard of at `lost`, ns since the epoch;
/// null: there is none.
const model::CapsuleReplica* best_replica(const tables::Tables& tables, const model::Capsule& capsule,
                                          std::int64_t lost);
/// Who would take over if the owner were lost at `now`.
model::CapsuleSuccessor successor_of(const tables::Tables& tables, const model::Capsule& capsule, TimePoint now);
/// By "name" in the namespace. Throws not_found.
model::Capsule get_capsule(const tables::Tables& tables, const std::string& ns, const std::string& name);

/// Says that a capsule starts only where its record has its allocation, and is placed only there.
class CapsuleGuard final : public server::Guard {
 public:
  bool concerns(const model::Allocation& allocation) const override;
  std::optional<std::string> holds(const tables::Tables& tables, const model::Allocation& allocation) const override;
  std::optional<std::string> home(const tables::Tables& tables, const model::Job& job,
                                  const model::TaskGroup& group) const override;
};

}  // namespace underway::ownership
