#pragma once
/// @file
/// What a job asks to be saved of its capsule (blocks `snapshot` and `backup` of the config), kept beside the capsule's
/// overlay, so that it is known to whoever carries it out (capsule/saving), also after the capsule has ended:
///
///     <capsules>/<namespace>/<name>/saving.json     Saving, mode 0600

#include <optional>
#include <string>

#include "base/json/describe.hpp"
#include "model/job/job.hpp"
#include "overlay/snapshot_store.hpp"
#include "run/running.hpp"

namespace underway::run {

struct Saving {
  std::optional<overlay::SnapshotSchedule> snapshot;
  std::optional<overlay::BackupSchedule> backup;
  model::Job job;  ///< as it was started: all variables replaced, with this one task
  std::string group;
};
const describe::Structure& description(describe::Tag<Saving>);

void write_saving(const std::string& capsules, const std::string& ns, const std::string& name, const Saving& saving);
std::optional<Saving> find_saving(const std::string& capsules, const std::string& ns, const std::string& name);

}  // namespace underway::run
