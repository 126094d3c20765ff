#include "model/elastic/slurm_asks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underway::model {

using describe::Builder;
using describe::Structure;
using describe::Tag;

std::vector<std::string> problems(const SlurmAsk& ask) {
  std::vector<std::string> out;
  if (ask.nodes.empty()) out.emplace_back("no node is named");
  if (ask.nodes.size() > kMostNodesAsked)
    out.push_back(fmt::format("{} nodes are named; at most {}", ask.nodes.size(), kMostNodesAsked));
  std::size_t of_jobs = 0;
  for (const auto& job : ask.jobs) of_jobs += job.nodes.size();
  if (of_jobs > kMostNodesOfAskingJobs)
    out.push_back(fmt::format("the jobs name {} nodes; at most {}", of_jobs, kMostNodesOfAskingJobs));
  if (std::any_of(ask.jobs.begin(), ask.jobs.end(), [](const auto& job) { return job.id <= 0; }))
    out.emplace_back("the number of a job is more than 0");
  return out;
}

const Structure& description(Tag<AskingJob>) {
  static const Structure s = Builder<AskingJob>("asking job", "A Slurm job that waits for nodes.")
                                 .wire<&AskingJob::id>("ID", "Slurm's number of the job.")
                                 .wire<&AskingJob::nodes>("Nodes", "Those of its nodes that are to come.")
                                 .done();
  return s;
}

const Structure& description(Tag<SlurmAsk>) {
  static const Structure s =
      Builder<SlurmAsk>("Slurm ask", "What Slurm says by its ResumeProgram, SuspendProgram or ResumeFailProgram.")
          .wire<&SlurmAsk::nodes>("Nodes", "The nodes that it names, one by one.")
          .wire<&SlurmAsk::jobs>("Jobs", "Of a resume: the jobs that wait for them, where Slurm says so.")
          .done();
  return s;
}

const Structure& description(Tag<SlurmAnswer>) {
  static const Structure s =
      Builder<SlurmAnswer>("Slurm answer", "What was made of what Slurm said.")
          .wire<&SlurmAnswer::asked_for>("AskedFor", "Hosts that are to be there from now on, or were already.")
          .wire<&SlurmAnswer::given_back>("GivenBack", "Hosts that are to go, or have gone already.")
          .wire<&SlurmAnswer::left_alone>("LeftAlone",
                                          "Hosts that Slurm has no say in: of other pools, or always there.")
          .done();
  return s;
}

}  // namespace underway::model
