// The configuration of somebody's management server: whatever it says, it is read as far as it makes sense.
#include <cstdlib>

#include "adoption/plan/adoption.hpp"
#include "adoption/plan/plan_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  inspection::WarewulfSite warewulf;
  std::vector<std::string> gaps;
  inspection::parse_warewulf_nodes(text, warewulf, gaps);
  inspection::parse_warewulf_conf(text, warewulf, gaps);
  if (warewulf.port < 0 || warewulf.port > 65535) std::abort();
  const auto slurm = inspection::parse_slurm_conf(text);
  const auto canary = adoption::canary_slurm_conf(slurm, {"c1"}, "canary");
  if (canary.find("PartitionName=canary") == std::string::npos) std::abort();
  inspection::parse_slurmdbd_conf(text);
  inspection::parse_people(text);
  inspection::parse_service_users(text, {"slurm", "munge"});
  if (adoption::shell_word(text).find('\n') != std::string::npos) std::abort();
  if (adoption::markdown_text(text).find('\n') != std::string::npos) std::abort();
  return 0;
}
