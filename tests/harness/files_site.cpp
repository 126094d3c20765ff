#include "harness/files_site.hpp"
#include "harness/places.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <stdexcept>

namespace underway::harness {

namespace fs = std::filesystem;
using std::chrono::seconds;

namespace {

const std::string kSiteProgram = binary_dir() + "/bin/underway";

}  // namespace

FilesSite::FilesSite() {
  fs::create_directories(site());
  fs::create_directories(file("first"));
  // It is there once its first process sleeps in it.
  const auto sleeps = [this] { return read_text(fmt::format("/proc/{}/comm", network_.pid())) == "sleep\n"; };
  if (!eventually(seconds(10), sleeps)) throw std::runtime_error("the network of the test did not come");
}

bool FilesSite::start_server() {
  write_text(file("server.hcl"), fmt::format("data_dir = \"{}\"\nname = \"mgmt\"\nserver {{\n  enabled = true\n  "
                                             "failover_heartbeat_ttl = \"5s\"\n}}\nports {{\n  http = {}\n}}\n",
                                             place_, kPort));
  server_.emplace(in_network({"agent", "-config", file("server.hcl")}, "server"));
  return eventually(seconds(20), [&] { return underway({"node", "status"}).exit_code == 0; });
}

void FilesSite::start_node(int number, const std::string& more) {
  const std::string name = fmt::format("n{}", number);
  if (!fs::exists(file(name + ".token"))) {
    const auto token = underway({"node", "join-token", "create"});
    if (token.exit_code != 0) throw std::runtime_error("no join token: " + token.err);
    write_text(file(name + ".token"), token.out);
    ::chmod(file(name + ".token").c_str(), 0600);
    write_text(file(name + ".hcl"),
               fmt::format("data_dir = \"{}\"\nname = \"{}\"\nclient {{\n  enabled = true\n  servers = "
                           "[\"https://127.0.0.1:{}\"]\n  join_token_file = \"{}\"\n{}}}\n",
                           file(name), name, kPort, file(name + ".token"), more));
    fs::create_directories(file(name + "-site"));
  }
  const auto at = static_cast<std::size_t>(number);
  if (nodes_.size() <= at) nodes_.resize(at + 1);
  // What it has stays when it is started again.
  nodes_[at].emplace(in_network({"agent", "-config", file(name + ".hcl")}, name,
                                "mount --bind " + file(name + "-site") + " " + site() + " && "));
}

/// All of them are in one network of their own.
Command FilesSite::in_network(const std::vector<std::string>& arguments, const std::string& log,
                              const std::string& before) {
  std::string line = before + "exec " + kSiteProgram;
  for (const auto& argument : arguments) line += " " + argument;
  return {.argv = {"nsenter", "--net", "--target", std::to_string(network_.pid()), "unshare", "--mount", "/bin/sh",
                   "-c", line + " >>" + file(log + ".log") + " 2>&1"}};
}

bool FilesSite::are_ready(int nodes) const {
  const auto said = underway({"node", "status"}).out;
  int ready = 0;
  for (auto at = said.find(" ready"); at != std::string::npos; at = said.find(" ready", at + 1)) ++ready;
  return ready == nodes;
}

Command FilesSite::command(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), kSiteProgram);
  return {.argv = std::move(arguments), .env = {{"UNDERWAY_STATE", place_}}, .directory = directory_.path()};
}

std::string FilesSite::seen(int number, const std::string& path) const {
  return fmt::format("{}/n{}-site{}", directory_.path(), number, path);
}

}  // namespace underway::harness
