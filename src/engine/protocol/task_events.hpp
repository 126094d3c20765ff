#pragma once
/// @file
/// What kinds of events of a task a node tells (model::TaskEvent::type): the words that people see, and that the server
/// decides by. Those that Nomad has are Nomad's.

#include <string_view>

namespace underway::protocol::event {

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
inline constexpr std::string_view kPaused = "Paused";
inline constexpr std::string_view kResumed = "Resumed";
inline constexpr std::string_view kSuspended = "Suspended";
inline constexpr std::string_view kCheckpointed = "Checkpointed";
inline constexpr std::string_view kRestored = "Restored";
inline constexpr std::string_view kMoved = "Moved";
inline constexpr std::string_view kTemplate = "Template";
inline constexpr std::string_view kKilling = "Killing";
inline constexpr std::string_view kKilled = "Killed";
inline constexpr std::string_view kSiblingFailed = "Sibling Task Failed";
inline constexpr std::string_view kLeaderDead = "Leader Task Dead";
inline constexpr std::string_view kMainDead = "Main Tasks Dead";
inline constexpr std::string_view kDiskExceeded = "Disk Resources Exceeded";
inline constexpr std::string_view kDriver = "Driver";

}  // namespace underway::protocol::event
