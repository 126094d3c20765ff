#pragma once
/// @file
/// The images that a server keeps for its cluster, and the keys that the cluster trusts. Thread: the loop's; what
/// blocks goes to the pool.

#include "imageshare/messages.hpp"
#include "server/server.hpp"

namespace underway::imageshare {

using async::awaitable;

class ServerImages {
 public:
  /// `directory` is made. All others outlive this, and the server calls it until it has stopped.
  ServerImages(server::Server& server, Clock& clock, std::string directory);

  /// What nodes ask, for Server::add_extension("image.", …).
  server::Extension extension();

  awaitable<std::vector<image::StoredImage>> list();
  /// Throws not_found, or invalid for what names no image.
  awaitable<image::StoredImage> get(std::string reference);
  /// With what its manifest says.
  awaitable<image::Manifest> manifest(std::string digest);
  /// Throws conflict, naming the jobs, while a job refers to it, unless `force`.
  awaitable<void> remove(std::string reference, bool force);

  /// Removes the images that were added more than `unused` ago and that neither a job refers to, in any of the
  /// versions it could be reverted to, nor the record of a capsule. `dry`: only says which.
  awaitable<std::vector<image::StoredImage>> prune(Duration unused, bool dry);

  /// An image on its way here: bytes that have arrived, more of them, and the end, at which it is verified with the
  /// cluster's keys. Throw as image::Store does.
  awaitable<std::int64_t> received(image::Incoming incoming);
  awaitable<std::int64_t> append(image::Incoming incoming, std::int64_t offset, std::string bytes);
  awaitable<image::StoredImage> finish(image::Incoming incoming);

  /// The bytes of an image from `offset` on, piece by piece, into `write`.
  using Write = std::function<awaitable<void>(std::string)>;
  awaitable<void> read(std::string digest, std::int64_t offset, Write write);

  std::vector<image::KeyRecord> keys() const;
  /// Trusts a key. One that was revoked stays so: throws conflict.
  awaitable<void> trust(image::KeyRecord key);
  /// Throws not_found.
  awaitable<void> revoke(std::string id, std::string reason);

 private:
  awaitable<boost::json::value> answer(std::string method, boost::json::value body);
  awaitable<void> serve(std::string method, boost::json::value header, std::shared_ptr<link::Stream> stream);
  awaitable<Keys> other_keys(std::string known);
  std::vector<image::TrustedKey> trusted() const;
  std::vector<std::string> jobs_with(const image::StoredImage& image) const;

  server::Server& server_;
  Clock& clock_;
  image::Store store_;
  /// Of its own: in an agent with both roles, threads of the other wait for what is done here.
  async::Pool pool_{2};
};

}  // namespace underway::imageshare
