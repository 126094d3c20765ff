#include "cli/agent/local_agent.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"
#include "os/ledger.hpp"
#include "os/process/process.hpp"

namespace underway::cli {
namespace {

constexpr Duration kStartPatience = std::chrono::seconds(20);
constexpr Duration kStopPatience = std::chrono::seconds(15);
constexpr auto kLook = std::chrono::milliseconds(10);

std::string pid_file(const std::string& state) { return state + "/agent.pid"; }

void pause() { ::usleep(static_cast<useconds_t>(std::chrono::microseconds(kLook).count())); }

std::string last_lines(const std::string& path, std::size_t count) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto lines = split(trim(text), '\n');
  return join(std::span(lines).last(std::min(count, lines.size())), "\n         ");
}

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

/// A daemon: a session of its own, all three descriptors away from ours, an orphan at once.
void start_daemon(const std::string& state, const std::string& log, bool new_cluster) {
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (out < 0) throw errno_error(errno, fmt::format("cannot open '{}'", log));
  const std::string program = own_program(), data_dir = "-data-dir=" + state, settings = state + "/agent.hcl";
  const auto config = "-config=" + settings;
  std::vector<const char*> argv = {program.c_str(), "agent", "-server", "-hosts", "-http=none", data_dir.c_str()};
  if (std::filesystem::exists(settings)) argv.push_back(config.c_str());
  if (new_cluster) argv.push_back("-new-cluster");
  argv.push_back(nullptr);
  const pid_t middle = ::fork();
  if (middle == 0) {
    ::setsid();
    const pid_t daemon = ::fork();
    if (daemon != 0) ::_exit(0);
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, 0);
    ::dup2(out, 1);
    ::dup2(out, 2);
    if (::chdir("/") == 0) ::execv(argv[0], const_cast<char* const*>(argv.data()));
    ::_exit(127);
  }
  ::close(out);
  if (middle < 0) throw errno_error(errno, "cannot start the agent");
  ::waitpid(middle, nullptr, 0);
}

}  // namespace

std::string LocalAgent::socket() const { return agent_socket(state_directory); }

std::optional<int> LocalAgent::pid() const {
  std::ifstream in(pid_file(state_directory));
  std::string text;
  std::getline(in, text);
  const auto identity = os::parse_process_object(text);
  if (!identity || !os::is_running(*identity)) return std::nullopt;
  return identity->pid;
}

bool LocalAgent::answers() const {
  try {
    http::ClientOptions options;
    options.connect_timeout = std::chrono::seconds(2);
    sdk::Client client({"unix://" + socket(), {}, {}, {}}, options);
    client.agent_self();
    return true;
  } catch (const Error&) {
    return false;
  }
}

void LocalAgent::ensure_running(bool new_cluster) const {
  if (answers()) {
    if (!new_cluster) return;
    throw Error(Code::conflict, "-new-cluster is for a server whose state is gone")
        .because(fmt::format("the agent of '{}' runs, and has one", state_directory))
        .advise("run it without -new-cluster");
  }
  std::filesystem::create_directories(state_directory);
  if (!pid()) start_daemon(state_directory, log_file(), new_cluster);
  const auto deadline = std::chrono::steady_clock::now() + kStartPatience;
  const auto grace = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  while (!answers()) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline || (now >= grace && !pid())) {
      throw Error(Code::unavailable, "the agent did not start")
          .because(fmt::format("the end of {}:\n         {}", log_file(), last_lines(log_file(), 5)));
    }
    pause();
  }
}

void LocalAgent::stop() const {
  const auto running = pid();
  if (!running) return;
  ::kill(*running, SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + kStopPatience;
  while (pid() && std::chrono::steady_clock::now() < deadline) pause();
  if (!pid()) return;
  say(fmt::format("the agent (pid {}) does not stop after {}; it is killed", *running, human_duration(kStopPatience)));
  ::kill(*running, SIGKILL);
  while (pid()) pause();
}

}  // namespace underway::cli
