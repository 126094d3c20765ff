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
                                 .done();
  return s;
}

const Structure& description(Tag<CopyRequest>) {
  static const Structure s = Builder<CopyRequest>("copy request", "")
                                 .wire<&CopyRequest::capsule>("Capsule", "")
                                 .wire<&CopyRequest::consistent>("Consistent", "")
                                 .done();
  return s;
}

const Structure& description(Tag<CopyReply>) {
  static const Structure s = Builder<CopyReply>("copy reply", "")
                                 .wire<&CopyReply::bytes>("Bytes", "")
                                 .wire<&CopyReply::files>("Files", "")
                                 .wire<&CopyReply::consistent>("Consistent", "")
                                 .done();
  return s;
}

const Structure& description(Tag<StepsRequest>) {
  static const Structure s = Builder<StepsRequest>("steps request", "")
                                 .wire<&StepsRequest::alloc>("Alloc", "")
                                 .wire<&StepsRequest::task>("Task", "")
                                 .wire<&StepsRequest::moment>("Moment", "")
                                 .done();
  return s;
}

}  // namespace underway::move
