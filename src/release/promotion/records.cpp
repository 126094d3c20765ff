#include "promotion/records.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace underway::promotion {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

bool TierState::had(std::string_view release) const {
  return std::any_of(steps.begin(), steps.end(), [&](const Step& step) { return step.release == release; });
}

const Structure& description(Tag<Declared>) {
  static const Structure s = Builder<Declared>("declared releases", "What a cluster says of its releases.")
                                 .wire<&Declared::cluster>("Cluster", "The cluster.")
                                 .wire<&Declared::releases>("Releases", "Its mirrors, repositories and tiers.")
                                 .wire<&Declared::keys>("Keys", "Keys of upstream, by their files.")
                                 .done();
  return s;
}

const Structure& description(Tag<SourceState>) {
  static const Structure s =
      Builder<SourceState>("source state", "What a mirror or a repository has.")
          .wire<&SourceState::cluster>("Cluster", "The cluster.")
          .wire<&SourceState::source>("Source", "The mirror or repository.")
          .wire<&SourceState::view>("View", "What it has.")
          .wire<&SourceState::looked>("Looked", "When upstream answered last.")
          .wire<&SourceState::changed>("Changed", "Since when it has that.")
          .wire<&SourceState::failing_since>("FailingSince", "Since when looking at upstream fails; 0: it does not.")
          .wire<&SourceState::failure>("Failure", "Why it fails.")
          .wire<&SourceState::files>("Files", "Files that the last change has fetched.")
          .wire<&SourceState::bytes>("Bytes", "Their bytes.")
          .done();
  return s;
}

const Structure& description(Tag<Part>) {
  static const Structure s = Builder<Part>("release part", "What a release has of one source.")
                                 .wire<&Part::source>("Source", "The mirror or repository.")
                                 .wire<&Part::format>("Format", "The format of its packages.")
                                 .wire<&Part::priority>("Priority", "Its priority among the sources.")
                                 .wire<&Part::view>("View", "What it has.")
                                 .done();
  return s;
}

const Structure& description(Tag<Release>) {
  static const Structure s = Builder<Release>("release", "What tiers serve: packages that never change.")
                                 .wire<&Release::cluster>("Cluster", "The cluster.")
                                 .wire<&Release::name>("Name", "Its name.")
                                 .wire<&Release::note>("Note", "What it is for.")
                                 .wire<&Release::by>("By", "Who made it.")
                                 .wire<&Release::created>("Created", "When, in nanoseconds since the epoch.")
                                 .wire<&Release::digest>("Digest", "Digest of its parts.")
                                 .wire<&Release::parts>("Parts", "What it has of each source.")
                                 .done();
  return s;
}

const Enumeration& description(Tag<Move>) {
  static const Enumeration e = describe::enumeration<Move>("move of a tier");
  return e;
}

const Structure& description(Tag<Step>) {
  static const Structure s = Builder<Step>("tier step", "A release that a tier was given.")
                                 .wire<&Step::release>("Release", "The release.")
                                 .wire<&Step::move>("Move", "Whether it was promoted, or gone back to.")
                                 .wire<&Step::at>("At", "When, in nanoseconds since the epoch.")
                                 .wire<&Step::by>("By", "Who did it.")
                                 .wire<&Step::why>("Why", "What for.")
                                 .done();
  return s;
}

const Structure& description(Tag<TierState>) {
  static const Structure s = Builder<TierState>("tier state", "What a tier has, and had.")
                                 .wire<&TierState::cluster>("Cluster", "The cluster.")
                                 .wire<&TierState::tier>("Tier", "The tier.")
                                 .wire<&TierState::steps>("Steps", "Its releases, the newest last.")
                                 .done();
  return s;
}

Declared get_declared(const tables::Tables& tables, const std::string& cluster) {
  auto found = tables::find_record<Declared>(tables, cluster);
  if (!found)
    throw Error(Code::not_found, fmt::format("cluster '{}' declares no releases", cluster))
        .advise("write releases.hcl beside its cluster.hcl, and apply it");
  return std::move(*found);
}

Release get_release(const tables::Tables& tables, const std::string& cluster, const std::string& name) {
  auto found = tables::find_record<Release>(tables, cluster + "/" + name);
  if (!found)
    throw Error(Code::not_found, fmt::format("there is no release '{}'", name)).advise("underway release list");
  return std::move(*found);
}

TierState tier_state(const tables::Tables& tables, const std::string& cluster, const std::string& tier) {
  return tables::find_record<TierState>(tables, cluster + "/" + tier)
      .value_or(TierState{.cluster = cluster, .tier = tier, .steps = {}});
}

std::vector<Release> releases_of(const tables::Tables& tables, const std::string& cluster) {
  auto out = tables::records<Release>(tables, cluster + "/");
  std::ranges::sort(out, std::ranges::greater(),
                    [](const Release& it) { return std::pair(it.created, it.create_index); });
  return out;
}

}  // namespace underway::promotion
