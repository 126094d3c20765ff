#include "cli/capsule_shelf.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <memory>

#include "agent/config.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"
#include "os/cgroup.hpp"
#include "os/file.hpp"
#include "os/process.hpp"

namespace underway::cli {
namespace {

constexpr const char* kHostDataDir = "/var/lib/underway-node";  // in a host that a provider made

/// What the driver writes beside the overlay of a capsule that it starts.
struct LastRun {
  std::string digest;
  std::int64_t pid = 0, start_time = 0;
};
LastRun find_last_run(const std::string& dir) {
  LastRun run;
  const auto text = os::find_file(dir + "/run.json", 1U << 20);
  if (!text) return run;
  const auto json = json::parse(*text);
  if (!json.is_object()) return run;
  const auto number = [&](std::string_view name) {
    const auto* found = json.get_object().if_contains(name);
    return found != nullptr && found->is_int64() ? found->get_int64() : 0;
  };
  run.pid = number("PID");
  run.start_time = number("StartTime");
  if (const auto* found = json.get_object().if_contains("Digest"); found != nullptr && found->is_string())
    run.digest = std::string(found->get_string());
  return run;
}

/// The group of a process in the hierarchy that can stop it.
std::string freezer_group(std::int64_t pid) {
  std::string unified;
  for (const auto& line : split(os::read_file(fmt::format("/proc/{}/cgroup", pid)), '\n')) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    auto path = line.substr(second + 1);
    if (path.starts_with('/')) path.erase(0, 1);
    if (controllers == "freezer") return path;
    if (controllers.empty()) unified = path;
  }
  return unified;
}

void freeze_group(std::int64_t pid, bool on) {
  const auto path = freezer_group(pid);
  auto group = path.empty() ? std::nullopt : os::Cgroup::find(os::CgroupSystem::probe(), path);
  if (!group)
    throw Error(Code::unsupported, "cannot stop what writes to the overlay")
        .because(fmt::format("process {} is in no cgroup of its own", pid))
        .advise("stop the capsule's job, or give it an overlay in a file (kind ext4, xfs, btrfs)");
  try {
    group->freeze(on);
  } catch (...) {
    group->release();  // it is not ours to remove
    throw;
  }
  group->release();
}

/// A capsule that is stopped must not stay so when this command is killed: a child lets it go on then.
class Stopper {
 public:
  explicit Stopper(std::int64_t pid) : pid_(pid) {}
  void operator()(bool stop) {
    if (!stop) {
      freeze_group(pid_, false);
      os::write_all(guard_, "x", "the end of a stop");
      guard_.reset();
      static_cast<void>(::waitpid(child_, nullptr, 0));
      return;
    }
    freezer_group(pid_);  // a capsule that has ended throws here
    auto pipe = os::open_pipe();
    child_ = ::fork();
    if (child_ < 0) throw errno_error(errno, "cannot start the guard of a stop");
    if (child_ == 0) watch(pipe);
    guard_ = std::move(pipe.write);
    freeze_group(pid_, true);
  }

 private:
  [[noreturn]] void watch(os::Pipe& pipe) const {
    ::setsid();  // ^C is not for it
    pipe.write.reset();
    constexpr int kLimitMs = 30'000;
    char done = 0;
    if (!os::wait_for(pipe.read.get(), POLLIN, kLimitMs) || ::read(pipe.read.get(), &done, 1) != 1) {
      try {
        freeze_group(pid_, false);
      } catch (const Error&) {
        // It has ended meanwhile.
      }
    }
    ::_exit(0);
  }
  std::int64_t pid_;
  pid_t child_ = -1;
  os::Fd guard_;
};

std::function<void(bool)> stopper(std::int64_t pid) {
  return [stopper = std::make_shared<Stopper>(pid)](bool stop) { (*stopper)(stop); };
}

std::string data_dir_of(const Arguments& arguments) {
  if (const auto given = arguments.find("data-dir")) return *given;
  return os::exists(std::string(kHostDataDir) + "/capsules") ? kHostDataDir : agent::kDefaultDataDir;
}

std::int64_t count_of(const Arguments& arguments, std::string_view flag) {
  const auto text = arguments.find(flag);
  if (!text) return 0;
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (failure != std::errc{} || *end != '\0' || value < 0 || value > 100'000)
    throw Error(Code::invalid, fmt::format("-{} '{}' is no number", flag, *text));
  return value;
}

}  // namespace

std::vector<Flag> with_capsule_flags(std::vector<Flag> flags) {
  flags.push_back({"namespace", "NAME", "Of the capsule's job (default)."});
  flags.push_back({"data-dir", "DIR", "Where this node's agent keeps everything."});
  return flags;
}

std::vector<Flag> with_backup_flags(std::vector<Flag> flags) {
  flags.push_back(
      {"repository", "PLACE", "Where backups are: a directory, sftp:user@host:/dir or s3:https://host/bucket."});
  flags.push_back({"password-file", "FILE", "Holds the password of their encryption; mode 0600."});
  flags.push_back({"environment-file", "FILE", "NAME=value lines for restic, e.g. AWS_SECRET_ACCESS_KEY; mode 0600."});
  flags.push_back({"sftp-command", "COMMAND", "Instead of plain ssh."});
  return with_capsule_flags(std::move(flags));
}

std::string capsule_of(const Arguments& arguments) {
  return arguments.get("namespace", "default") + "/" + arguments.positional().front();
}

overlay::Shelf shelf_of(const Arguments& arguments) {
  for (const auto& part : {arguments.get("namespace", "default"), arguments.positional().front()}) {
    if (part.empty() || part.starts_with('.') || part.find('/') != std::string::npos)
      throw Error(Code::invalid, fmt::format("'{}' is no name of a capsule or namespace", part));
  }
  const auto dir = data_dir_of(arguments) + "/capsules/" + capsule_of(arguments);
  const auto run = find_last_run(dir);
  overlay::ShelfOptions options{.capsule = capsule_of(arguments), .image = run.digest};
  options.running =
      run.pid > 0 && os::is_running({static_cast<pid_t>(run.pid), static_cast<std::uint64_t>(run.start_time)});
  options.overlay.owner = options.capsule;
  if (options.running) options.overlay.stop_writers = stopper(run.pid);
  return {dir, std::move(options)};
}

overlay::Repository repository_of(const Arguments& arguments) {
  overlay::Repository repository{.url = arguments.get("repository"),
                                 .password_file = arguments.get("password-file"),
                                 .environment = {},
                                 .sftp_command = arguments.get("sftp-command"),
                                 .cache_dir = {}};
  if (const auto file = arguments.find("environment-file")) {
    for (const auto& line : split(os::read_file(*file), '\n')) {
      const auto text = trim(line);
      const auto equals = text.find('=');
      if (text.empty() || text.starts_with('#') || equals == std::string_view::npos) continue;
      repository.environment[std::string(text.substr(0, equals))] = text.substr(equals + 1);
    }
  }
  const auto wrong = overlay::problems(repository);
  if (wrong.empty()) return repository;
  Error error(Code::invalid, "cannot use the backups");
  for (const auto& problem : wrong) error.because(problem);
  throw std::move(error).advise("give -repository and -password-file");
}

overlay::Retention retention_of(const Arguments& arguments) {
  return {.last = count_of(arguments, "keep-last"),
          .hourly = count_of(arguments, "keep-hourly"),
          .daily = count_of(arguments, "keep-daily"),
          .weekly = count_of(arguments, "keep-weekly")};
}

TimePoint time_of(const std::string& text) {
  if (const auto time = parse_time(text)) return *time;
  if (const auto span = parse_duration(text); span && *span >= Duration{0}) return SystemClock().now() - *span;
  throw Error(Code::invalid, fmt::format("'{}' is no time", text))
      .advise("write it as 2026-11-21T23:00:00Z, or as how long ago: 3h");
}

void print_drill(const overlay::Drill& drill) {
  print(fmt::format("restored in {}, checked in {}\n", human_duration(drill.restored), human_duration(drill.checked)));
  for (const auto& problem : drill.problems) print(fmt::format("problem: {}\n", problem));
}

}  // namespace underway::cli
