#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "host/detail/init_protocol.hpp"
#include "host/detail/launcher.hpp"

namespace underway::host {
namespace {

using namespace init_protocol;

constexpr int kPatienceMs = 30'000;  // a machine that swaps may need seconds; none needs half a minute

/// posix_spawn, not fork: the agent is threaded and may be large. Descriptors land at their agreed numbers.
pid_t spawn_launcher(const std::string& program, const os::Fd& plan, const os::Fd& control, const os::Fd& report,
                     const std::string& console) {
  // Above the agreed numbers, so that no dup2 overwrites one that is still to be moved.
  const os::Fd sources[] = {plan.duplicate(16), control.duplicate(16), report.duplicate(16)};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, console.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0640);
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  ::posix_spawn_file_actions_adddup2(&actions, sources[0].get(), kPlanFd);
  ::posix_spawn_file_actions_adddup2(&actions, sources[1].get(), kControlFd);
  ::posix_spawn_file_actions_adddup2(&actions, sources[2].get(), kReportFd);
  std::string name = "underway-init", verb = "launch";
  char* argv[] = {name.data(), verb.data(), nullptr};
  char* environment[] = {nullptr};
  pid_t pid = 0;
  const int problem = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, argv, environment);
  ::posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) throw errno_error(problem, fmt::format("cannot start '{}'", program));
  return pid;
}

struct Answer {
  Launched launched;
  os::Fd pidfd;
};

Answer receive_launched(const os::Fd& control) {
  if (!os::wait_for(control.get(), POLLIN, kPatienceMs)) {
    throw Error(Code::timeout, "the launcher of a host does not answer");
  }
  Answer answer;
  iovec data{&answer.launched, sizeof answer.launched};
  alignas(cmsghdr) char buffer[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = buffer;
  message.msg_controllen = sizeof buffer;
  const auto n = ::recvmsg(control.get(), &message, MSG_CMSG_CLOEXEC);
  if (n < 0) throw errno_error(errno, "cannot hear the launcher of a host");
  if (const cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    answer.pidfd = os::Fd(fd);
  }
  if (n != static_cast<ssize_t>(sizeof answer.launched)) {
    throw Error(Code::internal, "the launcher of a host died before it answered").because("its console may say why");
  }
  return answer;
}

}  // namespace

Launch Launch::start(const std::string& init_program, const os::LaunchPlan& plan, const std::string& console) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    throw errno_error(errno, "cannot make a socket pair");
  os::Fd ours(pair[0]), theirs(pair[1]);
  auto report = os::open_pipe();
  const auto memory = os::sealed_memory("underway-launch-plan", plan.encode());
  const pid_t launcher = spawn_launcher(init_program, memory, theirs, report.write, console);
  theirs.reset();
  report.write.reset();
  std::optional<Answer> answer;
  std::exception_ptr failure;
  try {
    answer = receive_launched(ours);
  } catch (...) {
    failure = std::current_exception();
    ::kill(launcher, SIGKILL);
  }
  while (::waitpid(launcher, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (failure) std::rethrow_exception(failure);
  if (answer->launched.error != 0) throw errno_error(answer->launched.error, "cannot make the namespaces of a host");
  const auto identity = os::process_identity(answer->launched.pid);
  if (!identity) throw Error(Code::internal, "the first process of a host died at once");
  return Launch(os::Pidfd(answer->launched.pid, std::move(answer->pidfd)), *identity, std::move(ours),
                std::move(report.read), plan);
}

void Launch::wait_booted() {
  os::launch::Report report{};
  for (;;) {
    if (!os::wait_for(report_.get(), POLLIN, kPatienceMs)) throw Error(Code::timeout, "a host does not finish booting");
    const auto n = ::read(report_.get(), &report, sizeof report);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw errno_error(errno, "cannot hear a booting host");
    if (n == 0) return;
    if (report.kind != os::launch::Report::failure) continue;
    const auto step =
        report.step < 0 ? std::string("read the launch plan") : plan_.describe(static_cast<std::size_t>(report.step));
    throw errno_error(report.error, fmt::format("cannot boot the host: {}", step));
  }
}

void Launch::go() {
  if (::send(control_.get(), &kGo, 1, MSG_NOSIGNAL) != 1) {
    throw errno_error(errno, "the first process of a host died before it could go");
  }
}

}  // namespace underway::host
