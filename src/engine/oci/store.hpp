#pragma once
/// @file
/// Images of a node: pulled once, unpacked once, held by leases.
///
///     Store store("/var/lib/underway/oci");
///     Image image = store.pull(parse_reference("busybox"), {.lease = alloc + "/" + task});
///     … an overlay over image.layers (lowest first), started with image.config …
///     image.lease.keep();                      // the task runs on when we end: store.release(name) ends the lease
///
/// A registry's image that is here is taken as it is (`force` asks the registry what the tag is now); of layouts and
/// archives it is looked every time. Downloading, unpacking and everything else that touches strangers' bytes happens
/// in the program underway-pull. Every call may come from any thread and any process, and blocks.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "oci/config.hpp"
#include "oci/lease.hpp"
#include "oci/records.hpp"
#include "oci/registry/pull_request.hpp"
#include "oci/registry/reference.hpp"

namespace underway::oci {

struct Image {
  std::string reference;  ///< Reference::text()
  std::string digest;     ///< of the manifest: the same for all who pull it
  ImageConfig config;
  /// Directories, lowest first: lower directories for overlayfs (whiteouts are devices 0:0, opaque directories have
  /// trusted.overlay.opaque). They must not be written to. Many of them do not fit into the page that mount(2) takes
  /// for options: then give it /proc/self/fd/N of each.
  std::vector<std::string> layers;
  Lease lease;
};

struct PullOptions {
  /// First choice; then those that `auth_file` has for the image.
  std::optional<Credentials> credentials;
  std::string auth_file;   ///< containers' auth.json or Docker's config.json; empty, or missing: none
  bool tls_verify = true;  ///< false: takes any certificate, and plain HTTP when there is no TLS
  std::string ca_file;     ///< PEM; empty: the system's
  bool plain_http = false;
  bool force = false;                          ///< ask the registry even if there is an image of that name
  Duration timeout = std::chrono::minutes(5);  ///< waiting for others that pull the same included
  std::string lease;                           ///< its name; empty: it ends with the returned Image's
  std::int64_t at_once = 4;                    ///< layers
  PullLimits limits;
  PullTimeouts patience;
  std::function<void(const Progress&)> progress;  ///< called from within pull, a few times a second
};

struct StoredImage {
  std::string reference, digest;
  std::int64_t bytes = 0;           ///< unpacked; layers that others have too are counted for each
  TimePoint used;                   ///< when it was last asked for
  std::vector<std::string> leases;  ///< names; "" for one without
};

/// What may go. Both are asked; an image that has a lease stays.
struct CollectPolicy {
  std::optional<Duration> unused_for;  ///< not asked for in so long
  std::optional<std::int64_t> bytes;   ///< of unpacked layers; beyond it go those first that were not used longest
};

struct Collected {
  std::vector<std::string> images;  ///< references
  std::int64_t layers = 0;
  std::int64_t bytes = 0;  ///< unpacked
};

class Store {
 public:
  /// Makes the directory. `program` is underway-pull; empty: the one that is installed beside us.
  explicit Store(std::string directory, std::string program = {});
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  const std::string& directory() const { return records_.directory(); }

  /// The image, with its lease taken; pulled if need be. At most one pull of an image is under way, whoever asks.
  /// Errors: not_found (no such image, no such tag), denied (credentials; a digest that does not fit; a hostile layer),
  /// unavailable, timeout, too_large, invalid, unsupported; exhausted (disk).
  Image pull(const Reference& reference, const PullOptions& options = {});
  /// The image of a lease that an earlier process took and kept. Errors: not_found.
  Image find_leased(const std::string& lease);
  /// Ends a lease by its name; nothing happens when there is none.
  void release(const std::string& lease);
  /// Names of leases that outlive their holders: who starts compares them with the tasks that run.
  std::vector<std::string> leases() const;

  /// Last used first.
  std::vector<StoredImage> list() const;
  /// Removes an image and the layers that no other has. Errors: not_found; conflict, naming the lease.
  void remove(const Reference& reference);
  /// Removes what the policy lets go, layers that no image has, and what pulls left behind. Flushes new layers to disk,
  /// so that they survive a crash of the machine; call it now and then.
  Collected collect(const CollectPolicy& policy, TimePoint now);

 private:
  struct Turns;
  std::optional<Image> find_here(const Reference& reference, const std::string& lease_id,
                                 const std::string& lease_name);
  Image make_image(const std::string& reference, const LeaseRecord& record, Lease lease) const;
  void run_program(const Reference& reference, const PullOptions& options, const std::string& lease_id,
                   std::chrono::steady_clock::time_point deadline) const;
  void sweep(Collected& out, TimePoint parts_before) const;

  Records records_;
  std::string program_;
  std::unique_ptr<Turns> turns_;
};

}  // namespace underway::oci
