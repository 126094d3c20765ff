#pragma once
/// @file
/// Capsules in the tables: which groups are one, what they are called, their records, and what the engine is told of
/// them.

#include "model/capsule.hpp"
#include "server/guard.hpp"
#include "tables/records.hpp"

namespace underway::tables {

template <>
struct RecordOf<model::Capsule> {
  static constexpr std::string_view kind = "capsule";
  static std::string name(const model::Capsule& capsule) { return model::capsule_key(capsule.ns, capsule.name); }
};

}  // namespace underway::tables

namespace underway::move {

inline constexpr std::string_view kDriver = "capsule";

/// The task that is the capsule; null: the group is none.
const model::Task* capsule_task(const model::TaskGroup& group);
/// What its job calls it: `name` of its configuration; else the job's id, or "<job>.<group>.0" where the job has
/// several.
std::string capsule_name(const model::Job& job, const model::TaskGroup& group);
/// The group's record.
std::optional<model::Capsule> find_capsule(const tables::Tables& tables, const model::Job& job,
                                           const model::TaskGroup& group);
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

}  // namespace underway::move
