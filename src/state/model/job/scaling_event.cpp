#include "model/job/scaling_event.hpp"

namespace underway::model {

const describe::Structure& description(describe::Tag<ScalingEvent>) {
  static const describe::Structure s =
      describe::Builder<ScalingEvent>("scaling event", "What was asked of a group's count.")
          .wire<&ScalingEvent::time>("Time", "Unix time in nanoseconds.")
          .wire<&ScalingEvent::count>("Count", "Absent: it was only a message.")
          .wire<&ScalingEvent::previous_count>("PreviousCount", "The group's count before.")
          .wire<&ScalingEvent::message>("Message", "What whoever asked said of it, for people.")
          .wire<&ScalingEvent::error>("Error", "Whether the message tells of a failure.")
          .wire<&ScalingEvent::meta>("Meta", "Anything that whoever asked wrote.")
          .wire<&ScalingEvent::eval_id>("EvalID", "ID of the evaluation that carries it out; absent: none was made.")
          .wire<&ScalingEvent::create_index>("CreateIndex", "Revision in which it was noted.")
          .done();
  return s;
}

const describe::Structure& description(describe::Tag<ScalingEvents>) {
  static const describe::Structure s =
      describe::Builder<ScalingEvents>("scaling events", "By group, newest first.")
          .wire<&ScalingEvents::ns>("Namespace", "Namespace of the job.")
          .wire<&ScalingEvents::job_id>("JobID", "ID of the job.")
          .wire<&ScalingEvents::groups>("ScalingEvents", "By the group's name, the newest 20 of each.")
          .done();
  return s;
}

}  // namespace underway::model
