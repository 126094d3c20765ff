#pragma once
/// @file
/// What a node tells of the capsules that run on it: "capsule.changes" and "capsule.services", asked for by allocation.

#include "base/json/describe.hpp"
#include "node/extension.hpp"
#include "overlay/changes.hpp"
#include "run/control.hpp"
#include "run/running.hpp"

namespace underway::run {

/// Of both calls.
struct CapsuleQuery {
  std::string allocation;
};

struct ChangedFile {
  std::string path;
  std::string change;  ///< added, modified, deleted, replaced
  std::string type;
  std::int64_t size = 0;
  std::int64_t mode = 0;
  std::int64_t uid = 0, gid = 0;
  std::int64_t modified = 0;  ///< ns since the epoch
};

/// What the capsule has changed since its image.
struct Changes {
  Run run;
  std::vector<ChangedFile> files;
};

/// A running capsule with its services.
struct Services {
  Run run;
  Status status;
};

const describe::Structure& description(describe::Tag<CapsuleQuery>);
const describe::Structure& description(describe::Tag<ChangedFile>);
const describe::Structure& description(describe::Tag<Changes>);
const describe::Structure& description(describe::Tag<Services>);

class CapsuleExtension final : public node::Extension {
 public:
  /// `capsules`: as Options::capsules.
  explicit CapsuleExtension(std::string capsules) : capsules_(std::move(capsules)) {}

  std::string_view prefix() const override { return "capsule."; }
  node::awaitable<void> start(node::ExtensionContext context) override;
  node::awaitable<void> stop() override;
  node::awaitable<boost::json::value> answer(std::string method, boost::json::value body) override;
  node::awaitable<void> serve(std::string method, boost::json::value header,
                              std::shared_ptr<link::Stream> stream) override;

 private:
  std::string capsules_;
  std::optional<node::ExtensionContext> context_;
};

/// What of the run's overlay differs from its image. Errors: not_found (the image is gone). Blocks: yes.
Changes changes_of(const Run& run);

}  // namespace underway::run
