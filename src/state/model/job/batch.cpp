#include "model/job/batch.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

const Enumeration& description(Tag<PayloadRule>) {
  static const Enumeration e = describe::enumeration<PayloadRule>("payload");
  return e;
}

const Structure& description(Tag<Periodic>) {
  static const Structure s =
      Builder<Periodic>("periodic", "Starts the job anew by the clock.")
          .attribute<&Periodic::enabled>("enabled", "Enabled", "Whether it is started at all.")
          .attribute<&Periodic::spec>("cron", "Spec", "When: a cron expression of 5 to 7 fields, or `@daily`.")
          .attribute<&Periodic::specs>("crons", "Specs", "Several of them, instead of `cron`.")
          .wire<&Periodic::spec_type>("SpecType", "cron.")
          .attribute<&Periodic::prohibit_overlap>("prohibit_overlap", "ProhibitOverlap",
                                                  "Leaves a start out while the one before still runs.")
          .attribute<&Periodic::time_zone>("time_zone", "TimeZone",
                                           "The zone of the expression, as `Europe/Zurich`; UTC when not given.")
          .done();
  return s;
}

const Structure& description(Tag<Parameterized>) {
  static const Structure s =
      Builder<Parameterized>("parameterized", "Starts the job for each dispatch, with what that brings.")
          .attribute<&Parameterized::payload>("payload", "Payload",
                                              "Whether a dispatch brings bytes: `optional`, `required`, `forbidden`.")
          .attribute<&Parameterized::meta_required>("meta_required", "MetaRequired", "Keys that it must bring.")
          .attribute<&Parameterized::meta_optional>("meta_optional", "MetaOptional", "Keys that it may bring.")
          .done();
  return s;
}

const Structure& description(Tag<DispatchPayload>) {
  static const Structure s =
      Builder<DispatchPayload>("dispatch_payload", "Writes the bytes of a dispatch for the task.")
          .attribute<&DispatchPayload::file>("file", "File", "Name of the file, below the task's `local`.")
          .destructive()
          .done();
  return s;
}

}  // namespace underway::model
