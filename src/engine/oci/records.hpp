#pragma once
/// @file
/// The directory of a store, and what is written down in it. Store (the agent's side) and underway-pull share it:
///
///     blobs/sha256/<hex>    manifests, configurations, and layers until they are unpacked; whole and verified
///     incoming/<hex>        what has arrived of a blob; goes on after any crash where it ended
///     layers/<name>/        an unpacked layer, fit to be a lower directory of overlayfs
///     layers/<name>.json    its LayerRecord: without it the directory does not count
///     unpacking/<name>/     a layer that is being unpacked; thrown away by whoever wants the same one next
///     images/<key>.json     an ImageRecord; its date of change tells when the image was last asked for
///     leases/<id>.json      a LeaseRecord; <id>.lock is held while its holder lives, unless it has a name
///     locks/<what>          one at a time (flock(2))
///     lock                  shared: takes a lease of what it finds; exclusive: removes
///     trash/                on its way out
///
/// Files and layers appear by rename(2). What is unpacked is not flushed to disk at once, which would let every pull
/// wait for the writes of everybody on the node: a layer counts in the boot in which it was unpacked, and beyond when
/// it was flushed since (`make_durable`).

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json/describe.hpp"
#include "oci/document.hpp"
#include "os/file.hpp"

namespace underway::oci {

struct LayerRecord {
  std::string diff_id;
  std::int64_t bytes = 0, entries = 0;  ///< unpacked
  std::string boot;                     ///< kernel's id of the boot in which it was unpacked
  bool durable = false;                 ///< it was flushed to disk
  /// Directories that the layer has files in and no entry for; they look as they do in the layers below.
  std::vector<std::string> implied;
};
const describe::Structure& description(describe::Tag<LayerRecord>);

struct ImageRecord {
  std::string reference;            ///< Reference::text()
  std::string digest;               ///< of the manifest
  std::string config;               ///< digest
  std::vector<std::string> layers;  ///< names, lowest first
};
const describe::Structure& description(describe::Tag<ImageRecord>);

struct LeaseRecord {
  std::string name;       ///< empty: it ends with its holder
  std::string reference;  ///< Reference::text()
  std::string digest;     ///< of the manifest; empty until it is known
  std::string config;
  std::vector<std::string> layers;
};
const describe::Structure& description(describe::Tag<LeaseRecord>);

/// flock(2) of `path`, which is made. Blocks: yes, or with LOCK_NB gives nothing while others have it. Released when
/// the value goes; who has it alone may remove the file.
os::Fd lock_file(const std::string& path, int operation);

class Records {
 public:
  /// Makes the directories.
  explicit Records(std::string directory);

  const std::string& directory() const { return directory_; }
  std::string blob(const std::string& digest) const;  ///< path; throws Error(invalid) for what is no digest
  std::string part(const std::string& digest) const;
  std::string layer(const std::string& name) const { return directory_ + "/layers/" + name; }
  std::string unpacking(const std::string& name) const { return directory_ + "/unpacking/" + name; }
  std::string lease(const std::string& id) const { return directory_ + "/leases/" + id + ".json"; }
  std::string lease_lock(const std::string& id) const { return directory_ + "/leases/" + id + ".lock"; }

  /// What may go on beside others that take leases.
  os::Fd share() const;
  /// Alone, to remove.
  os::Fd alone() const;
  /// One at a time for what `name` says.
  os::Fd turn(const std::string& name) const;

  /// Nothing when there is none, it is damaged, or it may not have reached the disk before the machine went down.
  std::optional<LayerRecord> find_layer(const std::string& name) const;
  /// `unpacking/<name>` becomes the layer.
  void publish_layer(const std::string& name, const LayerRecord& record) const;
  /// Flushes what is not durable yet to disk. Blocks: yes.
  void make_durable() const;

  std::optional<ImageRecord> find_image(const std::string& reference) const;
  void write_image(const ImageRecord& record) const;
  void touch_image(const std::string& reference) const;
  struct KeptImage {
    ImageRecord record;
    std::string path;
    TimePoint used;
  };
  std::vector<KeptImage> images() const;

  std::optional<LeaseRecord> find_lease(const std::string& id) const;
  void write_lease(const std::string& id, const LeaseRecord& record) const;
  /// All by their ids; those whose holder died without a word are removed first. Under alone() or share().
  std::map<std::string, LeaseRecord> leases() const;

  /// The bytes of a small blob, compared with its digest; nothing when they are not there or not those.
  std::optional<std::string> find_document(const std::string& digest) const;
  void write_document(const std::string& digest, std::string_view bytes) const;

  /// Takes it out of the way by one rename; `empty_trash` removes it.
  void throw_away(const std::string& path) const;
  void empty_trash() const;

 private:
  std::string image_path(const std::string& reference) const;
  std::string directory_;
  std::string boot_;
};

}  // namespace underway::oci
