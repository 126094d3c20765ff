#include "cli/slurm/delivery.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"

namespace underway::cli {

model::SlurmAsk ask_of(const slurm::ResumeRequest& request) {
  model::SlurmAsk out{.nodes = request.nodes};
  for (const auto& job : request.jobs) {
    if (!job.resume.empty()) out.jobs.push_back({job.id, job.resume});
  }
  return out;
}

std::string task_of_configuration(const std::string& slurm_conf) {
  const auto name = slurm_conf.rfind('/');
  if (name == std::string::npos || name == 0) return {};
  const auto directory = slurm_conf.substr(0, name);
  constexpr std::string_view kLocal = "/local";
  if (!directory.ends_with(kLocal) || directory.size() == kLocal.size()) return {};
  return directory.substr(0, directory.size() - kLocal.size());
}

model::SlurmAnswer deliver(const std::function<model::SlurmAnswer(Duration left)>& attempt, Duration patience,
                           const Waiting& waiting) {
  constexpr Duration kPause = std::chrono::seconds(1);
  const TimePoint end = waiting.now() + patience;
  for (std::size_t tried = 1;; ++tried) {
    std::optional<Error> failure;
    try {
      // Time for an answer is left even when the last attempt begins at the end.
      return attempt(std::max<Duration>(end - waiting.now(), kPause));
    } catch (const Error& error) {
      failure = error;
    }
    const bool passes = failure->code() == Code::unavailable || failure->code() == Code::timeout;
    if (!passes) throw std::move(*failure);
    if (waiting.now() + kPause >= end) {
      failure->because(
          fmt::format("it was tried {} time{} in {}", tried, tried == 1 ? "" : "s", human_duration(patience)));
      throw std::move(*failure);
    }
    waiting.pause(kPause);
  }
}

}  // namespace underway::cli
