#include <csignal>
#include <filesystem>
#include <thread>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"
#include "os/process/process.hpp"

extern char** environ;

namespace underway::cli {
namespace {

constexpr Duration kKillTimeout = std::chrono::seconds(10);

Duration duration_flag(const Arguments& arguments, const char* name, Duration otherwise) {
  const auto text = arguments.find(name);
  if (!text) return otherwise;
  const auto parsed = parse_duration(*text);
  if (!parsed || *parsed < Duration{0}) throw Error(Code::invalid, fmt::format("-{} '{}' is no duration", name, *text));
  return *parsed;
}

/// Tries until it is ours. Whoever holds it renews at least every TTL: asking a few times within one is enough.
std::string acquire(sdk::Client& client, const std::string& path, const model::VariableLock& lock) {
  bool told = false;
  while (true) {
    const auto answer = client.acquire_lock(path, lock);
    if (!answer.conflict) return answer.variable.row.lock->id;
    if (!told) say(fmt::format("Waiting for the lock of \"{}\"", path));
    told = true;
    std::this_thread::sleep_for(std::min<Duration>(lock.ttl / 5, std::chrono::seconds(2)));
  }
}

os::Child start(const std::vector<std::string>& words) {
  os::SpawnSpec spec;
  spec.argv = words;
  for (char** entry = environ; *entry != nullptr; ++entry) spec.env.emplace_back(*entry);
  spec.cwd = std::filesystem::current_path().string();
  spec.in = 0;
  spec.out = 1;
  spec.err = 2;
  spec.parent_death_signal = SIGTERM;
  return os::spawn(spec);
}

/// False once the lock is lost: refused, or out of reach for longer than it lasts.
bool renew(sdk::Client& client, const std::string& path, const std::string& id,
           std::chrono::steady_clock::time_point good_until) {
  try {
    return !client.renew_lock(path, id).conflict;
  } catch (const Error& error) {
    if (error.code() != Code::unavailable && error.code() != Code::timeout) throw;
    return std::chrono::steady_clock::now() < good_until;
  }
}

void stop(os::Child& child) {
  child.signal(SIGTERM);
  if (!child.wait(kKillTimeout)) child.kill();
}

int run_locked(const Arguments& arguments) {
  const std::string& path = arguments.positional().front();
  const std::vector<std::string> words(arguments.positional().begin() + 1, arguments.positional().end());
  model::VariableLock lock;
  lock.ttl = duration_flag(arguments, "ttl", lock.ttl);
  lock.lock_delay = duration_flag(arguments, "delay", lock.lock_delay);
  auto client = make_client(arguments);
  const std::string id = acquire(client, path, lock);
  auto good_until = std::chrono::steady_clock::now() + lock.ttl;
  os::Child child = start(words);
  while (true) {
    if (const auto ended = child.wait(lock.ttl / 3)) {
      client.release_lock(path, id);
      return ended->signal != 0 ? 128 + ended->signal : ended->code;
    }
    const auto asked = std::chrono::steady_clock::now();
    if (renew(client, path, id, good_until)) {
      good_until = asked + lock.ttl;
      continue;
    }
    stop(child);
    throw Error(Code::conflict, fmt::format("the lock of '{}' was lost, and the command was stopped", path));
  }
}

}  // namespace

const Command& var_lock_command() {
  static const Command command{
      .name = "var lock",
      .arguments = "PATH COMMAND…",
      .summary = "Runs a command while holding the lock of a variable.",
      .details =
          "Waits for the lock, runs the command, renews the lock while it runs, and releases it when it ends. The "
          "command is stopped when the lock is lost. The exit code is the command's.",
      .examples = {"underway var lock cron/backup /usr/local/sbin/backup"},
      .flags = {{"ttl", "DURATION", "How long the lock outlives us; 15s."},
                {"delay", "DURATION", "How long nobody gets it after it was lost; 15s."}},
      .least = 2,
      .most = 1000,
      .passes_on = true,
      .run = run_locked};
  return command;
}

}  // namespace underway::cli
