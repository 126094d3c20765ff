// Slurm's reservations come from a peer, and operators write into them: they never harm, nor ask for more memory than
// their bounds, and what is read and said again is said in one command.
#include <cstddef>
#include <cstdint>

#include "slurm/elastic/reservation.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::size_t nodes = 0;
  for (const auto& it : underway::slurm::parse_reservations(text)) {
    nodes += it.nodes.size();
    if (it.name.empty() || it.name.find(' ') != std::string::npos) __builtin_trap();
    if (!underway::slurm::update_command(it, it, it.begins).empty()) __builtin_trap();
  }
  if (nodes > underway::slurm::kMostReserved) __builtin_trap();
  return 0;
}
