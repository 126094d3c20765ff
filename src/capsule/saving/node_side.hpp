#pragma once
/// @file
/// A node's part of saving: it answers what the server asks for (messages.hpp), and carries out the schedules of the
/// capsules that run here, each when its capsule is up and nothing else is done to it.

#include <atomic>
#include <map>
#include <set>

#include "async/event.hpp"
#include "async/group.hpp"
#include "node/extension.hpp"
#include "saving/schedule.hpp"

namespace underway::saving {

using node::awaitable;

class NodeSide final : public node::Extension {
 public:
  /// `look_every`: for what is due.
  explicit NodeSide(Options options, Duration look_every = std::chrono::seconds{15})
      : options_(std::move(options)), look_every_(look_every) {}
  std::string_view prefix() const override { return "saving."; }
  awaitable<void> start(node::ExtensionContext context) override;
  awaitable<void> stop() override;
  void linked() override;
  awaitable<boost::json::value> answer(std::string method, boost::json::value body) override;
  awaitable<void> serve(std::string method, boost::json::value header, std::shared_ptr<link::Stream> stream) override;

 private:
  awaitable<void> look_at_all();
  awaitable<void> look(CapsuleName capsule);
  awaitable<void> work_on(CapsuleName capsule, Work work);
  void shout_if_full(const model::CapsuleSaving& saved);
  void log_outcome(const model::CapsuleSaving& saved, Work work);
  awaitable<void> tell_all();
  awaitable<void> tell(model::CapsuleSaving saved);

  Options options_;
  Duration look_every_;
  std::optional<Saver> saver_;
  std::optional<node::ExtensionContext> context_;
  std::optional<async::TaskGroup> tasks_;
  std::set<std::string> busy_;
  std::set<std::string> full_;               ///< capsules whose overlay was told to be
  std::map<std::string, Room> rooms_;        ///< by capsule
  std::map<std::string, std::string> told_;  ///< by capsule, what the server has heard last
  std::atomic<bool> stopping_ = false;
  async::Pool pool_{4};
};

}  // namespace underway::saving
