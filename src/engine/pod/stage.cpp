#include "detail/stage.hpp"

#include <sys/mount.h>
#include <sys/stat.h>

#include "base/text.hpp"
#include "detail/parts.hpp"
#include "os/file.hpp"
#include "os/mount.hpp"
#include "os/new_root.hpp"

namespace underway::pod::detail {
namespace {

const std::string kPlace(kStage);

/// Of the file system that `path` is on.
std::string type_of(const std::string& path) {
  std::string longest, type = "its file system";
  for (const auto& mount : os::list_mounts()) {
    const bool holds = path == mount.target || path.starts_with(mount.target == "/" ? "/" : mount.target + "/");
    if (!holds || mount.target.size() < longest.size()) continue;
    longest = mount.target;
    type = mount.type;
  }
  return type;
}

}  // namespace

Stage::Stage(IdMaps ids) : ids_(std::move(ids)), same_(os::is_identity(ids_.uids) && os::is_identity(ids_.gids)) {
  if (trim(os::find_file("/proc/sys/user/max_user_namespaces").value_or("1")) == "0") {
    throw Error(Code::unsupported, "no container can have a user namespace of its own")
        .because("this node allows none")
        .advise("raise sysctl user.max_user_namespaces, or run it with userns = \"host\"");
  }
  os::make_directories(kPlace, 0755);
}

std::string Stage::root() const { return kPlace + "/rootfs"; }
std::string Stage::proc() const { return kPlace + "/proc"; }
std::string Stage::sys() const { return kPlace + "/sys"; }

std::string Stage::show(const std::string& source, bool mapped) {
  struct stat st{};
  if (::stat(source.c_str(), &st) != 0) throw errno_error(errno, fmt::format("cannot show '{}'", source));
  shown_.push_back({source, fmt::format("{}/{}", kPlace, shown_.size()), S_ISDIR(st.st_mode), mapped});
  return shown_.back().place;
}

void Stage::attach(os::LaunchPlan& plan, const std::string& source, const std::string& place, bool mapped) const {
  if (mapped && !same_)
    plan.map_mount(source, place, ids_.uids, ids_.gids);
  else
    plan.bind(source, place, true);
}

void Stage::build(os::LaunchPlan& plan, const std::vector<std::string>& layers, const std::string& directory) const {
  os::mount_memory(plan, kPlace, "mode=755,size=1m");
  for (const auto* name : {"/rootfs", "/l", "/own", "/proc", "/sys"}) plan.make_directory(kPlace + name, 0755);
  for (const auto& each : shown_) {
    if (each.is_directory)
      plan.make_directory(each.place, 0755);
    else
      plan.touch(each.place, 0644);
    attach(plan, each.source, each.place, each.mapped);
  }
  // Only who owns the namespace of the process numbers or of the network may mount these: the container, if its own.
  os::mount_proc(plan, proc());
  os::mount_sysfs(plan, sys());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto place = fmt::format("{}/l/{}", kPlace, i);
    plan.make_directory(place, 0755);
    attach(plan, layers[i], place, true);
  }
  plan.bind(directory, kPlace + "/own");
  plan.change_directory(kPlace + "/l");
  plan.mount("overlay", root(), "overlay", MS_NODEV, overlay_options(layers.size(), "../own"));
  plan.change_directory("/");
}

void Stage::explain(Error& failure) const {
  constexpr std::string_view kUnmapped = "cannot map the owners of '";
  const std::string_view message = failure.message();
  if (message.starts_with(kUnmapped)) {
    const std::string source(message.substr(kUnmapped.size(), message.rfind('\'') - kUnmapped.size()));
    failure.because(
        fmt::format("{}, or what is mounted below it, cannot show owners mapped: ext4, xfs, btrfs, and from Linux 6.3 "
                    "on tmpfs can",
                    type_of(source)));
    failure.advise(
        "run it with userns = \"host\"; a directory of the host can also be shown with the host's owners: volumes = "
        "[\"/path:/path\"]");
  } else if (message == fmt::format("cannot mount overlay on '{}'", root())) {
    failure.because("an overlay of layers whose owners are mapped takes Linux 5.19");
  }
}

}  // namespace underway::pod::detail
