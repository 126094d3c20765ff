// What Slurm's commands print comes from a peer: it never harms, and never asks for more memory than it is long.
#include <cstddef>
#include <cstdint>

#include "slurm/queue.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& node : underway::slurm::parse_nodes(text)) {
    if (node.name.empty()) __builtin_trap();
  }
  underway::slurm::parse_jobs(text);
  return 0;
}
