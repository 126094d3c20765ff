#pragma once
/// @file
/// A job as Nomad's clients read it, with everything said; and as a person writes it.

#include "model/job/job.hpp"

namespace underway::model {

/// See spell_out_policies().
Job with_policies(Job job);
/// The other way: without what would hold as well if it were not written. Jobs of one meaning become equal by it, so
/// one that was read from the API and is written back unchanged is no new version.
void take_back_policies(Job& job);
Job without_policies(Job job);

}  // namespace underway::model
