#include "rehearsal/rehearsal.hpp"

namespace underway::rehearsal {

const describe::Structure& description(describe::Tag<RehearsalRequest>) {
  static const auto kStructure =
      describe::Builder<RehearsalRequest>(
          "rehearsal request",
          "Asks a node to start a clone of a capsule apart from everything, and to try whether it works.")
          .wire<&RehearsalRequest::ns>("Namespace", "Namespace of the capsule.")
          .wire<&RehearsalRequest::name>("Name", "Name of the capsule, within its namespace.")
          .wire<&RehearsalRequest::job>("Job", "The capsule's job, with its configuration.")
          .wire<&RehearsalRequest::group>("Group", "The group of the job whose capsule it is.")
          .wire<&RehearsalRequest::image>(
              "Image", "Image that the clone starts from, by name:version or digest; empty: the job's.")
          .wire<&RehearsalRequest::snapshot>(
              "Snapshot", "ID of the snapshot whose data it has; empty: one is taken now, and removed again.")
          .wire<&RehearsalRequest::stop_first>(
              "StopFirst", "What ran last first starts with the data and ends by itself, as in an upgrade.")
          .wire<&RehearsalRequest::scripts>(
              "Scripts", "The site's programs that are run in the clone after its check; each has to succeed.")
          .wire<&RehearsalRequest::patience>("Patience",
                                             "How long its start, its check and each script may take, each by itself.")
          .done();
  return kStructure;
}

}  // namespace underway::rehearsal
