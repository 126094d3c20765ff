#include "elastic/explanation.hpp"

namespace underway::elastic {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const describe::Enumeration& description(Tag<Obstacle>) {
  static const auto e = describe::enumeration<Obstacle>("obstacle");
  return e;
}

const Structure& description(Tag<Refusal>) {
  static const Structure s = Builder<Refusal>("refusal", "Why a class does not serve a Slurm job.")
                                 .wire<&Refusal::class_name>("Class", "The class.")
                                 .wire<&Refusal::obstacle>("Obstacle", "What stands in the way.")
                                 .wire<&Refusal::need>("Need", "What is asked for, or the limit.")
                                 .wire<&Refusal::have>("Have", "What there is, or is used of the limit.")
                                 .wire<&Refusal::what>("What", "Which feature or limit.")
                                 .wire<&Refusal::until>("Until", "Until when.")
                                 .time()
                                 .done();
  return s;
}

const Structure& description(Tag<ShapeExplanation>) {
  static const Structure s = Builder<ShapeExplanation>("explained jobs", "Slurm jobs that ask for the same.")
                                 .wire<&ShapeExplanation::partition>("Partition", "Their partition.")
                                 .wire<&ShapeExplanation::nodes>("Nodes", "Nodes of each.")
                                 .wire<&ShapeExplanation::cpus>("CPUs", "Processors per node.")
                                 .wire<&ShapeExplanation::memory_mb>("MemoryMB", "MiB of memory per node.")
                                 .wire<&ShapeExplanation::features>("Features", "Features of the nodes.")
                                 .wire<&ShapeExplanation::jobs>("Jobs", "How many; tasks of arrays each count.")
                                 .wire<&ShapeExplanation::examples>("Examples", "A few of their ids.")
                                 .wire<&ShapeExplanation::fit_now>("FitNow", "Fit on nodes that are up or being made.")
                                 .wire<&ShapeExplanation::booting>("Booting", "Nodes are asked for now.")
                                 .wire<&ShapeExplanation::waiting>("Waiting", "Wait.")
                                 .wire<&ShapeExplanation::refusals>("Refusals", "For what.")
                                 .done();
  return s;
}

const Structure& description(Tag<ClassExplanation>) {
  static const Structure s = Builder<ClassExplanation>("explained class", "What a class has, and what is done with it.")
                                 .wire<&ClassExplanation::name>("Name", "Its name.")
                                 .wire<&ClassExplanation::running>("Running", "Nodes that are up.")
                                 .wire<&ClassExplanation::idle>("Idle", "Nodes without a job.")
                                 .wire<&ClassExplanation::booting>("Booting", "Nodes that are being made.")
                                 .wire<&ClassExplanation::asleep>("Asleep", "Nodes that are suspended.")
                                 .wire<&ClassExplanation::max_nodes>("MaxNodes", "How many there may be.")
                                 .wire<&ClassExplanation::grown>("Grown", "Nodes asked for now.")
                                 .wire<&ClassExplanation::shrunk>("Shrunk", "Nodes taken away now.")
                                 .wire<&ClassExplanation::draining>("Draining", "Nodes that are being emptied.")
                                 .wire<&ClassExplanation::kept>("Kept", "Why idle nodes stay.")
                                 .done();
  return s;
}

const Structure& description(Tag<ThresholdExplanation>) {
  static const Structure s = Builder<ThresholdExplanation>("threshold not reached", "A threshold that is not reached.")
                                 .wire<&ThresholdExplanation::partition>("Partition", "The partition.")
                                 .wire<&ThresholdExplanation::jobs>("Jobs", "Slurm jobs that have waited for as long.")
                                 .wire<&ThresholdExplanation::of>("Of", "As many as are needed.")
                                 .wire<&ThresholdExplanation::minutes>("Minutes", "For how long.")
                                 .done();
  return s;
}

const Structure& description(Tag<Explanation>) {
  static const Structure s =
      Builder<Explanation>("growth explanation", "Why the policy did what it did.")
          .wire<&Explanation::at>("At", "When.")
          .time()
          .wire<&Explanation::classes>("Classes", "Classes of nodes.")
          .wire<&Explanation::shapes>("Shapes", "Slurm jobs that wait, by what they ask for.")
          .wire<&Explanation::thresholds>("Thresholds", "Those that are not reached.")
          .wire<&Explanation::not_cured>("NotCured", "Slurm jobs that nodes do not help, by reason.")
          .wire<&Explanation::notes>("Notes", "What else was done.")
          .done();
  return s;
}

}  // namespace underway::elastic
