#include "rehearsal/rehearsal.hpp"

namespace underway::rehearsal {

const describe::Structure& description(describe::Tag<RehearsalRequest>) {
  static const auto kStructure = describe::Builder<RehearsalRequest>("rehearsal request", "")
                                     .wire<&RehearsalRequest::ns>("Namespace", "")
                                     .wire<&RehearsalRequest::name>("Name", "")
                                     .wire<&RehearsalRequest::job>("Job", "")
                                     .wire<&RehearsalRequest::group>("Group", "")
                                     .wire<&RehearsalRequest::image>("Image", "")
                                     .wire<&RehearsalRequest::snapshot>("Snapshot", "")
                                     .wire<&RehearsalRequest::stop_first>("StopFirst", "")
                                     .wire<&RehearsalRequest::scripts>("Scripts", "")
                                     .wire<&RehearsalRequest::patience>("Patience", "")
                                     .done();
  return kStructure;
}

}  // namespace underway::rehearsal
