#pragma once
/// @file
/// What a container with a user namespace of its own is given. Its root is nobody on the host: it could not search the
/// agent's directories, and owners would be strangers to it. So all of it is shown at one place, in memory, in the
/// run's own mount namespace, and what belongs to the task with its owners mapped (mount_setattr(2)), on disk as the
/// container numbers them: what is written by one run belongs to the next, whose numbers on the host are others.

#include <string>
#include <vector>

#include "base/error.hpp"
#include "os/process/launch_plan.hpp"
#include "pod/ids.hpp"

namespace underway::pod::detail {

class Stage {
 public:
  /// Throws unsupported where the node allows no user namespaces.
  explicit Stage(IdMaps ids);

  const IdMaps& ids() const { return ids_; }
  std::string root() const;
  std::string proc() const;
  std::string sys() const;
  /// Where the directory or file will be. `mapped`: with its owners as the container numbers them.
  std::string show(const std::string& source, bool mapped);
  /// The steps: `layers` lowest first, `directory` the container's own, with its `upper` and `work`.
  void build(os::LaunchPlan& plan, const std::vector<std::string>& layers, const std::string& directory) const;
  /// Says of a failed step what it takes.
  void explain(Error& failure) const;

 private:
  struct Shown {
    std::string source, place;
    bool is_directory, mapped;
  };
  void attach(os::LaunchPlan& plan, const std::string& source, const std::string& place, bool mapped) const;

  IdMaps ids_;
  bool same_;
  std::vector<Shown> shown_;
};

}  // namespace underway::pod::detail
