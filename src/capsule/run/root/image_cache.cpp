#include "run/root/image_cache.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "image/store.hpp"
#include "os/file.hpp"

namespace underway::run {
namespace {

/// An open file costs a descriptor and nothing else.
constexpr std::size_t kKept = 8;

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec &&
         a.st_ctim.tv_sec == b.st_ctim.tv_sec && a.st_ctim.tv_nsec == b.st_ctim.tv_nsec;
}

Error missing(const std::string& reference, const std::vector<std::string>& looked) {
  return Error(Code::not_found, fmt::format("there is no image '{}' on this node", reference))
      .because("looked for " + join(looked, ", "))
      .advise("put it there, or push it: `underway capsule push`");
}

}  // namespace

std::string ImageCache::find_in_store(const std::string& reference) const {
  static_cast<void>(image::parse_reference(reference));
  if (sources_.fetch) return sources_.fetch(reference);
  const image::Store store(sources_.store);
  return store.path_of(store.get(reference).digest);
}

std::string ImageCache::find(const std::string& reference, const std::string& task_dir) const {
  std::vector<std::string> candidates;
  if (reference.starts_with('/')) {
    candidates = {reference};
  } else if (reference.ends_with(".capsule") || reference.find('/') != std::string::npos) {
    candidates = {task_dir + "/" + reference, task_dir + "/local/" + reference};
  } else {
    return find_in_store(reference);
  }
  for (const auto& candidate : candidates) {
    if (os::exists(candidate)) return candidate;
  }
  throw missing(reference, candidates);
}

std::vector<image::TrustedKey> ImageCache::keys() const {
  std::vector<image::TrustedKey> keys;
  for (const auto& directory : sources_.keys) {
    for (auto& key : image::read_trusted_keys(directory)) keys.push_back(std::move(key));
  }
  return keys;
}

OpenImage ImageCache::open(const std::string& reference, const std::string& task_dir, TimePoint now) {
  const auto path = find(reference, task_dir);
  auto file = image::ImageFile::open(path);
  struct stat status{};
  if (::fstat(file.file().get(), &status) != 0) throw errno_error(errno, fmt::format("cannot examine '{}'", path));
  if (reference.starts_with("sha256:") && file.digest() != reference) {
    throw Error(Code::denied, fmt::format("'{}' is not the image that its name says", path))
        .because(fmt::format("its digest is {}", file.digest()));
  }
  const auto trusted = keys();
  {
    const std::scoped_lock lock(mutex_);
    const auto known =
        std::find_if(known_.begin(), known_.end(), [&](const auto& entry) { return is_same(entry.status, status); });
    if (known != known_.end() && known->image->digest() == file.digest()) {
      image::check_signatures(file, trusted, now);  // a key expires, or is revoked, while its images lie around
      known_.splice(known_.begin(), known_, known);
      return {path, known->image};
    }
  }
  auto verified = std::make_shared<const image::VerifiedImage>(image::verify(std::move(file), trusted, now));
  const std::scoped_lock lock(mutex_);
  known_.push_front({path, status, verified});
  if (known_.size() > kKept) known_.pop_back();
  return {path, std::move(verified)};
}

}  // namespace underway::run
