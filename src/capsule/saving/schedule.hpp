#pragma once
/// @file
/// Carries out what a capsule's job asks for: snapshots, backups, drills, when their time has come. How it went is in a
/// file beside the overlay, so that nothing is done twice because the agent was started again:
///
///     <capsules>/<namespace>/<name>/saved.json     model::CapsuleSaving

#include "model/capsule/saving.hpp"
#include "run/saving.hpp"
#include "saving/saver.hpp"

namespace underway::saving {

/// As it stands: what the job asks for now, and how it went. Nothing: it asks for nothing and never has.
std::optional<model::CapsuleSaving> find_saved(const std::string& capsules, const CapsuleName& capsule, TimePoint now);

/// What is told of a capsule that runs, with how full its overlay is.
model::CapsuleSaving look_at(const std::string& capsules, const CapsuleName& capsule, TimePoint now);
/// Puts it in.
void measure(const std::string& capsules, model::CapsuleSaving& saved);

enum class Work : std::uint8_t { snapshot, backup, drill };
/// Of what is due what has waited longest; nothing: nothing is. Pure.
std::optional<Work> due(const model::CapsuleSaving& saved, TimePoint now);
/// From 0 to 1, always the same for a capsule. Pure.
double spread_of(std::string_view ns, std::string_view name);

/// Whether the job says nothing of snapshots.
bool is_by_default(const Saver& saver, const CapsuleName& capsule);
/// Ids of the snapshots that the schedule took, oldest first, that it need not keep. One that for once could not be
/// taken but as a copy takes no others away. Pure.
std::vector<std::string> superfluous(const run::Saving& saving, const std::vector<model::Snapshot>& taken);

/// When a snapshot last gave way to its capsule.
struct Room {
  std::optional<TimePoint> made_at;
};
/// Of the snapshots that the schedule took, oldest first, the one that goes where there is no room; nothing: none does.
/// The newest never goes, and none before it can be seen whether the last one that went has helped. Pure.
std::optional<model::Snapshot> gives_way(const std::vector<model::Snapshot>& taken, const Room& room, TimePoint now);
/// Where less than a tenth of the disk is free a snapshot gives way. Why there is still no room, a sentence; empty:
/// there is. Blocks: as long as removing takes.
std::string make_room(const Saver& saver, const CapsuleName& capsule, Room& room, TimePoint now);

/// How something went: what came of it, or why nothing did.
struct Outcome {
  std::string result, error;
};
/// Writes it down, and returns all that is known then.
model::CapsuleSaving write_down(const std::string& capsules, const CapsuleName& capsule, Work work,
                                const Outcome& outcome, TimePoint now);
/// Does it, writes down how it went, and returns that; a failure is no error. Blocks: as long as it takes.
model::CapsuleSaving carry_out(const Saver& saver, const CapsuleName& capsule, Work work, Room& room, TimePoint now);

}  // namespace underway::saving
