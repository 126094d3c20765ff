// parse → validate → write → parse gives the same job, whatever the text.
#include "base/json/json.hpp"
#include "jobspec/jobspec.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  jobspec::Inputs inputs;
  inputs.validate = false;
  inputs.variables = {{"datacenter", "dc1"}};
  inputs.strict = false;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto parsed = jobspec::parse_job(text, "fuzz.hcl", inputs);
  if (parsed.job.has_value() == parsed.diagnostics.has_errors()) std::abort();
  if (!parsed.job) {
    if (parsed.diagnostics.render().empty()) std::abort();
    return 0;
  }
  for (const auto& problem : model::validate(*parsed.job)) {
    if (problem.message.empty()) std::abort();
  }
  // What the server keeps is no part of a file, and JSON may carry it; config may say 1.0, which HCL calls 1.
  const std::string written = jobspec::write_job(*parsed.job);
  const auto again = jobspec::parse_job(written, "written.hcl", inputs);
  if (!again.job) std::abort();
  if (jobspec::write_job(*again.job) != written) std::abort();
  return 0;
}
