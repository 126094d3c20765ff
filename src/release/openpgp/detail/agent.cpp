#include "openpgp/detail/agent.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::openpgp::detail {
namespace {

constexpr Duration kWithin = std::chrono::seconds(10);

std::vector<std::string> environment_of(const std::string& home) {
  return {"PATH=/usr/bin:/bin", "LC_ALL=C", "HOME=" + home, "GNUPGHOME=" + home};
}

/// Where gpg looks for the agent of `home`: there, or below /run/user when that is there.
std::string socket_of(const std::string& home) {
  os::SpawnSpec spec{.argv = {"gpgconf", "--homedir", home, "--list-dirs", "agent-socket"},
                     .env = environment_of(home)};
  const auto output = os::run_program(spec, kWithin);
  const std::string path(trim(output.out));
  if (!output.status.success() || !path.starts_with('/'))
    throw Error(Code::unsupported, "gpgconf does not say where the socket of gpg-agent is")
        .because(fmt::format("it ended with {}: {}{}", to_string(output.status), path, trim(output.err)))
        .advise("apt-get install gnupg");
  return path;
}

os::Child start(const std::string& home, const os::Fd& listening) {
  os::SpawnSpec spec{.argv = {"gpg-agent", "--homedir", home, "--supervised", "--disable-scdaemon", "--no-grab",
                              "--allow-loopback-pinentry", "--pinentry-program", "/bin/false"},
                     .env = environment_of(home)};
  // Descriptor 3 is its socket (sd_listen_fds(3)).
  spec.env.push_back("LISTEN_FDS=1");
  spec.fds.emplace_back(listening.get(), 3);
  spec.parent_death_signal = SIGKILL;
  return os::spawn(spec);
}

}  // namespace

Agent::Socket Agent::listen(const std::string& home) {
  Socket out{.path = socket_of(home)};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (out.path.size() >= sizeof address.sun_path)
    throw Error(Code::invalid, fmt::format("the directory '{}' cannot hold a signing key", home))
        .because(fmt::format("the socket of gpg-agent would be '{}', and the path of a socket has at most {} bytes",
                             out.path, sizeof address.sun_path - 1))
        .advise("name a directory with a shorter path");
  std::memcpy(address.sun_path, out.path.data(), out.path.size());
  const std::string parent = out.path.substr(0, out.path.rfind('/'));
  if (::mkdir(parent.c_str(), 0700) == 0) out.made = parent;
  // What somebody left who was killed.
  ::unlink(out.path.c_str());
  out.listening = os::Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bind(2) wants it so
  if (!out.listening || ::bind(out.listening.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(out.path.c_str(), 0600) != 0 || ::listen(out.listening.get(), 16) != 0)
    throw errno_error(errno, fmt::format("cannot listen at '{}'", out.path));
  return out;
}

Agent::Agent(const std::string& home) : socket_(listen(home)), child_(start(home, socket_.listening)) {}

Agent::~Agent() {
  // It holds nothing that is not on disk.
  child_.kill();
  ::unlink(socket_.path.c_str());
  if (!socket_.made.empty()) ::rmdir(socket_.made.c_str());
}

}  // namespace underway::openpgp::detail
