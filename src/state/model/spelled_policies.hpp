#pragma once
/// @file
/// A job as Nomad's clients read it, with everything said; and as a person writes it.

#include "model/job.hpp"

namespace underway::model {

/// See spell_out_policies().
Job with_policies(Job job);
/// The other way: without stanzas that say in full what would hold without them.
Job without_policies(Job job);

}  // namespace underway::model
