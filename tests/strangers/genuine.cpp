#include "strangers/genuine.hpp"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include <cstdlib>

#include "strangers/server.hpp"

namespace underway::strangers {

using std::chrono::seconds;

std::unique_ptr<Genuine> Genuine::find() {
  const char* program = std::getenv("UNDERWAY_REAL_NOMAD");
  if (program == nullptr || *program == '\0') return nullptr;
  return std::unique_ptr<Genuine>(new Genuine(program));
}

Genuine::Genuine(std::string program) : program_(std::move(program)), address_("127.0.0.1:24646") {
  // "Nomad v1.6.5"
  const std::string said = harness::run({.argv = {program_, "version"}}).out;
  const std::size_t begins = said.find('v') + 1;
  version_ = said.substr(begins, said.find_first_of(" \n", begins) - begins);
  const std::string file = directory_.path() + "/agent.hcl";
  harness::write_text(file,
                      "data_dir = \"" + directory_.path() +
                          "/data\"\nbind_addr = \"127.0.0.1\"\nports {\n  http = 24646\n  rpc = 24647\n  serf = "
                          "24648\n}\nserver {\n  enabled = true\n  bootstrap_expect = 1\n}\nclient {\n  enabled = "
                          "true\n}\nacl {\n  enabled = true\n}\nplugin \"raw_exec\" {\n  config {\n    enabled = "
                          "true\n  }\n}\n");
  agent_ = std::make_unique<harness::Background>(harness::Command{.argv = {program_, "agent", "-config=" + file}});
  const auto bootstraps = [&] {
    const auto made = Server(address_).ask("PUT", "/v1/acl/bootstrap");
    if (made.status != 200) return false;
    token_ = std::string_view(boost::json::parse(made.body).at("SecretID").as_string());
    return true;
  };
  EXPECT_TRUE(harness::eventually(seconds(30), bootstraps)) << "the genuine server did not come up:\n"
                                                            << agent_->told();
  const auto ready = [&] {
    return Server(address_, token_).ask("GET", "/v1/nodes").body.find("\"Status\":\"ready\"") != std::string::npos;
  };
  EXPECT_TRUE(harness::eventually(seconds(30), ready)) << "its node did not come up:\n" << agent_->told();
}

}  // namespace underway::strangers
