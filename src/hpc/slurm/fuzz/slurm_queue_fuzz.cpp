// What Slurm's commands print comes from a peer: it never harms, and never asks for more memory than it is long.
#include <cstddef>
#include <cstdint>

#include "slurm/queue.hpp"
#include "slurm/reconcile/hold.hpp"
#include "slurm/reconcile/reconcile.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& node : underway::slurm::parse_nodes(text)) {
    if (node.name.empty()) __builtin_trap();
  }
  underway::slurm::parse_jobs(text);
  underway::slurm::parse_slurm_jobs(text);
  underway::slurm::parse_host_steps(text);
  underway::slurm::parse_ends(text);
  underway::slurm::parse_accounts(text);
  underway::slurm::parse_accepted(text);
  underway::slurm::parse_partitions(text);
  underway::slurm::parse_silent(text);
  underway::slurm::parse_boot_time(text);
  return 0;
}
