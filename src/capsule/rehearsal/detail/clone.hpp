#pragma once
/// @file
/// The clone of a capsule, from its directories to its end.

#include <map>
#include <optional>

#include "net/namespace.hpp"
#include "os/file.hpp"
#include "rehearsal/detail/place.hpp"
#include "run/control.hpp"
#include "run/running.hpp"

namespace underway::rehearsal::detail {

/// Error::message() of is_under_way().
inline constexpr std::string_view kUnderWay = "the capsule is being rehearsed already";

class Clone {
 public:
  /// Errors: invalid; is_under_way(); those of clearing away what is left of the clone before.
  Clone(const Options& options, const RehearsalRequest& request);
  Clone(const Clone&) = delete;
  /// Ends and removes it; a failure is logged, and the next sweep tries again.
  ~Clone();

  void fill(const std::function<void(const std::string& upper)>& fill);
  /// Starts what ran last with the data and has it end by itself; nothing when that is not asked for, or it is not
  /// here.
  std::optional<model::RehearsalFinding> stop_what_ran();
  model::RehearsalFinding start();
  model::RehearsalFinding check();
  std::vector<model::RehearsalFinding> run_scripts();

  /// "name:version" and digest, as far as they are known.
  const std::string& image() const { return image_; }
  const std::string& digest() const { return digest_; }

 private:
  void step(const char* what) const;
  void check_cancelled() const;
  void copy_files();
  void write_scripts();
  driver::TaskSpec spec() const;
  boost::json::value config(const std::map<std::string, std::string>& environment) const;
  std::map<std::string, std::string> environment() const;
  std::string image_reference(const std::string& given) const;
  std::string task_directory() const;
  void launch();
  run::StepResult run_check();
  void end_quietly();
  void wait_until_ready(model::RehearsalFinding& finding);
  void end_by_itself(model::RehearsalFinding& finding);
  std::string log_of(const std::string& service) const;
  std::string given_up_service() const;

  const Options& options_;
  const RehearsalRequest& request_;
  const model::Task& task_;
  Place place_;
  std::optional<os::FileLock> lock_;
  /// The last run of the capsule itself on this node.
  std::optional<run::Run> original_;
  std::optional<net::Namespace> wires_;
  std::unique_ptr<driver::Driver> driver_;
  std::unique_ptr<driver::TaskHandle> handle_;
  std::vector<std::string> scripts_;  ///< as the clone sees them
  std::string image_, digest_;
  std::string starts_;  ///< the image in the place of the job's; empty: that
};

}  // namespace underway::rehearsal::detail
