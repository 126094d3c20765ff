#include "model/scaling_event.hpp"

namespace underway::model {

const describe::Structure& description(describe::Tag<ScalingEvent>) {
  static const describe::Structure s =
      describe::Builder<ScalingEvent>("scaling event", "What was asked of a group's count.")
          .wire<&ScalingEvent::time>("Time", "")
          .wire<&ScalingEvent::count>("Count", "Absent: it was only a message.")
          .wire<&ScalingEvent::previous_count>("PreviousCount", "")
          .wire<&ScalingEvent::message>("Message", "")
          .wire<&ScalingEvent::error>("Error", "")
          .wire<&ScalingEvent::meta>("Meta", "")
          .wire<&ScalingEvent::eval_id>("EvalID", "")
          .wire<&ScalingEvent::create_index>("CreateIndex", "")
          .done();
  return s;
}

const describe::Structure& description(describe::Tag<ScalingEvents>) {
  static const describe::Structure s = describe::Builder<ScalingEvents>("scaling events", "By group, newest first.")
                                           .wire<&ScalingEvents::ns>("Namespace", "")
                                           .wire<&ScalingEvents::job_id>("JobID", "")
                                           .wire<&ScalingEvents::groups>("ScalingEvents", "")
                                           .done();
  return s;
}

}  // namespace underway::model
