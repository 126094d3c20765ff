#include "model/capsule/saving.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace underway::model {

using describe::Builder;
using describe::Structure;
using describe::Tag;

namespace {

constexpr Duration kTryAgain = std::chrono::minutes{10};
/// The part of an interval over which first times are spread.
constexpr double kSpreadOver = 0.1;

void look_at(std::string_view what, const SavedWork& work, std::int64_t since, TimePoint now,
             std::vector<std::string>& found) {
  if (work.every <= Duration{0}) return;
  const auto last = std::max(work.done_at, since);
  const auto ago = now - from_unix_nanos(last);
  if (!work.error.empty()) {
    found.push_back(fmt::format("its {} has failed {} times since {}: {}", what,
                                std::max<std::int64_t>(work.failures, 1), format_time(from_unix_nanos(last)),
                                work.error));
  } else if (ago > 2 * work.every + kTryAgain) {
    found.push_back(fmt::format("its last {} is {} old, and one is wanted every {}", what,
                                human_duration(std::chrono::duration_cast<std::chrono::seconds>(ago)),
                                human_duration(work.every)));
  }
}

}  // namespace

std::vector<std::string> CapsuleSaving::problems(TimePoint now) const {
  std::vector<std::string> found;
  look_at("snapshot", snapshot, since, now, found);
  look_at("backup", backup, since, now, found);
  look_at("restore drill", drill, since, now, found);
  return found;
}

std::string CapsuleSaving::space_problem() const {
  if (!almost_full()) return {};
  return fmt::format(
      "its overlay on {} is {} % full ({}), and its services cannot write when it is; make space in it, or "
      "give it a larger `size`, which it has when it is started again",
      node_name.empty() ? "its node" : node_name, overlay_used, human_bytes(static_cast<std::uint64_t>(overlay_size)));
}

std::optional<TimePoint> due_at(const SavedWork& work, std::int64_t since, double spread) {
  if (work.every <= Duration{0}) return std::nullopt;
  const auto part = [&](double of) {
    return Duration(static_cast<std::int64_t>(static_cast<double>(work.every.count()) * of));
  };
  if (work.begun_at == 0) return from_unix_nanos(since) + part(spread * kSpreadOver);
  if (!work.error.empty()) return from_unix_nanos(work.begun_at) + std::min(work.every, kTryAgain);
  return from_unix_nanos(work.begun_at) + work.every;
}

const Structure& description(Tag<SavedWork>) {
  static const Structure s = Builder<SavedWork>("SavedWork", "Something that is done again and again.")
                                 .wire<&SavedWork::every>("Every", "How often it is wanted; 0: not at all.")
                                 .wire<&SavedWork::begun_at>("BegunAt", "When it was last tried.")
                                 .time()
                                 .wire<&SavedWork::done_at>("DoneAt", "When it last went well.")
                                 .time()
                                 .wire<&SavedWork::result>("Result", "Of that time.")
                                 .wire<&SavedWork::error>("Error", "Of the last time; empty: it went well.")
                                 .wire<&SavedWork::failures>("Failures", "In a row.")
                                 .done();
  return s;
}

const Structure& description(Tag<CapsuleSaving>) {
  static const Structure s = Builder<CapsuleSaving>("CapsuleSaving", "What is saved of a capsule on its own.")
                                 .wire<&CapsuleSaving::ns>("Namespace", "Of the capsule.")
                                 .wire<&CapsuleSaving::name>("Name", "The capsule's.")
                                 .wire<&CapsuleSaving::node>("NodeID", "The node that told it.")
                                 .wire<&CapsuleSaving::node_name>("NodeName", "Its name.")
                                 .wire<&CapsuleSaving::since>("Since", "Since when it is asked for.")
                                 .time()
                                 .wire<&CapsuleSaving::snapshot>("Snapshot", "Snapshots of the overlay.")
                                 .wire<&CapsuleSaving::backup>("Backup", "Backups of the overlay.")
                                 .wire<&CapsuleSaving::drill>("Drill", "Whether a backup is worth something.")
                                 .wire<&CapsuleSaving::overlay_size>("OverlaySize", "Bytes that the overlay may have.")
                                 .wire<&CapsuleSaving::overlay_used>("OverlayUsed", "Percent of them that are used.")
                                 .wire<&CapsuleSaving::create_index>("CreateIndex", "Revision that made it.")
                                 .wire<&CapsuleSaving::modify_index>("ModifyIndex", "Revision of its last change.")
                                 .done();
  return s;
}

}  // namespace underway::model
