#include "files/targets/hook.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "os/file.hpp"

namespace underway::files {
namespace {

constexpr std::size_t kSaidBytes = 400;
/// A lock cannot be waited for with a limit (flock(2)).
constexpr std::chrono::milliseconds kLookEvery{20};

/// The result is written by the shell that holds the lock on descriptor 3; the command does not get the descriptor, so
/// that what it leaves running in the background holds no lock.
constexpr const char* kScript = "\"$@\" 3>&-; echo \"exit $?\" >&3";

std::optional<int> result_in(const os::Fd& fd) {
  char text[64];
  const ssize_t n = ::pread(fd.get(), text, sizeof text, 0);
  const std::string_view line(text, n > 0 ? static_cast<std::size_t>(n) : 0);
  constexpr std::string_view kExit = "exit ";
  if (!line.starts_with(kExit) || !line.ends_with('\n')) return std::nullopt;
  return parse_number<int>(line.substr(kExit.size(), line.size() - kExit.size() - 1));
}

bool lock(const os::Fd& fd) { return ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0; }

std::string last_words(const std::string& path) {
  const os::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return {};
  const off_t end = ::lseek(fd.get(), 0, SEEK_END);
  std::string text(kSaidBytes, '\0');
  const off_t from = std::max<off_t>(0, end - static_cast<off_t>(kSaidBytes));
  const ssize_t n = ::pread(fd.get(), text.data(), text.size(), from);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = ' ';
  }
  return std::string(trim(text));
}

HookResult told(int code, const std::string& file) {
  if (code == 0) return {true, {}};
  const std::string said = last_words(file + ".out");
  return {false, fmt::format("exit code {}{}{}", code, said.empty() ? "" : ": ", said)};
}

os::ProcessIdentity launch(const FileTarget& target, const model::FileHook& hook, const os::Fd& held,
                           const std::string& file) {
  const os::Fd out = os::open_file(file + ".out", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
  os::SpawnSpec spec;
  spec.argv = {"/bin/sh", "-c", kScript, "sh"};
  spec.argv.insert(spec.argv.end(), hook.command.begin(), hook.command.end());
  spec.env = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/root"};
  spec.out = out.get();
  spec.err = out.get();
  spec.fds = {{held.get(), 3}};
  spec.new_session = true;
  spec.umask = 022;
  spec.description = fmt::format("running '{}'", join(hook.command, " "));
  return target.start(std::move(spec));
}

}  // namespace

HookResult run_hook(const FileTarget& target, const model::FileHook& hook, const std::string& file,
                    const std::atomic<bool>* stopping) {
  const auto deadline = std::chrono::steady_clock::now() + hook.timeout;
  std::optional<os::ProcessIdentity> ours;
  while (true) {
    os::Fd fd = os::open_file(file, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
    if (lock(fd)) {
      if (const auto code = result_in(fd)) return told(*code, file);
      if (ours) return {false, "it was killed"};
      try {
        ours = launch(target, hook, fd, file);
      } catch (const Error& error) {
        return {false, error.one_line()};
      }
      // From here on the lock is the child's alone.
      fd.reset();
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      if (ours && os::is_running(*ours)) ::kill(-ours->pid, SIGKILL);
      return {false, fmt::format("it ran longer than {}{}", human_duration(hook.timeout),
                                 ours ? "" : ", and still runs: an earlier agent started it")};
    }
    if (stopping != nullptr && *stopping)
      throw Error(Code::unavailable, fmt::format("`{}` goes on without us", join(hook.command, " ")))
          .because("the agent stops; the next one waits for it");
    std::this_thread::sleep_for(kLookEvery);
  }
}

}  // namespace underway::files
