#pragma once
/// @file
/// The node's part of file synchronisation: asks for its manifest when it links, when it is told that it changed, and
/// on a schedule; fetches the bytes that differ; carries out rounds (targets/round.hpp); reports. Without a server
/// nothing happens: files stay as they are. Capsules that run here are targets too.
///
/// In `<data_dir>/files`: `server.key` (the keys of the server whose manifests are believed), `node/` and
/// `capsules/<name>/`.

#include <atomic>

#include "async/group.hpp"
#include "files/manifest.hpp"
#include "files/targets/round.hpp"
#include "node/extension.hpp"

namespace underway::files {

struct FileOptions {
  Duration every = std::chrono::minutes(5);  ///< between two looks, a quarter more or less by chance
  std::string root = "/";                    ///< of the node
  /// Capsules that run here now. Absent: there are none.
  std::function<std::vector<std::shared_ptr<FileTarget>>()> capsules;
};

class FileExtension final : public node::Extension {
 public:
  explicit FileExtension(FileOptions options) : options_(std::move(options)) {}

  std::string_view prefix() const override { return "files."; }
  node::awaitable<void> start(node::ExtensionContext context) override;
  node::awaitable<void> stop() override;
  void linked() override;
  node::awaitable<boost::json::value> answer(std::string method, boost::json::value body) override;
  node::awaitable<void> serve(std::string method, boost::json::value header,
                              std::shared_ptr<link::Stream> stream) override;

  /// Looks at all targets now.
  void wake();

 private:
  struct Followed {
    std::shared_ptr<FileTarget> target;
    std::unique_ptr<Rounds> rounds;
    std::string refused;
    std::string reported;  ///< what the server was told last
    std::string failure;   ///< said in the log once
  };
  node::awaitable<void> wait_for_something();
  node::awaitable<void> pass();
  node::awaitable<void> follow(Followed& followed, std::shared_ptr<link::Connection> server);
  node::awaitable<Manifest> wanted(Followed& followed, std::shared_ptr<link::Connection> server);
  node::awaitable<void> believe(Trust trust);
  node::awaitable<std::map<std::string, std::string>> fetch(std::string capsule, std::vector<ManifestEntry> entries,
                                                            std::shared_ptr<link::Connection> server);
  node::awaitable<void> fetch_large(Followed& followed, std::vector<ManifestEntry> entries,
                                    std::shared_ptr<link::Connection> server);
  node::awaitable<void> receive(Incoming& incoming, ManifestEntry entry, std::string capsule,
                                std::shared_ptr<link::Connection> server);
  node::awaitable<void> carry_out(Followed& followed, Round round, std::map<std::string, std::string> contents,
                                  bool begun, std::shared_ptr<link::Connection> server);
  node::awaitable<void> report(Followed& followed, std::shared_ptr<link::Connection> server);
  node::awaitable<FoundFile> read(ReadRequest request);
  node::awaitable<MasterReply> master(MasterRequest request);
  node::awaitable<std::vector<std::shared_ptr<FileTarget>>> capsules();
  node::awaitable<void> find_targets();
  Duration until_next() const;

  FileOptions options_;
  std::optional<node::ExtensionContext> context_;
  std::string directory_;
  Trust trust_;
  std::map<std::string, Followed> followed_;  ///< by the target's name
  std::map<std::string, Stamp> masters_;      ///< that lie here and were asked for, by path
  std::optional<async::TaskGroup> tasks_;
  async::Event woken_;
  bool wake_ = false;
  std::atomic<bool> stopping_ = false;  ///< read by the pool
};

}  // namespace underway::files
