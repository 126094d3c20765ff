#pragma once
/// @file
/// What was done to the counts of a job's groups, and by whom it was asked: a record beside the job.

#include "base/json/describe.hpp"

#include <boost/json/value.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace underway::model {

struct ScalingEvent {
  std::int64_t time = 0;              ///< ns since the epoch
  std::optional<std::int64_t> count;  ///< what was asked for; absent: only a message
  std::int64_t previous_count = 0;
  std::string message;
  bool error = false;
  boost::json::value meta = boost::json::object{};  ///< whoever asked wrote it
  std::optional<std::string> eval_id = {};
  std::int64_t create_index = 0;
};

struct ScalingEvents {
  std::string ns, job_id;
  std::map<std::string, std::vector<ScalingEvent>> groups = {};  ///< newest first
  std::int64_t modify_index = 0, create_index = 0;
};

/// Of each group. Source: Nomad's structs.go, JobTrackedScalingEvents.
constexpr std::size_t kScalingEvents = 20;

const describe::Structure& description(describe::Tag<ScalingEvent>);
const describe::Structure& description(describe::Tag<ScalingEvents>);

}  // namespace underway::model
