#include "move/messages.hpp"

namespace underway::move {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<CapsuleRequest>) {
  static const Structure s = Builder<CapsuleRequest>("capsule request", "")
                                 .wire<&CapsuleRequest::ns>("Namespace", "")
                                 .wire<&CapsuleRequest::name>("Name", "")
                                 .wire<&CapsuleRequest::job>("Job", "")
                                 .wire<&CapsuleRequest::group>("Group", "")
                                 .wire<&CapsuleRequest::epoch>("Epoch", "")
                                 .wire<&CapsuleRequest::bytes>("Bytes", "")
                                 .wire<&CapsuleRequest::with_what_is_there>("WithWhatIsThere", "")
                                 .done();
  return s;
}

const Structure& description(Tag<CopyRequest>) {
  static const Structure s = Builder<CopyRequest>("copy request", "")
                                 .wire<&CopyRequest::capsule>("Capsule", "")
                                 .wire<&CopyRequest::consistent>("Consistent", "")
                                 .wire<&CopyRequest::quick>("Quick", "")
                                 .wire<&CopyRequest::brief>("Brief", "")
                                 .done();
  return s;
}

const Structure& description(Tag<CopyReply>) {
  static const Structure s = Builder<CopyReply>("copy reply", "")
                                 .wire<&CopyReply::bytes>("Bytes", "")
                                 .wire<&CopyReply::files>("Files", "")
                                 .wire<&CopyReply::consistent>("Consistent", "")
                                 .wire<&CopyReply::seen>("Seen", "")
                                 .wire<&CopyReply::held>("Held", "")
                                 .wire<&CopyReply::cost>("Cost", "")
                                 .wire<&CopyReply::behind>("Behind", "")
                                 .done();
  return s;
}

const Structure& description(Tag<WatchRequest>) {
  static const Structure s = Builder<WatchRequest>("watch request", "")
                                 .wire<&WatchRequest::capsule>("Capsule", "")
                                 .wire<&WatchRequest::seen>("Seen", "")
                                 .wire<&WatchRequest::every>("Every", "")
                                 .wire<&WatchRequest::rest>("Rest", "")
                                 .done();
  return s;
}

const Structure& description(Tag<WatchReply>) {
  static const Structure s = Builder<WatchReply>("watch reply", "")
                                 .wire<&WatchReply::changed>("Changed", "")
                                 .wire<&WatchReply::waits>("Waits", "")
                                 .wire<&WatchReply::took>("Took", "")
                                 .wire<&WatchReply::after>("After", "")
                                 .done();
  return s;
}

const Structure& description(Tag<StepsRequest>) {
  static const Structure s = Builder<StepsRequest>("steps request", "")
                                 .wire<&StepsRequest::alloc>("Alloc", "")
                                 .wire<&StepsRequest::task>("Task", "")
                                 .wire<&StepsRequest::moment>("Moment", "")
                                 .wire<&StepsRequest::since>("Since", "")
                                 .done();
  return s;
}

const Structure& description(Tag<LookRequest>) {
  static const Structure s = Builder<LookRequest>("look request", "")
                                 .wire<&LookRequest::capsule>("Capsule", "")
                                 .wire<&LookRequest::from>("From", "")
                                 .done();
  return s;
}

const Structure& description(Tag<LookReply>) {
  static const Structure s = Builder<LookReply>("look reply", "")
                                 .wire<&LookReply::running>("Running", "")
                                 .wire<&LookReply::from>("From", "")
                                 .wire<&LookReply::to>("To", "")
                                 .done();
  return s;
}

const Structure& description(Tag<SaveRequest>) {
  static const Structure s = Builder<SaveRequest>("save request", "")
                                 .wire<&SaveRequest::ns>("Namespace", "")
                                 .wire<&SaveRequest::name>("Name", "")
                                 .wire<&SaveRequest::upgrade>("Upgrade", "")
                                 .wire<&SaveRequest::move>("Move", "")
                                 .done();
  return s;
}

const Structure& description(Tag<SaveReply>) {
  static const Structure s = Builder<SaveReply>("save reply", "")
                                 .wire<&SaveReply::snapshot>("Snapshot", "")
                                 .wire<&SaveReply::at>("At", "")
                                 .wire<&SaveReply::running>("Running", "")
                                 .done();
  return s;
}

const Structure& description(Tag<RestoreRequest>) {
  static const Structure s = Builder<RestoreRequest>("restore request", "")
                                 .wire<&RestoreRequest::ns>("Namespace", "")
                                 .wire<&RestoreRequest::name>("Name", "")
                                 .wire<&RestoreRequest::snapshot>("Snapshot", "")
                                 .done();
  return s;
}

}  // namespace underway::move
