// The configuration of somebody's management server: whatever it says, it is read as far as it makes sense.
#include <cstdlib>

#include "survey/adoption.hpp"
#include "survey/detail/plan_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway::survey;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  WarewulfSite warewulf;
  std::vector<std::string> gaps;
  parse_warewulf_nodes(text, warewulf, gaps);
  parse_warewulf_conf(text, warewulf, gaps);
  if (warewulf.port < 0 || warewulf.port > 65535) std::abort();
  const auto slurm = parse_slurm_conf(text);
  const auto canary = canary_slurm_conf(slurm, {"c1"}, "canary");
  if (canary.find("PartitionName=canary") == std::string::npos) std::abort();
  parse_slurmdbd_conf(text);
  parse_people(text);
  parse_service_users(text, {"slurm", "munge"});
  if (detail::shell_word(text).find('\n') != std::string::npos) std::abort();
  if (detail::markdown_text(text).find('\n') != std::string::npos) std::abort();
  return 0;
}
