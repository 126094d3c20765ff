// A node opens what a server sent: a manifest that is not sound never gets past, and templates are administrators'
// text.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "files/manifest.hpp"
#include "files/targets/plan.hpp"

using namespace underway;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const auto manifest = json::decode_text<files::Manifest>(text);
    if (!files::problems(manifest).empty()) return 0;
    for (const auto& entry : manifest.entries) {
      if (entry.path.front() != '/' || entry.path.find("/../") != std::string::npos) __builtin_trap();
    }
    const auto nothing = [](const files::ManifestEntry&) { return files::Look{}; };
    const auto plan = files::make_plan(manifest, {}, nothing);
    if (plan.changes.size() > manifest.entries.size()) __builtin_trap();
    static const auto key = crypto::SigningKey::generate();
    const auto opened = files::open_manifest(files::sign(manifest, key), {.node_id = manifest.node_id,
                                                                          .capsule = manifest.capsule,
                                                                          .epoch = manifest.epoch,
                                                                          .revision = manifest.revision});
    if (files::digest_of(opened) != files::digest_of(manifest)) __builtin_trap();
  } catch (const Error&) {  // refused: that is the point
  }
  return 0;
}
