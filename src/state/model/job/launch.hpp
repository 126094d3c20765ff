#pragma once
/// @file
/// How far a periodic job has come: a record beside the job, there as long as the job starts others by the clock.

#include "base/json/describe.hpp"

#include <cstdint>
#include <string>

namespace underway::model {

struct PeriodicLaunch {
  std::string ns, job_id;
  std::int64_t launch = 0;  ///< ns since the epoch: what was due until then was started, or was not to be
  std::int64_t next = 0;    ///< the next that is due; 0: it never comes
  std::int64_t create_index = 0, modify_index = 0;
};

const describe::Structure& description(describe::Tag<PeriodicLaunch>);

}  // namespace underway::model
