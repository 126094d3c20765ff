#include "vm/clone/clone.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/random.hpp"
#include "os/file.hpp"
#include "vm/clone/identity.hpp"
#include "vm/state/disk_image.hpp"
#include "vm/state/lease.hpp"
#include "vm/state/saved.hpp"

namespace underway::vm {
namespace {

std::string origin_path(const std::string& directory) { return directory + "/clone.json"; }

Saved checkpoint_of(const CloneRequest& request) {
  const auto all = list_checkpoints(request.source);
  const auto found = request.checkpoint.empty() ? all.end() : std::find_if(all.begin(), all.end(), [&](const Saved& s) {
    return s.id == request.checkpoint;
  });
  if (request.checkpoint.empty() && !all.empty()) return all.back();
  if (found != all.end()) return *found;
  throw Error(Code::not_found, fmt::format("machine '{}' cannot be a clone", request.machine.name))
      .because(request.checkpoint.empty()
                   ? fmt::format("there is no checkpoint in '{}'", request.source)
                   : fmt::format("there is no checkpoint '{}' in '{}'", request.checkpoint, request.source))
      .advise("make one of a machine that runs, and name that");
}

/// The checkpoint's machine with what is a clone's own, for who compares the two.
MachineSpec renamed(MachineSpec then, const MachineSpec& now) {
  then.name = now.name;
  then.uuid = now.uuid;
  then.generation = now.generation;
  then.instance = now.instance;
  for (std::size_t i = 0; i < std::min(then.nics.size(), now.nics.size()); ++i) then.nics[i] = now.nics[i];
  return then;
}

void link_or_copy(const std::string& from, const std::string& to) {
  ::unlink(to.c_str());
  if (::link(from.c_str(), to.c_str()) == 0) return;
  if (errno != EXDEV && errno != EMLINK) throw errno_error(errno, fmt::format("cannot link '{}' to '{}'", from, to));
  const auto in = os::open_file(from, O_RDONLY | O_NOFOLLOW);
  const auto out = os::open_file(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  for (;;) {
    const ssize_t n = ::copy_file_range(in.get(), nullptr, out.get(), nullptr, 1U << 30, 0);
    if (n == 0) break;
    if (n < 0 && errno != EINTR) throw errno_error(errno, fmt::format("cannot copy '{}' to '{}'", from, to));
  }
  if (::fsync(out.get()) != 0) throw errno_error(errno, fmt::format("cannot flush '{}'", to));
}

}  // namespace

const describe::Structure& description(describe::Tag<Origin>) {
  static const describe::Structure s = describe::Builder<Origin>("clone", "Where a clone comes from.")
                                           .wire<&Origin::source>("Source", "Directory of the machine.")
                                           .wire<&Origin::checkpoint>("Checkpoint", "Of that machine.")
                                           .done();
  return s;
}

std::optional<Origin> find_origin(const std::string& directory) {
  const auto text = os::find_file(origin_path(directory));
  if (!text) return std::nullopt;
  return underway::json::decode_text<Origin>(*text);
}

void make_clone(const CloneRequest& request) {
  if (find_origin(request.directory)) return;
  const auto who = fmt::format("machine '{}'", request.machine.name);
  // A checkpoint that is forgotten while it is read is none.
  const auto turn = Turn::take(request.source, fmt::format("clone of it as {}", who));
  const Saved then = checkpoint_of(request);
  Saved saved = then;
  saved.machine = renamed(then.machine, request.machine);
  if (const auto other = differences(request.machine, saved.machine); !other.empty())
    throw Error(Code::conflict, fmt::format("{} cannot be a clone of '{}'", who, then.machine.name))
        .because(other)
        .advise("give it the hardware of the machine that it is to be a clone of");
  // Before any disk is copied.
  Saved memory = then;
  memory.disks.clear();
  static_cast<void>(open_verified(checkpoint_directory(request.source), memory, then.machine));

  for (const auto& disk : then.disks) {
    const auto& all = request.machine.disks;
    const auto ours = std::find_if(all.begin(), all.end(), [&](const DiskSpec& d) { return d.name == disk.name; });
    if (ours == all.end()) throw Error(Code::internal, fmt::format("{} has no disk '{}'", who, disk.name));
    const auto base = std::find_if(request.bases.begin(), request.bases.end(),
                                   [&](const auto& known) { return known.first == ours->file; });
    copy_snapshot(disk.file, snapshot_name(then.id), ours->file,
                  base == request.bases.end() ? std::string() : base->second);
  }
  saved.memory = fmt::format("memory-{}.zst", then.id);
  link_or_copy(fmt::format("{}/{}", checkpoint_directory(request.source), then.memory),
               fmt::format("{}/{}", request.directory, saved.memory));
  saved.disks = look_at_disks(request.machine);
  write_identity(request.directory,
                 identity_of(request.machine, then.machine, request.hostname, request.addresses, random_bytes(48)));
  write_saved(request.directory, saved);
  os::write_file(origin_path(request.directory), underway::json::encode(Origin{request.source, then.id}) + "\n", 0600);
}

}  // namespace underway::vm
