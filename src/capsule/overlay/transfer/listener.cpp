#include "overlay/transfer/listener.hpp"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "overlay/transfer/detail/scan.hpp"

namespace underway::overlay {
namespace {

/// A file that was just made is not told: it will be closed. A directory is, for what may lie in it already.
constexpr std::uint32_t kReplaced = IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE;
constexpr std::uint32_t kWatched = kReplaced | IN_CREATE | IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK;

constexpr std::uint32_t kNames = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_IGNORED | IN_Q_OVERFLOW;
/// Of a buffer of events each. Who makes directories faster than they are found must not keep us in this for ever.
constexpr int kMostReads = 64;
/// Of more the paths are not kept in memory.
constexpr std::size_t kMostListed = 20'000;

bool is_directory(const inotify_event& event) { return (event.mask & IN_ISDIR) != 0; }

}  // namespace

Listener::Listener(std::string upper, std::size_t directories) : upper_(std::move(upper)), limit_(directories) {
  begin();
}

void Listener::begin() {
  directories_.clear();
  if (!events_) events_ = os::Fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!events_)
    throw errno_error(errno, "cannot listen to what changes in an overlay")
        .advise("raise fs.inotify.max_user_instances: until then it is looked at ten times a second");
  add_below("");
}

void Listener::add(const std::string& reach, std::string path) {
  if (directories_.size() >= limit_)
    throw Error(Code::exhausted, fmt::format("cannot listen to what changes in '{}'", upper_))
        .because(fmt::format("it has more than {} directories", limit_));
  const int watch = ::inotify_add_watch(events_.get(), reach.c_str(), kWatched);
  if (watch >= 0) {
    directories_[watch] = std::move(path);
    return;
  }
  if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return;  // gone since it was seen
  throw errno_error(errno, fmt::format("cannot listen to what changes in '{}/{}'", upper_, path))
      .advise("raise fs.inotify.max_user_watches: until then it is looked at ten times a second");
}

/// A directory and those in it.
void Listener::add_below(const std::string& path) {
  const auto directory = Tree(upper_).open(path, O_PATH | O_DIRECTORY);
  if (!directory) return;
  const auto reach = fmt::format("/proc/self/fd/{}", directory->get());
  add(reach + "/.", path);
  Tree(reach).walk([&](const Tree::Item& item) {
    if (S_ISDIR(item.stat.st_mode)) add(item.reach, path.empty() ? item.path : path + "/" + item.path);
    return true;
  });
}

std::uint64_t Listener::hear() {
  const std::lock_guard lock(mutex_);
  listen();
  return heard_;
}

void Listener::listen() {
  alignas(inotify_event) std::array<char, 64 << 10> buffer{};
  bool again = false;
  for (int reads = 0;; ++reads) {
    if (reads == kMostReads) {
      ++heard_;
      ++names_;
      break;
    }
    const auto got = ::read(events_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof(event));
      const char* name = buffer.data() + at + sizeof(event);
      at += sizeof(event) + event.len;
      if ((event.mask & (kReplaced | IN_Q_OVERFLOW)) != 0 || is_directory(event)) ++heard_;
      if ((event.mask & kNames) != 0) ++names_;
      // What a renamed directory holds would be told by names that it had.
      if ((event.mask & IN_Q_OVERFLOW) != 0 || (is_directory(event) && (event.mask & IN_MOVED_FROM) != 0)) again = true;
      const auto found = directories_.find(event.wd);
      if ((event.mask & IN_IGNORED) != 0 && found != directories_.end()) {
        deaf_ = deaf_ || found->second.empty();
        directories_.erase(found);
        continue;
      }
      if (!is_directory(event) || (event.mask & (IN_CREATE | IN_MOVED_TO)) == 0 || event.len == 0) continue;
      if (found != directories_.end()) add_below(found->second.empty() ? name : found->second + "/" + name);
    }
  }
  if (deaf_) throw Error(Code::unavailable, fmt::format("'{}' is not what was listened to", upper_));
  if (again) begin();
}

Listener::Found Listener::look() {
  const std::lock_guard lock(mutex_);
  listen();
  const Tree tree(upper_);
  Look look;
  if (listed_ && listed_->names == names_) {
    // Each by its path: a component that has become a link since is another name, of which is heard next time.
    for (const auto& path : listed_->paths) {
      Tree::Item item{.path = path};
      if (::fstatat(tree.root().get(), path.c_str(), &item.stat, AT_SYMLINK_NOFOLLOW) == 0) look.add(item);
    }
    return {heard_, look.text()};
  }
  Listed listed{.names = names_};
  tree.walk([&](const Tree::Item& item) {
    if (listed.paths.size() <= kMostListed) listed.paths.push_back(item.path);
    look.add(item);
    return true;
  });
  listed_.reset();
  if (listed.paths.size() <= kMostListed) listed_ = std::move(listed);
  return {heard_, look.text()};
}

}  // namespace underway::overlay
