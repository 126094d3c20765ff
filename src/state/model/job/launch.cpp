#include "model/job/launch.hpp"

namespace underway::model {

const describe::Structure& description(describe::Tag<PeriodicLaunch>) {
  static const describe::Structure s =
      describe::Builder<PeriodicLaunch>("periodic launch", "How far a periodic job has come.")
          .wire<&PeriodicLaunch::ns>("Namespace", "Namespace of the job.")
          .wire<&PeriodicLaunch::job_id>("JobID", "ID of the periodic job.")
          .wire<&PeriodicLaunch::launch>("Launch", "What was due until then was started.")
          .wire<&PeriodicLaunch::next>("Next", "The next that is due.")
          .done();
  return s;
}

}  // namespace underway::model
