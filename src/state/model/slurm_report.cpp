#include "model/slurm_report.hpp"

namespace underway::model {

const describe::Structure& description(describe::Tag<SlurmReport>) {
  static const describe::Structure s =
      describe::Builder<SlurmReport>(
          "Slurm report",
          "What was found when a slurmctld that started from an older state was compared with its nodes.")
          .wire<&SlurmReport::ns>("Namespace", "Namespace of the job.")
          .wire<&SlurmReport::job>("Job", "ID of the job whose allocation runs slurmctld.")
          .wire<&SlurmReport::boot>("Boot", "The start of slurmctld that it is about, as slurmctld tells it.")
          .wire<&SlurmReport::at>("At", "Unix time in nanoseconds.")
          .wire<&SlurmReport::findings>("Findings", "What was found, for people.")
          .wire<&SlurmReport::cut_off>("CutOff",
                                       "Names of the nodes that slurmctld does not reach, and that run its jobs.")
          .wire<&SlurmReport::spared>("Spared", "Slurm jobs that run, or ran, and of which slurmctld does not know.")
          .wire<&SlurmReport::job_bound>(
              "JobBound", "All numbers of Slurm jobs that were given out are below it; 0: none was seen.")
          .done();
  return s;
}

}  // namespace underway::model
