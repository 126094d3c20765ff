#include "ownership/messages.hpp"

namespace underway::ownership {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<CapsuleRequest>) {
  static const Structure s =
      Builder<CapsuleRequest>("capsule request",
                              "A capsule, with what a node has to know to run it or to copy its overlay.")
          .wire<&CapsuleRequest::ns>("Namespace", "Namespace of the capsule.")
          .wire<&CapsuleRequest::name>("Name", "Name of the capsule, within its namespace.")
          .wire<&CapsuleRequest::job>("Job", "The capsule's job, with its configuration.")
          .wire<&CapsuleRequest::group>("Group", "The group of the job whose capsule it is.")
          .wire<&CapsuleRequest::epoch>("Epoch", "Epoch of the capsule's record; copies are labelled with it.")
          .wire<&CapsuleRequest::bytes>(
              "Bytes", "What its overlay holds where it is, in bytes, for move.stage; 0: nobody knows.")
          .wire<&CapsuleRequest::with_what_is_there>(
              "WithWhatIsThere",
              "For move.install: it may start with what is on the node, although that may be nothing.")
          .done();
  return s;
}

const Structure& description(Tag<CopyRequest>) {
  static const Structure s =
      Builder<CopyRequest>("copy request", "Asks for one round of a copy; both nodes get the same.")
          .wire<&CopyRequest::capsule>("Capsule", "The capsule whose overlay is copied.")
          .wire<&CopyRequest::consistent>(
              "Consistent",
              "Writers stand still, or have ended, so that the copy can be started from; false: they go on.")
          .wire<&CopyRequest::quick>(
              "Quick", "A file whose times are the same is taken to be the same, also where that is not certain.")
          .wire<&CopyRequest::brief>(
              "Brief", "Broken off with too_large when there is more than is read at once while writers stand still.")
          .done();
  return s;
}

const Structure& description(Tag<CopyReply>) {
  static const Structure s =
      Builder<CopyReply>("copy reply", "How a round of a copy went; of the receiving node Cost alone counts.")
          .wire<&CopyReply::bytes>("Bytes",
                                   "How many bytes were sent; of move.measure: what the overlay takes on its disk.")
          .wire<&CopyReply::files>("Files", "Of how many paths something was sent.")
          .wire<&CopyReply::consistent>("Consistent",
                                        "Whether the round was asked to be one that the copy can be started from.")
          .wire<&CopyReply::seen>(
              "Seen",
              "What the overlay looked like when the round began, for move.watch; empty: the node does not say.")
          .wire<&CopyReply::held>("Held", "How long the capsule's writers stood still.")
          .wire<&CopyReply::cost>("Cost", "Processor time that the round took on the node that replies.")
          .wire<&CopyReply::behind>(
              "Behind",
              "With `sync`: how long a save that a service went on with may be missing there; negative: none is.")
          .done();
  return s;
}

const Structure& description(Tag<WatchRequest>) {
  static const Structure s =
      Builder<WatchRequest>("watch request", "Asks to be told when there is something new to be copied.")
          .wire<&WatchRequest::capsule>("Capsule", "The capsule whose overlay is watched.")
          .wire<&WatchRequest::seen>("Seen", "Seen of the last copy; what differs from it is new.")
          .wire<&WatchRequest::every>("Every", "How long from now what is written in place may wait.")
          .wire<&WatchRequest::rest>("Rest",
                                     "How long from now everything may wait, but for a service that waits for a copy.")
          .done();
  return s;
}

const Structure& description(Tag<WatchReply>) {
  static const Structure s =
      Builder<WatchReply>("watch reply", "What a look at the overlay has found, about once a second.")
          .wire<&WatchReply::changed>("Changed", "There is something to be copied now; it is the last reply.")
          .wire<&WatchReply::waits>("Waits", "Something has changed, and may still wait.")
          .wire<&WatchReply::took>("Took", "How long the look took.")
          .wire<&WatchReply::after>(
              "After", "From the question to when the look began; negative: an earlier version does not say.")
          .done();
  return s;
}

const Structure& description(Tag<StepsRequest>) {
  static const Structure s =
      Builder<StepsRequest>("steps request", "Asks for the steps that a capsule's image has for a moment.")
          .wire<&StepsRequest::alloc>("Alloc", "ID of the allocation that runs the capsule.")
          .wire<&StepsRequest::task>("Task", "Name of the capsule's task in its group.")
          .wire<&StepsRequest::moment>(
              "Moment", "The moment whose steps are run, as images name them: before_stop, check, before_revert.")
          .wire<&StepsRequest::since>(
              "Since", "For before_revert: of when the data are that it would get back, Unix time in seconds; else 0.")
          .done();
  return s;
}

const Structure& description(Tag<LookRequest>) {
  static const Structure s =
      Builder<LookRequest>("look request", "Asks whether a capsule could run from another image.")
          .wire<&LookRequest::capsule>("Capsule", "The capsule; its job asks for the other image.")
          .wire<&LookRequest::from>("From", "The image that it asked for before.")
          .done();
  return s;
}

const Structure& description(Tag<LookReply>) {
  static const Structure s =
      Builder<LookReply>("look reply", "Which images are which, by their digests; it could run.")
          .wire<&LookReply::running>("Running", "Digest of the image that ran last; empty: it never ran on this node.")
          .wire<&LookReply::from>(
              "From", "Digest of the image that it asked for before; empty: that means nothing on this node.")
          .wire<&LookReply::to>("To", "Digest of the image that it would run from; empty: the node fetches no images.")
          .done();
  return s;
}

const Structure& description(Tag<SaveRequest>) {
  static const Structure s =
      Builder<SaveRequest>("save request",
                           "Asks for a snapshot of an overlay; of the same move or upgrade there is only one, however "
                           "often it is asked for.")
          .wire<&SaveRequest::ns>("Namespace", "Namespace of the capsule.")
          .wire<&SaveRequest::name>("Name", "Name of the capsule, within its namespace.")
          .wire<&SaveRequest::upgrade>(
              "Upgrade", "ID of the upgrade that it is taken before, while nothing runs; empty: it is for a move.")
          .wire<&SaveRequest::move>(
              "Move", "ID of the move that it is taken before, while the capsule runs; empty: it is for an upgrade.")
          .done();
  return s;
}

const Structure& description(Tag<SaveReply>) {
  static const Structure s =
      Builder<SaveReply>("save reply", "A snapshot that was taken, or gone back to.")
          .wire<&SaveReply::snapshot>("Snapshot", "ID of the snapshot; empty: the overlay stayed as it was.")
          .wire<&SaveReply::at>("At", "When it was taken, Unix time in nanoseconds; 0: it was not taken now.")
          .wire<&SaveReply::running>("Running", "Digest of the image that ran last; empty: none is known.")
          .done();
  return s;
}

const Structure& description(Tag<RestoreRequest>) {
  static const Structure s =
      Builder<RestoreRequest>("restore request", "Asks for an overlay to become what it was; nothing may run on it.")
          .wire<&RestoreRequest::ns>("Namespace", "Namespace of the capsule.")
          .wire<&RestoreRequest::name>("Name", "Name of the capsule, within its namespace.")
          .wire<&RestoreRequest::snapshot>(
              "Snapshot",
              "ID of the snapshot to go back to; empty: it is only waited until no earlier request goes on.")
          .done();
  return s;
}

}  // namespace underway::ownership
