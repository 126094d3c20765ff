#pragma once
/// @file
/// What a capsule wrote where it ran, and whether somebody else has it. A planned move takes it along; when a host
/// died, or a move went back, what lies there may be nowhere else, and is not written over by the copies that come
/// next. Until one of those is complete it is what the node has of the capsule.
///
///   capsules/<of a capsule>/sent-on              names the run whose data another node has received
///   capsules/<of a capsule>/overlay/put-aside    names the run that wrote there
///   capsules/<of a capsule>/overlay/begun-anew   names the run whose overlay was put aside for this one

#include "ownership/messages.hpp"
#include "ownership/node/node_side.hpp"
#include "run/running.hpp"

namespace underway::ownership {

/// All that `run` wrote was received by another node.
void note_sent(const NodeOptions& options, const run::Run& run);

/// Puts the overlay in `directory` into the trash if `run` wrote to it and nobody has received that. True: what lies in
/// `directory` now is none of what `run` wrote, also when that was done before. Where it is not possible it is said,
/// and the overlay stays: a standby counts for more. Survives a crash anywhere. Blocks.
bool put_aside(const NodeOptions& options, const run::Run& run, const std::string& directory);

/// What put_aside() took away becomes the overlay in `directory` again, and what has come since is removed. False:
/// nothing was put aside, or there is a complete copy by now. Errors: not_found when it is in the trash no more.
/// Blocks.
bool bring_back(const NodeOptions& options, const run::Run& run, const std::string& directory);

/// The complete copy in `directory` is about to become its overlay: nothing is brought back from here on, or the
/// overlay would be taken for a copy that was never completed when it is asked for once more. Durable. Blocks.
void leave_aside(const std::string& directory);

/// A copy needs the room of what was put aside.
void give_way(const NodeOptions& options, const CapsuleRequest& request);

}  // namespace underway::ownership
