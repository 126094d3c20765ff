#pragma once
/// @file
/// Which file an `image` means, verified. What was verified stays open: a start that finds it again asks only whether
/// its signature is still good, and mounts what it holds. Thread: any.

#include <sys/stat.h>

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "image/verified.hpp"

namespace underway::run {

struct ImageSources {
  /// The node's image store (image::Store).
  std::string store;
  /// Brings an image into the store, if it is not there, and gives its path; absent: what is there has to do. Blocks.
  std::function<std::string(const std::string& reference)> fetch;
  /// Directories with public keys (*.pub).
  std::vector<std::string> keys;
};

struct OpenImage {
  std::string path;
  std::shared_ptr<const image::VerifiedImage> image;
};

class ImageCache {
 public:
  explicit ImageCache(ImageSources sources) : sources_(std::move(sources)) {}

  /// `reference`: an absolute path; "sha256:…" or "name[:version]" of the store; else a file below `task_dir` or its
  /// `local`. Errors: not_found, saying where was looked; as image::open_verified.
  OpenImage open(const std::string& reference, const std::string& task_dir, TimePoint now);

  /// The file alone, not verified. Errors: not_found.
  std::string find(const std::string& reference, const std::string& task_dir) const;

 private:
  struct Known {
    std::string path;
    struct stat status;
    std::shared_ptr<const image::VerifiedImage> image;
  };
  std::vector<image::TrustedKey> keys() const;
  std::string find_in_store(const std::string& reference) const;

  ImageSources sources_;
  std::mutex mutex_;
  std::list<Known> known_;  ///< the last used first
};

}  // namespace underway::run
