// A node and nothing else, for tests that kill it: node_test_agent DATA_DIR SERVER KEEPER FETCH
#include <csignal>

#include "base/error.hpp"
#include "base/log.hpp"
#include "driver/driver.hpp"
#include "node/node.hpp"
#include "os/file.hpp"

int main(int argc, char** argv) {
  using namespace underway;
  if (argc != 5) return 2;
  ::signal(SIGPIPE, SIG_IGN);
  try {
    async::Loop loop;
    async::Pool pool(2);
    os::make_directories(argv[1]);
    os::Ledger ledger(std::string(argv[1]) + "/ledger");
    driver::Options drivers;
    drivers.keeper_program = argv[3];
    drivers.hidden = {argv[1]};
    drivers.ledger = &ledger;
    std::vector<std::unique_ptr<driver::Driver>> all;
    all.push_back(driver::make_raw_exec(drivers));
    all.push_back(driver::make_exec(drivers));
    node::Options options;
    options.data_dir = argv[1];
    options.name = "test-node";
    options.servers = {argv[2]};
    options.fetch_program = argv[4];
    options.cgroup_parent = "underway-node-test";
    SystemClock clock;
    node::Node node(options, std::move(all), loop, pool, clock);
    loop.run_until_done(node.start());
    loop.run();
  } catch (const Error& error) {
    log::error("{}", error.text());
    return 1;
  }
  return 0;
}
