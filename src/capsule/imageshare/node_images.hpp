#pragma once
/// @file
/// The images of a node. A driver that is to run one asks for it here, before it opens it:
///
///     const std::string path = images.fetch_blocking("slurm-services:22.05.8");   // on the pool; minutes at most
///     auto image = image::open_verified(path, images.keys(), now);                // what is mounted is verified anew
///
/// An image that is here already is given at once and without the server, so a node starts what it has while the
/// server is away. A name that the server can be asked about means what the server's store has; without it, what was
/// added here last. Many that ask for one image share one transfer, which goes on where a broken link ended.

#include "async/event.hpp"
#include "async/group.hpp"
#include "async/loop.hpp"
#include "imageshare/messages.hpp"
#include "node/extension.hpp"

#include <functional>
#include <map>
#include <set>

namespace underway::imageshare {

using async::awaitable;

class NodeImages final : public node::Extension {
 public:
  /// `directory`: "<agent data_dir>/images", made if it is missing. It holds the store (image::Store), and in "keys"
  /// the cluster's trusted keys as *.pub files, as the server told them last. `patience` is for a link to come up when
  /// an image is not here. `clock` outlives this.
  NodeImages(std::string directory, const Clock& clock, Duration patience = std::chrono::seconds(30));

  std::string_view prefix() const override { return "image."; }
  awaitable<void> start(node::ExtensionContext context) override;
  awaitable<void> stop() override;
  void linked() override;
  void unlinked() override {}
  awaitable<boost::json::value> answer(std::string method, boost::json::value body) override;
  awaitable<void> serve(std::string method, boost::json::value header, std::shared_ptr<link::Stream> stream) override;

  /// Says which digests are needed whatever their age. Thread: a pool's. Before start().
  void keep(std::function<std::set<std::string>()> needed) { needed_ = std::move(needed); }

  /// The image is in the store when this returns. Thread: the loop's.
  /// Errors: not_found; denied when what came is not to be trusted; unavailable without a link, if it is not here.
  awaitable<image::StoredImage> fetch(std::string reference);
  /// The same for a thread of the pool; returns the path of the file. Throws timeout after `limit`.
  std::string fetch_blocking(const std::string& reference, Duration limit = std::chrono::minutes(10));

  const image::Store& store() const { return store_; }
  std::string keys_directory() const { return directory_ + "/keys"; }
  /// Thread: any.
  std::vector<image::TrustedKey> keys() const;
  /// Transfers that were begun: for tests.
  std::size_t transfers() const { return begun_; }

 private:
  struct Transfer;
  awaitable<image::StoredImage> find(std::string reference);
  awaitable<image::StoredImage> ask_for(std::string reference);
  awaitable<std::optional<image::StoredImage>> find_here(std::string reference);
  awaitable<void> transfer(std::shared_ptr<Transfer> transfer, image::StoredImage image);
  awaitable<bool> try_transfer(const image::StoredImage& image);
  awaitable<void> receive(const image::Incoming& incoming, std::int64_t offset);
  awaitable<void> wait_for_link(async::SteadyTime deadline);
  awaitable<void> collect(const std::string& fresh);
  awaitable<void> wait_for_server();
  awaitable<void> follow_keys();
  awaitable<void> take_keys(bool wait);
  awaitable<boost::json::value> ask(std::string method, boost::json::value body, Duration limit);

  std::string directory_;
  const Clock& clock_;
  Duration patience_;
  image::Store store_;
  /// Its own: threads of the node's pool may all be waiting in fetch_blocking for what is done here.
  async::Pool pool_{1};
  std::optional<node::ExtensionContext> context_;
  std::optional<async::TaskGroup> tasks_;
  async::Event link_changed_;
  std::map<std::string, std::shared_ptr<Transfer>> transfers_;  ///< by digest
  std::string keys_digest_;
  std::function<std::set<std::string>()> needed_;
  std::size_t begun_ = 0;
};

}  // namespace underway::imageshare
