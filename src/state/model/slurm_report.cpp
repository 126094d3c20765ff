#include "model/slurm_report.hpp"

namespace underway::model {

const describe::Structure& description(describe::Tag<SlurmReport>) {
  static const describe::Structure s = describe::Builder<SlurmReport>("Slurm report", "")
                                           .wire<&SlurmReport::ns>("Namespace", "")
                                           .wire<&SlurmReport::job>("Job", "")
                                           .wire<&SlurmReport::boot>("Boot", "")
                                           .wire<&SlurmReport::at>("At", "")
                                           .wire<&SlurmReport::findings>("Findings", "")
                                           .wire<&SlurmReport::cut_off>("CutOff", "")
                                           .wire<&SlurmReport::spared>("Spared", "")
                                           .wire<&SlurmReport::job_bound>("JobBound", "")
                                           .done();
  return s;
}

}  // namespace underway::model
