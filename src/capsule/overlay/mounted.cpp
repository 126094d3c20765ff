#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>

#include "base/error.hpp"
#include "overlay/detail/loop.hpp"
#include "overlay/detail/state.hpp"

namespace underway::overlay {

std::string Mounted::State::layer() const {
  const bool subvolumes = record.kind == Kind::btrfs || record.kind == Kind::raid1;
  return subvolumes ? root + "/layer" : root;
}

std::string Mounted::State::device(std::size_t file) const {
  auto device = find_loop(record.files.at(file));
  if (!device) throw Error(Code::not_found, fmt::format("no loop device holds '{}'", record.files.at(file)));
  return std::move(*device);
}

void unmount(Mounted::State& state) {
  if (!state.ours) return;
  if (::umount2(state.root.c_str(), UMOUNT_NOFOLLOW) != 0) {
    throw errno_error(errno, fmt::format("cannot unmount the overlay at '{}'", state.root))
        .advise("stop what runs on it; `fuser -vm` shows who does");
  }
  state.ours = false;
  forget_mount(state);
}

void forget_mount(const Mounted::State& state) {
  if (state.options.ledger == nullptr) return;
  for (const auto& open : state.options.ledger->unsettled()) {
    if (open.item.kind == "mount" && open.item.object == state.root) state.options.ledger->settle(open.id);
  }
}

Mounted::Mounted(std::unique_ptr<State> state) : state_(std::move(state)) {}
Mounted::Mounted(Mounted&&) noexcept = default;
Mounted& Mounted::operator=(Mounted&&) noexcept = default;
Mounted::~Mounted() = default;

Mounted::State::~State() {
  if (!ours) return;
  ::umount2(root.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
  try {
    forget_mount(*this);
  } catch (const Error&) {
    // The entry stays, and the next start finds nothing to undo.
  }
}

Kind Mounted::kind() const { return state_->record.kind; }
const Options& Mounted::options() const { return state_->options; }
const std::string& Mounted::dir() const { return state_->dir; }
std::string Mounted::layer() const { return state_->layer(); }
std::string Mounted::upper() const { return layer() + "/upper"; }
std::string Mounted::work() const { return layer() + "/work"; }
std::string Mounted::root() const { return state_->root; }
const std::vector<std::string>& Mounted::files() const { return state_->record.files; }
const std::vector<std::string>& Mounted::warnings() const { return state_->warnings; }
bool Mounted::degraded() const { return state_->record.stale.has_value(); }

namespace {

Space space_at(const std::string& root) {
  struct statvfs found = {};
  if (::statvfs(root.c_str(), &found) != 0)
    throw errno_error(errno, fmt::format("cannot look at the overlay '{}'", root));
  return {.size_bytes = found.f_blocks * found.f_frsize, .free_bytes = found.f_bavail * found.f_frsize};
}

}  // namespace

Space Mounted::space() const { return space_at(state_->root); }

std::optional<Space> find_space(const std::string& dir) {
  const auto record = find_record(dir);
  if (!record) return std::nullopt;
  if (record->kind == Kind::directory) return space_at(dir);
  struct stat above = {}, root = {};
  const auto mount = dir + "/mnt";
  if (::stat(dir.c_str(), &above) != 0 || ::stat(mount.c_str(), &root) != 0 || above.st_dev == root.st_dev)
    return std::nullopt;
  return space_at(mount);
}

Frozen Mounted::freeze(Duration limit) {
  if (kind() != Kind::directory) return Frozen::file_system(root(), limit);
  if (!state_->options.stop_writers)
    throw Error(Code::unsupported, fmt::format("cannot freeze the overlay '{}'", dir()))
        .because("it is a directory of the host's file system, and nobody said how to stop its writers");
  return Frozen::writers(state_->options.stop_writers, dir(), limit);
}

void Mounted::close() { unmount(*state_); }
void Mounted::release() noexcept {
  if (state_) state_->ours = false;
}

}  // namespace underway::overlay
