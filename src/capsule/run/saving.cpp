#include "run/saving.hpp"

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "os/file.hpp"

namespace underway::run {
namespace {

std::string saving_path(const std::string& capsules, const std::string& ns, const std::string& name) {
  return capsule_directory(capsules, ns, name) + "/saving.json";
}

}  // namespace

const describe::Structure& description(describe::Tag<Saving>) {
  static const auto kStructure = describe::Builder<Saving>("saving", "How a capsule's overlay is saved.")
                                     .wire<&Saving::snapshot>("Snapshot", "When snapshots are taken.")
                                     .wire<&Saving::backup>("Backup", "When and where it is backed up.")
                                     .wire<&Saving::job>("Job", "As it was started.")
                                     .wire<&Saving::group>("Group", "The capsule's.")
                                     .done();
  return kStructure;
}

void write_saving(const std::string& capsules, const std::string& ns, const std::string& name, const Saving& saving) {
  const auto text = json::pretty(json::to_value(saving)) + "\n";
  const auto path = saving_path(capsules, ns, name);
  // Each start of a capsule comes by here, and most change nothing.
  if (os::find_file(path) != text) os::write_file(path, text, 0600);
}

std::optional<Saving> find_saving(const std::string& capsules, const std::string& ns, const std::string& name) {
  const auto text = os::find_file(saving_path(capsules, ns, name));
  if (!text) return std::nullopt;
  return json::decode_text<Saving>(*text, fmt::format("saving of capsule {}/{}", ns, name));
}

}  // namespace underway::run
