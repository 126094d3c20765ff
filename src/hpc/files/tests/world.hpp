#pragma once
/// @file
/// A server with its files and nodes, in memory.

#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "files/manifest.hpp"
#include "files/masters/status.hpp"
#include "server/testing/desk.hpp"
#include "server/testing/fake_node.hpp"

namespace underway::files {

class FilesWorld : public ::testing::Test {
 protected:
  using FakeNode = server::testing::FakeNode;
  FilesWorld() {
    server.start();
    service.start();
    model::Cluster cluster;
    cluster.name = "hpc";
    cluster.directory = "/srv/hpc";
    cluster.networks = {{"mgmt", "10.0.0.0/24", false}};
    change(tables::PutCluster{cluster});
  }
  ~FilesWorld() override {
    for (auto& [number, node] : nodes) loop.run_until_done(node->stop());
    loop.run_until_done(service.stop());
    loop.run_until_done(server.stop());
    loop.context().restart();
    loop.context().poll();
  }

  void change(tables::Change what) {
    loop.run_until_done(server.apply(server::testing::PutChanges{{std::move(what)}}));
  }
  FakeNode& join(int number, const std::string& node_pool = "compute") {
    auto row = server::testing::make_node(number);
    row.cluster = "hpc";
    row.node_pool = node_pool;
    row.drivers["capsule"] = {true, true, "", {}};
    row.attributes["driver.capsule"] = "1";
    auto& node = nodes[number];
    node = std::make_unique<FakeNode>(loop.executor(), server, std::move(row));
    node->answers["files.changed"] = [this, number](const boost::json::value&) {
      ++told[number];
      return boost::json::object{};
    };
    loop.run_until_done(node->join());
    return *node;
  }
  static model::FileDeclaration file(const std::string& path, const std::string& bytes) {
    model::FileDeclaration out;
    out.name = path;
    out.content = bytes;
    return out;
  }
  FilesPut put(std::vector<model::FileDeclaration> files, bool directory = false, bool dry = false) {
    auto result = put_into("hpc", std::move(files), directory, dry);
    settle();
    return result;
  }
  FilesPut put_into(const std::string& cluster, std::vector<model::FileDeclaration> files, bool directory = false,
                    bool dry = false) {
    auto wanted = loop.run_until_done(service.prepare_put(cluster, std::move(files), directory, dry));
    if (!dry) return loop.run_until_done(server.apply(std::move(wanted)));
    loop.run_until_done(server.read());
    return server.preview(wanted).result;
  }
  void remove(const std::string& name) { loop.run_until_done(server.apply(RemoveFile{"hpc", name})); }
  /// Until the server's manifests follow the tables.
  void settle() {
    server::testing::run_until(loop, [&] { return service.follows(server.writer().tables()); });
  }
  template <class Answer, class Request>
  Answer ask(FakeNode& node, const std::string& method, const Request& request) {
    auto body = json::to_value(request, json::Encoding::compact);
    return json::decode<Answer>(loop.run_until_done(node.connection->call(method, std::move(body))));
  }
  std::optional<Manifest> manifest(FakeNode& node, const std::string& have = {}, const std::string& capsule = {}) {
    const auto reply = ask<ManifestReply>(node, "files.manifest", ManifestRequest{capsule, have});
    if (!reply.manifest) return std::nullopt;
    return open_manifest(*reply.manifest, {.node_id = node.id(), .capsule = capsule});
  }
  std::string content(FakeNode& node, const std::string& digest) {
    const auto reply = ask<ContentReply>(node, "files.content", ContentRequest{"", {digest}});
    return reply.contents.size() == 1 ? base64_decode(reply.contents[0].data) : "nothing";
  }
  template <class Body>
  static std::string refusal(Body body) {
    try {
      body();
    } catch (const Error& error) {
      return error.text();
    }
    return "no error";
  }
  const tables::Tables& tables() const { return const_cast<server::Server&>(server).writer().tables(); }

  async::Loop loop;
  async::Pool pool{2};
  store::MemoryStore store;
  SystemClock clock;
  SystemIds ids;
  server::Server server{loop.executor(), store, clock, ids, options()};
  FileService service{server, loop.executor(), pool, ids, service_options()};
  std::map<int, std::unique_ptr<FakeNode>> nodes;
  std::map<int, int> told;  ///< how often, by node

 private:
  static FileService::Options service_options() {
    FileService::Options out;
    out.follow = std::chrono::milliseconds(10);
    return out;
  }
  static server::Options options() {
    server::Options out;
    out.link_patience = std::chrono::milliseconds(50);
    out.root_by_raw_exec = true;
    return out;
  }
};

}  // namespace underway::files
