#include "oci/pull/pull.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "oci/config.hpp"
#include "oci/layer.hpp"
#include "oci/pull/source.hpp"

namespace underway::oci::pull {
namespace {

using Steady = std::chrono::steady_clock;

/// Counts what arrives, and tells now and then.
class Meter {
 public:
  explicit Meter(const std::function<void(const Progress&)>& say) : say_(say) {}

  void expect(std::int64_t layers) {
    const std::lock_guard held(mutex_);
    progress_.layers = layers;
  }
  void begin(std::int64_t bytes) {
    const std::lock_guard held(mutex_);
    progress_.bytes += bytes;
  }
  void arrived(std::int64_t bytes) {
    const std::lock_guard held(mutex_);
    progress_.bytes_done += bytes;
    constexpr auto kPause = std::chrono::milliseconds(200);
    if (const auto now = Steady::now(); now - told_ >= kPause) {
      told_ = now;
      say_(progress_);
    }
  }
  void finished() {
    const std::lock_guard held(mutex_);
    ++progress_.layers_done;
    say_(progress_);
  }

 private:
  const std::function<void(const Progress&)>& say_;
  std::mutex mutex_;
  Progress progress_;
  Steady::time_point told_;
};

class Pull {
 public:
  Pull(const PullRequest& request, const std::function<void(const Progress&)>& say)
      : request_(request), reference_(parse_reference(request.reference)), records_(request.store), meter_(say) {
    allowance_ = {.bytes = request.limits.unpacked_bytes, .entries = request.limits.entries};
  }

  std::string run() {
    // Of others who pull the same, all but one find everything in its place.
    const os::Fd turn = records_.turn("pull-" + hex(crypto::sha256(request_.reference)));
    std::optional<Scratch> scratch;
    if (reference_.local()) scratch.emplace(records_);
    source_ = scratch ? open_local(request_, reference_, scratch->path) : open_registry(request_, reference_, records_);
    Http http(request_);
    read_documents(http);
    lease();
    fetch_layers();
    adopt_looks(http);
    leave_out_repeated();
    lease();
    records_.write_image({request_.reference, manifest_digest_, manifest_.config.digest, names_});
    return manifest_digest_;
  }

 private:
  /// Where an archive is unpacked. Its turn is held, so that whoever sweeps knows that it is in use.
  struct Scratch {
    explicit Scratch(const Records& records)
        : name("archive-" + hex(random_bytes(12))),
          path(records.unpacking(name)),
          turn(records.turn(name)),
          lock(records.directory() + "/locks/" + name) {}
    ~Scratch() {
      try {
        os::remove_tree(path);
      } catch (const Error&) {
        // Whoever sweeps the store removes it.
      }
      ::unlink(lock.c_str());
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    std::string name, path;
    os::Fd turn;
    std::string lock;
  };

  void read_documents(Http& http) {
    const std::string text = source_->manifest(http);
    manifest_ = parse_document(text);
    manifest_digest_ = digest_of(text);
    check_manifest();
    const std::string config = source_->document(http, manifest_.config);
    config_ = parse_config(config);
    if (config_.diff_ids.size() != manifest_.layers.size())
      throw Error(Code::invalid, fmt::format("the image '{}' contradicts itself", request_.reference))
          .because(fmt::format("its manifest has {} layers, its configuration {}", manifest_.layers.size(),
                               config_.diff_ids.size()));
    records_.write_document(manifest_digest_, text);
    records_.write_document(manifest_.config.digest, config);
    for (const auto& id : config_.diff_ids) names_.push_back(layer_name(id, {}));
    meter_.expect(static_cast<std::int64_t>(names_.size()));
  }

  void check_manifest() const {
    const auto& limits = request_.limits;
    if (manifest_.config.digest.empty())
      throw Error(Code::invalid, fmt::format("'{}' is no image", request_.reference))
          .because("its manifest names no configuration");
    const std::string& kind = manifest_.config.media_type;
    if (kind != "application/vnd.oci.image.config.v1+json" &&
        kind != "application/vnd.docker.container.image.v1+json" && kind != "application/octet-stream" && !kind.empty())
      throw Error(Code::unsupported, fmt::format("'{}' is no image of a container", request_.reference))
          .because(fmt::format("its configuration is '{}'", kind));
    if (manifest_.config.size > limits.document_bytes)
      throw Error(Code::too_large, "the configuration of the image is too large")
          .because(human_bytes(static_cast<std::uint64_t>(manifest_.config.size)));
    if (static_cast<std::int64_t>(manifest_.layers.size()) > limits.layers)
      throw Error(Code::too_large, "the image has too many layers")
          .because(fmt::format("{}, and {} are taken", manifest_.layers.size(), limits.layers));
    for (const auto& layer : manifest_.layers) {
      if (layer.size > limits.layer_bytes)
        throw Error(Code::too_large, fmt::format("the layer '{}' is too large", layer.digest))
            .because(fmt::format("it has {}, and {} are taken", human_bytes(static_cast<std::uint64_t>(layer.size)),
                                 human_bytes(static_cast<std::uint64_t>(limits.layer_bytes))));
      if (layer.media_type.find("tar") == std::string::npos || layer.media_type.find("encrypted") != std::string::npos)
        throw Error(Code::unsupported, fmt::format("the layer '{}' is no archive that can be read", layer.digest))
            .because(fmt::format("its media type is '{}'", layer.media_type));
    }
  }

  /// From here on nobody removes the layers.
  void lease() const {
    const os::Fd held = records_.share();
    auto record = records_.find_lease(request_.lease);
    if (!record)
      throw Error(Code::conflict, fmt::format("cannot pull '{}'", request_.reference))
          .because("the lease was ended meanwhile");
    record->reference = request_.reference;
    record->digest = manifest_digest_;
    record->config = manifest_.config.digest;
    record->layers = names_;
    records_.write_lease(request_.lease, *record);
  }

  void fetch_layers() {
    std::atomic<std::size_t> following = 0;
    std::mutex mutex;
    std::exception_ptr failure;
    const auto work = [&] {
      Http http(request_);
      for (std::size_t i = 0; (i = following++) < names_.size();) {
        try {
          fetch_layer(http, i, names_[i], {});
          meter_.finished();
        } catch (...) {
          const std::lock_guard held(mutex);
          if (!failure) failure = std::current_exception();
          following = names_.size();
        }
      }
    };
    {
      std::vector<std::jthread> threads;
      const auto count = std::clamp<std::int64_t>(request_.at_once, 1, 16);
      for (std::int64_t i = 0; i < std::min(count, static_cast<std::int64_t>(names_.size())); ++i)
        threads.emplace_back(work);
    }
    if (failure) std::rethrow_exception(failure);
  }

  /// Makes the layer if there is none of that name.
  void fetch_layer(Http& http, std::size_t index, const std::string& name, const AdoptedLooks& adopted) {
    const os::Fd turn = records_.turn(name);
    if (const auto there = records_.find_layer(name)) return charge(*there);
    const Descriptor& blob = manifest_.layers[index];
    // A packed layer may have another name than the unpacked one, and others may want it for that.
    const os::Fd packed_turn = records_.turn(blob.digest.substr(7) + ".packed");
    meter_.begin(blob.size);
    const auto layer = source_->layer(http, blob, [this](std::int64_t bytes) { meter_.arrived(bytes); });
    records_.throw_away(records_.unpacking(name));
    Allowance allowance = allowance_left();
    const LayerRecord record = unpack_layer({.file = layer.file,
                                             .name = blob.digest,
                                             .digest = layer.verified ? "" : blob.digest,
                                             .diff_id = config_.diff_ids[index]},
                                            records_.unpacking(name), adopted, request_.limits, allowance);
    charge(record);
    records_.publish_layer(name, record);
    source_->forget(blob);
  }

  Allowance allowance_left() {
    const std::lock_guard held(mutex_);
    return allowance_;
  }
  void charge(const LayerRecord& record) {
    const std::lock_guard held(mutex_);
    allowance_.bytes -= record.bytes;
    allowance_.entries -= record.entries;
    if (allowance_.bytes < 0 || allowance_.entries < 0)
      throw Error(Code::too_large, fmt::format("the image '{}' is too large", request_.reference))
          .because(fmt::format("unpacked it is larger than {}, or has more than {} entries",
                               human_bytes(static_cast<std::uint64_t>(request_.limits.unpacked_bytes)),
                               request_.limits.entries));
  }

  /// Directories that a layer implies look in this image as they do in the layers below: such a layer is unpacked once
  /// more, under another name.
  void adopt_looks(Http& http) {
    std::vector<std::string> below;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto record = records_.find_layer(names_[i]);
      const auto adopted = adopted_looks(record.value_or(LayerRecord{}).implied, below);
      if (!adopted.empty()) {
        names_[i] = layer_name(config_.diff_ids[i], adopted);
        lease();
        fetch_layer(http, i, names_[i], adopted);
      }
      below.push_back(records_.layer(names_[i]));
    }
  }

  /// overlayfs takes no directory twice. Of a layer that comes again all is hidden by the upper one.
  void leave_out_repeated() {
    std::set<std::string> seen;
    std::vector<std::string> kept;
    for (auto name = names_.rbegin(); name != names_.rend(); ++name)
      if (seen.insert(*name).second) kept.push_back(*name);
    names_.assign(kept.rbegin(), kept.rend());
  }

  const PullRequest& request_;
  Reference reference_;
  Records records_;
  Meter meter_;
  std::unique_ptr<Source> source_;
  std::string manifest_digest_;
  Document manifest_;
  ImageConfig config_;
  std::vector<std::string> names_;
  std::mutex mutex_;
  Allowance allowance_;
};

}  // namespace

std::string pull(const PullRequest& request, const std::function<void(const Progress&)>& say) {
  return Pull(request, say).run();
}

}  // namespace underway::oci::pull
