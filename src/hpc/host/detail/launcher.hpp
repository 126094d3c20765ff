#pragma once
/// @file
/// Starting the first process of a host through `underway-init launch`: the threaded agent itself makes no namespaces.

#include <string>

#include "os/process/launch_plan.hpp"
#include "os/process/process.hpp"

namespace underway::host {

/// A host whose first process exists and runs its plan. Unless told to go, it ends when this value does.
class Launch {
 public:
  /// Errors: not_found (no program), timeout, or the errno of clone3. `console` gets the output of init and agent.
  static Launch start(const std::string& init_program, const os::LaunchPlan& plan, const std::string& console);

  const os::ProcessIdentity& init() const { return identity_; }
  const os::Pidfd& pidfd() const { return pidfd_; }
  /// Waits until the plan is done. Errors: the step that failed, by name.
  void wait_booted();
  void go();

 private:
  Launch(os::Pidfd pidfd, os::ProcessIdentity identity, os::Fd control, os::Fd report, os::LaunchPlan plan)
      : pidfd_(std::move(pidfd)),
        identity_(identity),
        control_(std::move(control)),
        report_(std::move(report)),
        plan_(std::move(plan)) {}
  os::Pidfd pidfd_;
  os::ProcessIdentity identity_;
  os::Fd control_;
  os::Fd report_;
  os::LaunchPlan plan_;
};

}  // namespace underway::host
