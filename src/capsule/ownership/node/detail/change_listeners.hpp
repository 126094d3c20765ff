#pragma once
/// @file
/// Who hears what is replaced in the overlays of this node that are copied.

#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "async/loop.hpp"
#include "base/error.hpp"
#include "overlay/transfer/listener.hpp"

namespace underway::ownership::detail {

struct ChangeListener {
  explicit ChangeListener(const std::string& upper);
  /// Tells it from those before it: what they counted means nothing to it.
  std::string id;
  overlay::Listener listener;
};

/// Thread: any.
class ChangeListeners {
 public:
  /// The one of that upper layer; nothing where there can be none: then it has to be looked at. Blocks.
  std::shared_ptr<ChangeListener> at(const std::string& upper);
  /// Nobody copies from there any more.
  void forget(const std::string& upper);
  /// It failed with this: for a minute it has to be looked at. Of what was taken away, the next one listens anew.
  void give_up(const std::string& upper, const Error& error);

 private:
  struct Slot {
    std::shared_ptr<ChangeListener> change_listener;
    std::pair<dev_t, ino_t> of;  ///< the directory that it listens to: another one may have its place by now
    async::SteadyTime asked;
    async::SteadyTime failed;
  };
  std::mutex mutex_;
  std::map<std::string, Slot> slots_;
};

/// What an overlay was like when a copy was made, as it goes to the server and comes back with the next question.
struct Seen {
  std::string look;             ///< overlay::look_at()
  std::string change_listener;  ///< ChangeListener::id; empty: nobody listened
  std::uint64_t heard = 0;      ///< Listener::hear()

  std::string text() const;
  /// Of an earlier version: the look alone.
  static Seen parse(const std::string& text);
};

}  // namespace underway::ownership::detail
