// A node that holds virtual machines, and nothing else, for tests that kill it:
//   machine_test_agent DATA_DIR SERVER NAME CGROUPS [STEP]
// It kills itself when its driver begins STEP.
#include <signal.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "harness/places.hpp"
#include "node/node.hpp"
#include "os/file.hpp"
#include "vm/driver.hpp"

int main(int argc, char** argv) {
  using namespace underway;
  if (argc < 5) return 2;
  ::signal(SIGPIPE, SIG_IGN);
  try {
    const std::string directory = argv[1], step = argc > 5 ? argv[5] : "";
    const SystemClock clock;
    async::Loop loop;
    async::Pool pool(4);
    os::make_directories(directory);
    os::Ledger ledger(directory + "/ledger");
    vm::Options machines;
    machines.driver.keeper_program = binary_dir() + "/bin/underway-keeper";
    machines.driver.ledger = &ledger;
    machines.machines = directory + "/machines";
    machines.probe.device = "/nowhere";
    machines.identify_program = binary_dir() + "/bin/underway-identify";
    machines.clock = &clock;
    machines.shared_memory = directory + "/shared";
    machines.on_step = [step](const std::string& now) {
      if (now == step) ::raise(SIGKILL);
    };
    std::vector<std::unique_ptr<driver::Driver>> drivers;
    drivers.push_back(vm::make_qemu(std::move(machines)));
    node::Options options;
    options.data_dir = directory;
    options.servers = {argv[2]};
    options.name = argv[3];
    options.fetch_program = binary_dir() + "/bin/underway-fetch";
    options.cgroup_parent = argv[4];
    options.secrets_in_memory = false;
    options.nvidia_library.clear();
    node::Node node(options, std::move(drivers), loop, pool, clock);
    loop.run_until_done(node.start());
    loop.run();
  } catch (const Error& error) {
    log::error("{}", error.text());
    return 1;
  }
  return 0;
}
