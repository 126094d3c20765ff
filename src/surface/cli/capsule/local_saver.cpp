#include "cli/capsule/local_saver.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "agent/config/config.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/current_time.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"
#include "run/snapshot_store.hpp"
#include "sdk/client.hpp"

namespace underway::cli {
namespace {

constexpr const char* kHostDataDir = "/var/lib/underway-node";  // in a host that a provider made

std::string data_dir_of(const Arguments& arguments) {
  if (const auto given = arguments.find("data-dir")) return *given;
  return os::exists(std::string(kHostDataDir) + "/capsules") ? kHostDataDir : agent::kDefaultDataDir;
}

std::string own_directory() {
  std::error_code failed;
  return std::filesystem::read_symlink("/proc/self/exe", failed).parent_path().string();
}

/// Beside this program, else where the packages put it.
std::string helper(const std::string& name) {
  const auto beside = own_directory() + "/" + name;
  return os::exists(beside) ? beside : "/usr/libexec/underway/" + name;
}

saving::Options options_of(const std::string& data_dir) {
  saving::Options options;
  auto& driver = options.rehearsal.driver;
  driver.driver.keeper_program = helper("underway-keeper");
  driver.init_program = helper("underway-capsule-init");
  driver.capsules = data_dir + "/capsules";
  driver.images = data_dir + "/images";
  driver.keys = {data_dir + "/images/keys", "/etc/underway/capsule-keys"};
  options.rehearsal.place = data_dir + "/rehearsals";
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) == 0) options.rehearsal.self.name = name;
  return options;
}

}  // namespace

std::vector<Flag> with_capsule_flags(std::vector<Flag> flags) {
  flags.push_back({"local", "", "On this node, as root, without a server."});
  flags.push_back({"data-dir", "DIR", "With -local: where this node's agent keeps everything."});
  return flags;
}

std::vector<Flag> with_backup_flags(std::vector<Flag> flags) {
  flags.push_back({"repository", "PLACE",
                   "Where backups are: a directory of the node, sftp:user@host:/dir or s3:https://host/bucket; as the "
                   "job's `backup` block says when not given."});
  flags.push_back({"password-file", "FILE", "On the node: holds the password of their encryption; mode 0600."});
  flags.push_back(
      {"environment-file", "FILE", "On the node: NAME=value lines for restic, e.g. AWS_SECRET_ACCESS_KEY; mode 0600."});
  flags.push_back({"sftp-command", "COMMAND", "Instead of plain ssh."});
  return with_capsule_flags(std::move(flags));
}

constexpr Range kKept{0, 100'000};

std::vector<Flag> with_keep_flags(std::vector<Flag> flags) {
  flags.push_back(number_flag("keep-last", "N", "Keep the newest.", kKept));
  flags.push_back(number_flag("keep-hourly", "N", "Keep the newest of each hour.", kKept));
  flags.push_back(number_flag("keep-daily", "N", "Keep the newest of each day.", kKept));
  flags.push_back(number_flag("keep-weekly", "N", "Keep the newest of each week.", kKept));
  return flags;
}

saving::CapsuleName capsule_of(const Arguments& arguments) {
  auto ns = arguments.get("namespace", sdk::address_from_environment({}).ns);
  return {ns.empty() ? "default" : std::move(ns), arguments.positional().front()};
}

model::BackupPlace where_of(const Arguments& arguments) {
  return {arguments.get("repository"), arguments.get("password-file"), arguments.get("environment-file"),
          arguments.get("sftp-command")};
}

std::optional<model::Retention> retention_of(const Arguments& arguments) {
  const model::Retention keep{.last = arguments.number("keep-last").value_or(0),
                              .hourly = arguments.number("keep-hourly").value_or(0),
                              .daily = arguments.number("keep-daily").value_or(0),
                              .weekly = arguments.number("keep-weekly").value_or(0)};
  return keep.last + keep.hourly + keep.daily + keep.weekly > 0 ? std::optional(keep) : std::nullopt;
}

TimePoint time_of(const std::string& text) {
  if (const auto time = parse_time(text)) return *time;
  if (const auto span = parse_duration(text); span && *span >= Duration{0}) return current_time() - *span;
  throw Error(Code::invalid, fmt::format("'{}' is no time", text))
      .advise("write it as 2026-11-21T23:00:00Z, or as how long ago: 3h");
}

std::vector<model::RehearsalScript> scripts_of(const std::vector<std::string>& files) {
  std::vector<model::RehearsalScript> scripts;
  for (const auto& file : files)
    scripts.push_back({std::filesystem::path(file).filename().string(), os::read_file(file, 1U << 20)});
  return scripts;
}

LocalSaver::LocalSaver(const Arguments& arguments) {
  const auto name = capsule_of(arguments);
  auto options = options_of(data_dir_of(arguments));
  const auto run = run::find_run(options.rehearsal.driver.capsules, name.ns, name.name);
  saver_.emplace(std::move(options), clock_);
  if (!run || !run->running()) return;
  auto pipe = os::open_pipe();
  child_ = ::fork();
  if (child_ < 0) throw errno_error(errno, "cannot start the guard of a capsule that is saved");
  if (child_ > 0) {
    guard_ = std::move(pipe.write);
    return;
  }
  ::setsid();  // ^C is not for it
  pipe.write.reset();
  char done = 0;
  if (::read(pipe.read.get(), &done, 1) != 1) {
    try {
      run::let_go_on(*run);
    } catch (const Error&) {
      // It has ended meanwhile.
    }
  }
  ::_exit(0);
}

LocalSaver::~LocalSaver() {
  if (child_ <= 0) return;
  try {
    os::write_all(guard_, "x", "the end of a local save");
  } catch (const Error&) {
    // It lets the capsule go on, which is well in any case.
  }
  guard_.reset();
  static_cast<void>(::waitpid(child_, nullptr, 0));
}

}  // namespace underway::cli
