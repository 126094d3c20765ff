#pragma once
/// @file
/// Task events: what `alloc status` shows of a task's life, in Nomad's types and in words for people.

#include <string>
#include <string_view>
#include <vector>

#include "model/allocation.hpp"
#include "node/runtime.hpp"

namespace underway::node::event {

inline constexpr std::string_view kReceived = "Received";
inline constexpr std::string_view kWaiting = "Waiting";
inline constexpr std::string_view kTaskSetup = "Task Setup";
inline constexpr std::string_view kBuildingTaskDirectory = "Building Task Directory";
inline constexpr std::string_view kDownloadingArtifacts = "Downloading Artifacts";
inline constexpr std::string_view kFailedArtifactDownload = "Failed Artifact Download";
inline constexpr std::string_view kDriverFailure = "Driver Failure";
inline constexpr std::string_view kSetupFailure = "Setup Failure";
inline constexpr std::string_view kFailedValidation = "Failed Validation";
inline constexpr std::string_view kStarted = "Started";
inline constexpr std::string_view kTerminated = "Terminated";
inline constexpr std::string_view kLeftRunning = "Left Running";
inline constexpr std::string_view kRestarting = "Restarting";
inline constexpr std::string_view kNotRestarting = "Not Restarting";
inline constexpr std::string_view kRestartSignaled = "Restart Signaled";
inline constexpr std::string_view kSignaling = "Signaling";
inline constexpr std::string_view kTemplate = "Template";
inline constexpr std::string_view kKilling = "Killing";
inline constexpr std::string_view kKilled = "Killed";
inline constexpr std::string_view kSiblingFailed = "Sibling Task Failed";
inline constexpr std::string_view kLeaderDead = "Leader Task Dead";
inline constexpr std::string_view kMainDead = "Main Tasks Dead";
inline constexpr std::string_view kDiskExceeded = "Disk Resources Exceeded";
inline constexpr std::string_view kDriver = "Driver";

model::TaskEvent make(std::string_view type, std::string message);
model::TaskEvent terminated(const TaskEnd& end);
/// "Left 3 processes running: bash, slurmstepd (2)"
model::TaskEvent left_running(const std::map<std::string, std::size_t>& programs);
/// "exit code 1", "signal 9 (SIGKILL)", "out of memory"
std::string in_words(const TaskEnd& end);
/// "Sent SIGTERM. Waiting 5s before force killing"
model::TaskEvent killing(std::string_view signal, Duration timeout);
model::TaskEvent restarting(Duration delay, const std::string& reason);
/// A failure that ended an attempt; `type` tells which step failed.
model::TaskEvent failure(std::string_view type, const Error& error);

/// "Missing: variable 'a', …": what templates or secrets wait for; the first three are named.
model::TaskEvent missing(const std::vector<std::string>& what);

/// Appends and keeps the newest ten.
void append(model::TaskState& state, model::TaskEvent event, TimePoint now);

}  // namespace underway::node::event
