#include "slurm/elastic/resume_file.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "os/file.hpp"
#include "slurm/hostlist.hpp"

namespace underway::slurm {

const describe::Structure& description(describe::Tag<ResumeJob>) {
  static const auto structure =
      describe::Builder<ResumeJob>("ResumeJob", "A Slurm job that waits for nodes.")
          .wire<&ResumeJob::id>("ID", "Slurm's number of the job.")
          .wire<&ResumeJob::nodes>("Nodes", "All nodes that it has been given.")
          .wire<&ResumeJob::resume>("Resume", "Those of them that are to come.")
          .wire<&ResumeJob::features>("Features", "What it asked of nodes, as the user wrote it.")
          .wire<&ResumeJob::partition>("Partition", "The partition that it is in.")
          .wire<&ResumeJob::oversubscribe>("Oversubscribe", "Whether it shares nodes, in Slurm's words.")
          .wire<&ResumeJob::reservation>("Reservation", "The reservation that it uses.")
          .done();
  return structure;
}

const describe::Structure& description(describe::Tag<ResumeRequest>) {
  static const auto structure =
      describe::Builder<ResumeRequest>("ResumeRequest", "What Slurm asks for by its ResumeProgram.")
          .wire<&ResumeRequest::nodes>("Nodes", "All nodes that are to come.")
          .wire<&ResumeRequest::jobs>("Jobs", "The jobs that wait for them, where Slurm says so.")
          .done();
  return structure;
}

namespace {

class Reader {
 public:
  ResumeRequest read(std::string_view text) {
    if (text.size() > kLargestResumeFile)
      throw Error(Code::too_large, "Slurm's resume file is too large")
          .because(fmt::format("it has {} bytes, {} are read", text.size(), kLargestResumeFile));
    const auto json = json::parse(text);
    const auto* object = json.if_object();
    if (object == nullptr) throw Error(Code::invalid, "Slurm's resume file is no JSON object");
    ResumeRequest out;
    const bool later = object->contains("all_nodes_resume");
    out.nodes = hosts(*object, later ? "all_nodes_resume" : "all_nodes", "");
    if (const auto* jobs = object->if_contains("jobs"); jobs != nullptr && !jobs->is_null()) read_jobs(*jobs, out);
    if (!problems_.empty()) throw Error(Code::invalid, "Slurm's resume file cannot be read").because(problems_);
    return out;
  }

 private:
  static constexpr std::size_t kMostProblems = 20;

  void problem(std::string text) {
    if (problems_.size() < kMostProblems) problems_.push_back(std::move(text));
  }

  void read_jobs(const boost::json::value& jobs, ResumeRequest& out) {
    const auto* list = jobs.if_array();
    if (list == nullptr) return problem("jobs is no list");
    for (std::size_t i = 0; i < list->size(); ++i) {
      const auto where = fmt::format("jobs[{}].", i);
      const auto* object = (*list)[i].if_object();
      if (object == nullptr) {
        problem(fmt::format("jobs[{}] is no object", i));
        continue;
      }
      out.jobs.push_back(read_job(*object, where));
    }
  }

  ResumeJob read_job(const boost::json::object& object, const std::string& where) {
    ResumeJob job;
    const auto* id = object.if_contains("job_id");
    if (id != nullptr && id->is_int64() && id->as_int64() > 0)
      job.id = id->as_int64();
    else
      problem(where + "job_id is no number of a job");
    const bool later = object.contains("nodes_alloc") || object.contains("nodes_resume");
    job.nodes = hosts(object, later ? "nodes_alloc" : "nodes", where);
    job.resume = later ? hosts(object, "nodes_resume", where) : job.nodes;
    job.features = text(object, "features", where);
    job.partition = text(object, "partition", where);
    job.oversubscribe = text(object, "oversubscribe", where);
    job.reservation = text(object, "reservation", where);
    return job;
  }

  /// Null and absent are nothing.
  std::string text(const boost::json::object& object, std::string_view key, const std::string& where) {
    const auto* value = object.if_contains(key);
    if (value == nullptr || value->is_null()) return {};
    if (const auto* found = value->if_string()) return std::string(*found);
    problem(fmt::format("{}{} is no text", where, key));
    return {};
  }

  std::vector<std::string> hosts(const boost::json::object& object, std::string_view key, const std::string& where) {
    const auto list = text(object, key, where);
    if (list.empty() && where.empty()) problem(fmt::format("{} is not there", key));
    try {
      auto names = unfold_hosts(list);
      named_ += names.size();
      if (named_ > kMostResumeNodes)
        throw Error(Code::too_large, "Slurm's resume file names too many nodes")
            .because(fmt::format("more than {}, counted once per job", kMostResumeNodes));
      return names;
    } catch (const Error& e) {
      if (e.code() == Code::too_large) throw;
      problem(fmt::format("{}{}: {}", where, key, e.one_line()));
      return {};
    }
  }

  std::size_t named_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace

ResumeRequest parse_resume_file(std::string_view text) { return Reader().read(text); }

ResumeRequest resume_words(const std::string& hostlist) { return {unfold_hosts(hostlist), {}}; }

ResumeRequest read_resume_request(const std::string& path, const std::string& hostlist) {
  auto words = resume_words(hostlist);
  if (path.empty()) return words;
  ResumeRequest out;
  try {
    out = parse_resume_file(os::read_file(path, kLargestResumeFile));
  } catch (const Error&) {
    return words;  // gone after its 10 s, or a dialect of tomorrow: the nodes are known all the same
  }
  const std::set<std::string> told(out.nodes.begin(), out.nodes.end());
  for (auto& name : words.nodes) {
    if (!told.contains(name)) out.nodes.push_back(std::move(name));
  }
  return out;
}

}  // namespace underway::slurm
