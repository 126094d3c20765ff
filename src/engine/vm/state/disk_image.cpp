#include "vm/state/disk_image.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <vector>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/text.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"

namespace underway::vm {
namespace {

/// A disk is made in no time; to go back to a snapshot takes as long as its table of clusters is large.
constexpr auto kPatience = std::chrono::minutes{5};

std::string qemu_img(std::vector<std::string> arguments, const std::string& path) {
  os::SpawnSpec spec;
  arguments.insert(arguments.begin(), "qemu-img");
  spec.argv = std::move(arguments);
  spec.env = {std::string("PATH=") + std::string(os::kDefaultPath)};
  const auto done = os::run_program(std::move(spec), kPatience);
  if (done.status.success()) return done.out;
  throw Error(Code::conflict, fmt::format("qemu-img cannot work on '{}'", path))
      .because(std::string(trim(done.err.substr(0, 1000))));
}

/// Into another name and then in place: a half made disk is none.
void make(const std::string& path, std::vector<std::string> arguments, std::uint64_t bytes) {
  if (os::exists(path)) return;
  const auto part = path + ".part";
  arguments.insert(arguments.begin(), {"create", "-q", "-f", "qcow2"});
  arguments.push_back(part);
  if (bytes > 0) arguments.push_back(std::to_string(bytes));
  qemu_img(std::move(arguments), path);
  if (::rename(part.c_str(), path.c_str()) != 0) throw errno_error(errno, fmt::format("cannot make '{}'", path));
}

}  // namespace

void make_layer(const std::string& path, const std::string& base, std::uint64_t bytes) {
  if (os::exists(path)) return;
  make(path, {"-b", base, "-F", disk_format(base)}, bytes);
}

void make_disk(const std::string& path, std::uint64_t bytes) { make(path, {}, bytes); }

std::string disk_format(const std::string& path) {
  // -U: another machine may have it open.
  const auto said = underway::json::parse(qemu_img({"info", "-U", "--output=json", path}, path));
  return underway::json::text_at(said, "format");
}

std::string base_of(const std::string& path) {
  const auto said = underway::json::parse(qemu_img({"info", "-U", "--output=json", path}, path));
  return underway::json::text_at(said, "full-backing-filename");
}

void set_base(const std::string& path, const std::string& base) {
  struct stat before{};
  if (::stat(path.c_str(), &before) != 0) throw errno_error(errno, fmt::format("cannot look at '{}'", path));
  qemu_img({"rebase", "-q", "-u", "-f", "qcow2", "-b", base, "-F", disk_format(base), path}, path);
  const timespec times[2] = {before.st_atim, before.st_mtim};
  if (::utimensat(AT_FDCWD, path.c_str(), times, 0) != 0)
    throw errno_error(errno, fmt::format("cannot set the time of '{}'", path));
}

void copy_snapshot(const std::string& from, const std::string& snapshot, const std::string& to,
                   const std::string& base) {
  const auto part = to + ".part";
  // -U: a running machine has it open, and leaves what a snapshot holds as it is.
  std::vector<std::string> arguments = {"convert", "-q", "-U", "-f", "qcow2", "-O", "qcow2", "-l", snapshot};
  if (!base.empty()) arguments.insert(arguments.end(), {"-B", base, "-F", disk_format(base)});
  arguments.insert(arguments.end(), {from, part});
  qemu_img(std::move(arguments), from);
  if (::rename(part.c_str(), to.c_str()) != 0) throw errno_error(errno, fmt::format("cannot make '{}'", to));
}

void revert_disk(const std::string& path, const std::string& snapshot) {
  qemu_img({"snapshot", "-q", "-a", snapshot, path}, path);
}

}  // namespace underway::vm
