#include "cli/cluster/slurm_versions.hpp"

#include <algorithm>

#include "api/cluster/slurm_versions.hpp"
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/terminal.hpp"
#include "image/image_file.hpp"
#include "model/capsule/capsule_name.hpp"

namespace underway::cli {
namespace {

/// Of the image that a capsule's task asks for; nothing: nobody here has it.
std::optional<image::Manifest> find_manifest(sdk::Client& client, const std::string& asked,
                                             const std::vector<CapsuleFile>& files) {
  const auto file = std::ranges::find(files, asked, &CapsuleFile::digest);
  if (file != files.end()) return image::ImageFile::open(file->path).manifest();
  if (asked.empty() || asked.find('/') != std::string::npos || asked.find("${") != std::string::npos)
    return std::nullopt;
  try {
    const auto told = client.image_info(asked);
    return json::decode<image::Manifest>(told.at("Manifest"), "answer");
  } catch (const Error& error) {
    // Whoever may not look at images is not warned; whether the job may run the server says.
    if (error.code() != Code::not_found && error.code() != Code::denied) throw;
    return std::nullopt;
  }
}

std::string image_of(const model::Task& task) {
  const auto* config = task.config.if_object();
  const auto* asked = config != nullptr ? config->if_contains("image") : nullptr;
  return asked != nullptr && asked->is_string() ? std::string(asked->get_string()) : std::string();
}

std::optional<std::string> version_text(const std::optional<slurm::Version>& version) {
  return version ? std::optional(version->text()) : std::nullopt;
}

void warn(const std::vector<std::string>& warnings) {
  for (const auto& warning : warnings) say(paint(Colour::yellow, "warning: ") + warning);
}

}  // namespace

std::string slurm_of(const image::Manifest& manifest) {
  return slurm::judge_versions(api::services_of(manifest), {}).summary;
}

std::vector<std::string> slurm_warnings(sdk::Client& client, const std::vector<const model::Job*>& jobs,
                                        const std::vector<CapsuleFile>& files) {
  std::vector<std::string> out;
  for (const auto* job : jobs) {
    const auto slurmd = api::slurmd_in(*job);
    if (!slurmd.empty()) {
      for (const auto& problem : client.slurmd_versions(slurmd, job->ns).problems)
        out.push_back(fmt::format("job '{}': {}", job->id, problem));
    }
    for (const auto& group : job->groups) {
      const auto* task = model::capsule_task(group);
      const auto manifest = task != nullptr ? find_manifest(client, image_of(*task), files) : std::nullopt;
      if (!manifest) continue;
      const auto services = api::services_of(*manifest);
      if (!services.slurmctld && !services.slurmdbd) continue;
      const auto name = model::capsule_name(*job, group);
      const sdk::SlurmServices asked{version_text(services.slurmctld), version_text(services.slurmdbd)};
      for (const auto& problem : client.slurm_versions(asked, job->ns, name).problems)
        out.push_back(fmt::format("capsule '{}': {}", name, problem));
    }
  }
  return out;
}

namespace {

/// Those of the jobs that the plan changes: what runs already is not what is decided about.
std::vector<const model::Job*> changed_jobs(const wire::ClusterPlan& plan, const wire::ClusterBody& body) {
  std::vector<const model::Job*> out;
  for (const auto& job : body.jobs) {
    const bool changed = std::ranges::any_of(plan.jobs, [&](const auto& change) { return change.id == job.job.id; });
    if (changed) out.push_back(&job.job);
  }
  return out;
}

}  // namespace

void refuse_slurm(sdk::Client& client, const wire::ClusterPlan& plan, const wire::ClusterBody& body,
                  const std::vector<CapsuleFile>& files, const Arguments& arguments) {
  if (arguments.has(kAnySlurmVersion.name)) return;
  const auto problems = slurm_warnings(client, changed_jobs(plan, body), files);
  if (problems.empty()) return;
  Error error(Code::conflict,
              fmt::format("this change of cluster '{}' brings releases of Slurm together that do not go "
                          "together; nothing was changed",
                          body.cluster.name));
  error.because(problems);
  throw error.advise(
      "go in this order: slurmdbd, slurmctld (`underway capsule upgrade`), slurmd; -any-slurm-version goes on all the "
      "same");
}

void warn_of_slurm(sdk::Client& client, const model::Job& job) { warn(slurm_warnings(client, {&job}, {})); }

void warn_of_slurm(sdk::Client& client, const wire::ClusterBody& body, const std::vector<CapsuleFile>& files) {
  std::vector<const model::Job*> jobs;
  for (const auto& job : body.jobs) jobs.push_back(&job.job);
  warn(slurm_warnings(client, jobs, files));
}

}  // namespace underway::cli
