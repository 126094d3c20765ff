#pragma once
/// @file
/// A management server and nodes that take files from it: real agents over TCP in a network of their own, each with a
/// directory of its own.

#include <optional>
#include <string>
#include <vector>

#include "harness/command.hpp"

namespace underway::harness {

class FilesSite {
 public:
  static constexpr int kPort = 4646;

  /// Waits until the network is there. Throws std::runtime_error when it does not come.
  FilesSite();

  std::string file(const std::string& name) const { return directory_.path() + "/" + name; }
  /// Where masters are put on nodes: each node has a file system of its own there.
  std::string site() const { return file("site"); }
  /// Where the server has its data.
  std::string& place() { return place_; }
  const std::string& place() const { return place_; }

  /// False when it does not answer; its log is in file("server.log").
  bool start_server();
  std::optional<Background>& server() { return server_; }
  /// Joins at its first start. `more`: lines of its configuration. Its log is in file("n<number>.log").
  void start_node(int number, const std::string& more = "");
  Background& node(int number) { return *nodes_.at(static_cast<std::size_t>(number)); }
  /// Kills it, and whatever it started in its process group.
  void kill_node(int number) { nodes_.at(static_cast<std::size_t>(number)).reset(); }
  bool are_ready(int nodes) const;

  Command command(std::vector<std::string> arguments) const;
  Finished underway(std::vector<std::string> arguments) const { return run(command(std::move(arguments))); }
  /// What a node has at a path below site().
  std::string seen(int number, const std::string& path) const;

 private:
  Command in_network(const std::vector<std::string>& arguments, const std::string& log, const std::string& before = "");

  TemporaryDirectory directory_;
  Background network_{{.argv = {"unshare", "--net", "/bin/sh", "-c", "ip link set lo up && exec sleep infinity"}}};
  std::string place_ = directory_.path() + "/first/data";
  std::optional<Background> server_;
  std::vector<std::optional<Background>> nodes_;
};

}  // namespace underway::harness
