// A policy is read, or refused with its reasons; one without a problem can be decided by.
#include <cstddef>
#include <cstdint>

#include "elastic/policy_file.hpp"
#include "elastic/tick.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  hcl::Diagnostics diagnostics;
  const auto policy =
      elastic::parse_policy(std::string_view(reinterpret_cast<const char*>(data), size), "policy.hcl", diagnostics);
  if (diagnostics.has_errors()) return 0;
  elastic::Tick tick;
  tick.now = TimePoint{std::chrono::seconds{1'700'000'000}};
  elastic::PendingJob job;
  job.id = "1";
  job.nodes_min = 3;
  job.reason = "Resources";
  tick.pending = {job};
  const auto decision = elastic::decide(policy, tick, {});
  for (const auto& grow : decision.grow) {
    const auto* type = policy.find_class(grow.class_name);
    if (type == nullptr || grow.count > type->max_nodes) __builtin_trap();
  }
  return 0;
}
