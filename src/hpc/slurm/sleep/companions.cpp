#include "slurm/sleep/companions.hpp"

#include "slurm/commands.hpp"
#include "slurm/elastic/member_controller.hpp"

namespace underway::slurm {

async::awaitable<std::map<std::string, std::string>> ask_companions(server::Server& server, std::string cluster,
                                                                    std::vector<std::string> hosts) {
  constexpr auto kPatience = std::chrono::seconds(5);  // somebody waits for the answer
  const auto controller = controller_of(*co_await server.read(), cluster);
  if (!controller.place) co_return std::map<std::string, std::string>();
  const auto ask = node_jobs_command({});
  const auto printed =
      co_await async::within(kPatience, "Slurm's list of jobs", run_in_task(server, *controller.place, ask));
  co_return companions(parse_node_jobs(printed), hosts);
}

}  // namespace underway::slurm
