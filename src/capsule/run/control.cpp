#include "run/control.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <thread>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"

namespace underway::run {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMaxPacket = 16384;
constexpr auto kAnswerPatience = std::chrono::seconds{10};

template <class Number>
Number number_in(const std::string& text) {
  if (const auto number = parse_number<Number>(text)) return *number;
  throw Error(Code::internal, fmt::format("the capsule's init says '{}' for a number", text.substr(0, 40)));
}

/// As many as a Duration can be of: some 30 years.
milliseconds milliseconds_in(const std::string& text) {
  constexpr std::int64_t kMost = 1'000'000'000'000;
  const auto number = number_in<std::int64_t>(text);
  if (number < -kMost || number > kMost)
    throw Error(Code::internal, fmt::format("the capsule's init says '{}' for milliseconds", text.substr(0, 40)));
  return milliseconds{number};
}

Error not_understood(std::string_view text) {
  return Error(Code::internal, "the capsule's init gives no answer that is known")
      .because(fmt::format("'{}'", text.substr(0, 80)));
}

/// An address below an open directory: a unix path is at most 107 bytes (unix(7)), an allocation's is longer.
sockaddr_un address_in(const os::Fd& directory) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto path = fmt::format("/proc/self/fd/{}/control", directory.get());
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

}  // namespace

const describe::Structure& description(describe::Tag<ServiceStatus>) {
  static const auto kStructure =
      describe::Builder<ServiceStatus>("service", "A service of a capsule, as its init has it.")
          .wire<&ServiceStatus::name>("Name", "Its name.")
          .wire<&ServiceStatus::state>("State", "Where it is in its life.")
          .wire<&ServiceStatus::pid>("PID", "Its process, as the capsule numbers it; 0: none.")
          .wire<&ServiceStatus::restarts>("Restarts", "How often it was started again.")
          .wire<&ServiceStatus::exit_code>("ExitCode", "Of its last end.")
          .wire<&ServiceStatus::signal>("Signal", "That its last end was by.")
          .wire<&ServiceStatus::since>("Since", "How long it has been in that state.")
          .done();
  return kStructure;
}

const describe::Structure& description(describe::Tag<Status>) {
  static const auto kStructure =
      describe::Builder<Status>("status", "A running capsule, as its init has it.")
          .wire<&Status::phase>("Phase", "waiting, probing, starting, running or stopping.")
          .wire<&Status::services>("Services", "Its services.")
          .wire<&Status::steps>("Steps", "Result of the last run of each moment's steps.")
          .wire<&Status::sync>("Sync", "Services are held until what they save is on the standby.")
          .wire<&Status::behind>("Behind", "For how long a save may be missing there even so; negative: none is.")
          .done();
  return kStructure;
}

bool Status::healthy() const {
  return phase == "running" && std::all_of(services.begin(), services.end(), [](const auto& service) {
           return service.state == "ready" || service.state == "done";
         });
}

Status parse_status(std::string_view text) {
  Status status;
  bool first = true;
  for (const auto& line : split(text, '\n')) {
    if (std::exchange(first, false)) {
      if (line != "ok") throw not_understood(text);
      continue;
    }
    const auto words = split(line, ' ');
    if (words.size() == 2 && words[0] == "phase") status.phase = words[1];
    if (words.size() == 2 && words[0] == "saves") {
      status.sync = true;
      status.behind = milliseconds_in(words[1]);
    }
    if (words.size() == 3 && words[0] == "step") status.steps[words[1]] = number_in<std::int64_t>(words[2]);
    if (words.size() == 8 && words[0] == "service") {
      status.services.push_back({words[1], words[2], number_in<std::int64_t>(words[3]),
                                 number_in<std::int64_t>(words[4]), number_in<std::int64_t>(words[5]),
                                 number_in<std::int64_t>(words[6]), milliseconds_in(words[7])});
    }
  }
  if (status.phase.empty()) throw not_understood(text);
  return status;
}

Saves parse_saves(std::string_view text) {
  const auto words = split(text, ' ');
  if (words.size() != 3 || words[0] != "ok") throw not_understood(text);
  return {number_in<std::uint64_t>(words[1]), milliseconds_in(words[2])};
}

StepResult parse_step_result(std::string_view text) {
  const auto line = text.substr(0, text.find('\n'));
  const auto words = split(line, ' ');
  if (words.size() != 3 || words[0] != "step") throw not_understood(text);
  StepResult result;
  result.result = number_in<int>(words[2]);
  if (line.size() < text.size()) result.output = std::string(text.substr(line.size() + 1));
  return result;
}

Control Control::connect(const std::string& directory, Duration within) {
  const auto what = fmt::format("cannot reach the init of the capsule in '{}'", directory);
  const os::Fd control = os::open_directory(directory + "/control");
  os::Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) throw errno_error(errno, what);
  const sockaddr_un address = address_in(control);
  const auto deadline = steady_clock::now() + within;
  while (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    // Not there yet, or about to listen: both are a matter of a moment.
    if (errno != ENOENT && errno != ECONNREFUSED && errno != EINTR) throw errno_error(errno, what);
    if (steady_clock::now() >= deadline)
      throw Error(Code::unavailable, what).because("nothing listens there: it has ended, or does not begin");
    std::this_thread::sleep_for(milliseconds{1});
  }
  return {std::move(socket), directory};
}

std::string Control::ask(const std::string& question, Duration within) {
  if (::send(socket_.get(), question.data(), question.size(), MSG_NOSIGNAL) < 0)
    throw errno_error(errno, fmt::format("cannot ask the capsule's init to {}", question));
  const auto limit = std::chrono::ceil<milliseconds>(within).count();
  if (!os::wait_for(socket_.get(), POLLIN, static_cast<int>(std::min<std::int64_t>(limit, 1'000'000'000)))) {
    throw Error(Code::timeout, fmt::format("the capsule's init does not answer '{}'", question))
        .because(fmt::format("not within {}", human_duration(within)));
  }
  std::string answer(kMaxPacket, '\0');
  const auto size = ::recv(socket_.get(), answer.data(), answer.size(), 0);
  if (size < 0) throw errno_error(errno, fmt::format("cannot hear the capsule's init in '{}'", directory_));
  if (size == 0) throw Error(Code::unavailable, fmt::format("the capsule in '{}' has ended", directory_));
  answer.resize(static_cast<std::size_t>(size));
  return answer;
}

std::string Control::ask_ok(const std::string& question) { return ask_ok(question, kAnswerPatience); }

std::string Control::ask_ok(const std::string& question, Duration within) {
  auto answer = ask(question, within);
  if (answer.starts_with("ok")) return answer;
  throw Error(Code::conflict, fmt::format("the capsule's init refuses to {}", question)).because(answer);
}

void Control::go() { ask_ok("go"); }
Status Control::status() { return parse_status(ask_ok("status")); }
void Control::stop() { ask_ok("stop"); }
void Control::signal(const std::string& service, int number) { ask_ok(fmt::format("signal {} {}", service, number)); }
void Control::restart(const std::string& service) { ask_ok("restart " + service); }

Saves Control::saves(Duration within) { return parse_saves(ask_ok("saves", within)); }
void Control::saves_copied(std::uint64_t newest, Duration within) {
  ask_ok(fmt::format("saves copied {}", newest), within);
}

void Control::ask_for_saves() {
  constexpr std::string_view kQuestion = "saves wanted";
  if (::send(socket_.get(), kQuestion.data(), kQuestion.size(), MSG_NOSIGNAL) < 0)
    throw errno_error(errno, "cannot ask the capsule's init what it saves");
}

bool Control::saves_wanted() {
  std::string answer(kMaxPacket, '\0');
  const auto size = ::recv(socket_.get(), answer.data(), answer.size(), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  answer.resize(static_cast<std::size_t>(std::max<ssize_t>(0, size)));
  if (answer != "ok") throw Error(Code::unavailable, fmt::format("the capsule in '{}' has ended", directory_));
  return true;
}

StepResult Control::run_step(image::Moment moment, Duration within, std::int64_t since) {
  const auto answer =
      ask(fmt::format("step {}{}", describe::spell(moment), since == 0 ? "" : fmt::format(" {}", since)), within);
  if (answer.starts_with("error"))
    throw Error(Code::conflict, fmt::format("the capsule's init does not run step '{}'", describe::spell(moment)))
        .because(answer);
  return parse_step_result(answer);
}

}  // namespace underway::run
