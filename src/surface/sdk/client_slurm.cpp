// What Slurm's own programs say: ResumeProgram, SuspendProgram, ResumeFailProgram.
#include "base/json/json.hpp"
#include "sdk/client.hpp"

namespace underway::sdk {
namespace {

std::string program_path(const std::string& cluster, const char* program) {
  return fmt::format("/v1/underway/cluster/{}/slurm/{}", http::percent_encode(cluster), program);
}

model::SlurmAnswer answer_of(const http::Response& response) {
  return json::decode_text<model::SlurmAnswer>(response.body, "answer");
}

}  // namespace

model::SlurmAnswer Client::slurm_resume(const std::string& cluster, const model::SlurmAsk& ask, Duration within) {
  return answer_of(send("PUT", program_path(cluster, "resume"), {}, json::encode(ask), {}, within));
}

model::SlurmAnswer Client::slurm_suspend(const std::string& cluster, const model::SlurmAsk& ask, Duration within) {
  return answer_of(send("PUT", program_path(cluster, "suspend"), {}, json::encode(ask), {}, within));
}

model::SlurmAnswer Client::slurm_resume_fail(const std::string& cluster, const model::SlurmAsk& ask, Duration within) {
  return answer_of(send("PUT", program_path(cluster, "resume-fail"), {}, json::encode(ask), {}, within));
}

}  // namespace underway::sdk
