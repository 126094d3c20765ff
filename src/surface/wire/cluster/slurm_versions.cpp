#include "wire/cluster/slurm_versions.hpp"

namespace underway::wire {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<SlurmVersions>) {
  static const Structure s = Builder<SlurmVersions>("SlurmVersions", "Whether daemons of Slurm go together.")
                                 .wire<&SlurmVersions::problems>("Problems", "As sentences; none: they do.")
                                 .wire<&SlurmVersions::summary>("Summary", "All versions on one line, for people.")
                                 .done();
  return s;
}

}  // namespace underway::wire
