/// @file
/// underway-capsule-init: pid 1 of a capsule. It waits for the word to go (its network is being made), runs the step
/// `probe`, keeps the capsule's services running in the order of their dependencies, runs steps when asked, and stops
/// all in reverse order at SIGTERM. Who connects from outside while a service is away waits (doors.hpp); what is asked
/// on the control socket is in requests.hpp. Static, and libc only: one of it stays resident in every capsule.

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "run/init/attach.hpp"
#include "run/init/doors.hpp"
#include "run/init/places.hpp"
#include "run/init/requests.hpp"
#include "run/init/state.hpp"

namespace underway::run::init {

Spec spec;
Service services[kMaxServices];
StepRun runs[kMaxRuns];
Saves saves;
Phase phase = Phase::waiting;
int results[kMomentCount] = {-1, -1, -1, -1, -1, -1, -1};

namespace {

constexpr int64_t kProbeAgain = 250;
/// As long as clients wait for a service that is away: then they are told that nobody is there, and know what to do.
constexpr int64_t kHeldMs = 60'000;
/// sysexits.h: a temporary failure, to be tried again (EX_TEMPFAIL), elsewhere perhaps.
constexpr int kNotReachable = 75;

int listening = -1, signals = -1;
int exit_code = 0;
int64_t go_by = 0, probe_by = 0, probe_at = 0;
/// The run that belongs to the phase: the probe, after_start, before_stop.
StepRun* own_run = nullptr;
bool before_stop_done = false, after_start_done = false;
Doors doors;
/// Since when a service has been away; 0: none is.
int64_t away_since = 0;
/// While the last questions are answered: until when at most, and when they are looked at next.
int64_t answer_by = 0, look_at = 0;
bool answered = false;

void begin_own(Moment moment) {
  own_run = free_run();
  if (own_run == nullptr) own_run = &runs[0];  // whoever asked for that one loses it: we are stopping
  own_run->begin(spec, moment, -1);
}

bool has_steps(Moment moment) {
  for (int n = 0; n < spec.step_count; ++n) {
    if (spec.steps[n].moment == moment) return true;
  }
  return false;
}

/// Who connects waits while a service is away; once we stop, nobody gets in any more.
void mind_doors() {
  if (phase == Phase::stopping) return;  // advance_stop() does it
  const int64_t now = now_ms();
  bool away = phase == Phase::waiting || phase == Phase::probing;
  for (int n = 0; n < spec.service_count; ++n) away = away || services[n].away(now);
  if (!away) away_since = 0;
  if (away && away_since == 0) away_since = now;
  doors.set(away && now < away_since + kHeldMs ? Door::held : Door::open);
}

/// Nobody gets in any more. True when those that have asked have their answers, or had long enough.
bool answer_the_last() {
  if (answered) return true;
  doors.set(Door::closed);
  const int64_t now = now_ms();
  if (answer_by == 0) answer_by = now + kAnswerMs;
  const int left = exit_code == 0 ? count_unanswered() : 0;
  if (left > 0 && now < answer_by) {
    look_at = now + kLookMs;
    return false;
  }
  if (left > 0)
    say("stopping with %d connections that are not answered after %lld ms", left, static_cast<long long>(kAnswerMs));
  answered = true;
  look_at = 0;
  return true;
}

/// A service stops when all that need it have stopped.
bool needed_by_running(int index) {
  for (int n = 0; n < spec.service_count; ++n) {
    if (services[n].over()) continue;
    const Words& after = services[n].spec().after;
    for (int m = 0; m < after.count; ++m) {
      if (spec.find_service(after.items[m]) == index) return true;
    }
  }
  return false;
}

bool may_start(const Service& service) {
  const Words& after = service.spec().after;
  for (int m = 0; m < after.count; ++m) {
    if (!services[spec.find_service(after.items[m])].usable()) return false;
  }
  return true;
}

void advance_services() {
  bool all_usable = true, all_over = true;
  for (int n = 0; n < spec.service_count; ++n) {
    Service& service = services[n];
    if (service.state() == ServiceState::waiting && may_start(service)) service.start();
    if (service.state() == ServiceState::failed) {
      char why[160];
      snprintf(why, sizeof why, "service %s has failed", service.spec().name);
      return fail(1, why);
    }
    all_usable = all_usable && service.usable();
    all_over = all_over && service.over();
  }
  if (all_over) return begin_stop("all services have ended");
  if (phase == Phase::starting && all_usable && own_run == nullptr) {
    if (!after_start_done && has_steps(Moment::after_start)) {
      after_start_done = true;
      return begin_own(Moment::after_start);
    }
    phase = Phase::running;
  }
}

/// True when nothing is left to stop.
bool advance_stop() {
  if (own_run != nullptr || !answer_the_last()) return false;
  bool all_over = true;
  for (bool changed = true; changed;) {
    changed = false;
    all_over = true;
    for (int n = 0; n < spec.service_count; ++n) {
      if (!services[n].over() && !needed_by_running(n)) {
        services[n].stop();
        changed = changed || services[n].over();  // nothing of it ran: those that it needs may go now
      }
      all_over = all_over && services[n].over();
    }
  }
  return all_over;
}

void begin_services() {
  phase = Phase::starting;
  advance_services();
}

}  // namespace

StepRun* free_run() {
  for (StepRun& run : runs) {
    if (!run.active() && &run != own_run && run.client() < 0) return &run;
  }
  return nullptr;
}

void begin_probe() {
  phase = Phase::probing;
  go_by = 0;
  if (!has_steps(Moment::probe)) return begin_services();
  int64_t within = 0;
  for (int n = 0; n < spec.step_count; ++n) {
    if (spec.steps[n].moment == Moment::probe) within += spec.steps[n].timeout_ms;
  }
  probe_by = now_ms() + within;
  begin_own(Moment::probe);
}

void begin_stop(const char* why) {
  if (phase == Phase::stopping) return;
  const bool acted = phase == Phase::starting || phase == Phase::running;
  say("stopping: %s", why);
  saves.give_up();  // what is written is copied when nobody writes any more
  phase = Phase::stopping;
  probe_at = 0;
  own_run = nullptr;
  if (acted && !before_stop_done && has_steps(Moment::before_stop)) begin_own(Moment::before_stop);
}

void fail(int code, const char* why) {
  exit_code = code;
  begin_stop(why);
}

namespace {

/// A run of our own has ended.
void own_run_ended() {
  const StepRun& run = *own_run;
  own_run = nullptr;
  switch (run.moment()) {
    case Moment::probe:
      if (phase != Phase::probing) return;
      if (run.succeeded()) return begin_services();
      if (now_ms() >= probe_by) return fail(kNotReachable, "the step probe did not succeed, so no service was started");
      probe_at = now_ms() + kProbeAgain;
      return;
    case Moment::after_start:
      if (!run.succeeded()) say("the step after_start failed with %d", run.result());
      return;
    case Moment::before_stop:
      before_stop_done = true;
      if (!run.succeeded()) say("the step before_stop failed with %d; stopping all the same", run.result());
      return;
    default:
      return;
  }
}

void finish_runs() {
  for (StepRun& run : runs) {
    if (run.active()) continue;
    const bool own = &run == own_run;
    if (!own && run.client() < 0) continue;
    results[static_cast<int>(run.moment())] = run.result();
    if (run.moment() == Moment::before_stop && run.succeeded()) before_stop_done = true;
    if (run.client() >= 0) {
      char text[StepRun::kTail + 128];
      snprintf(text, sizeof text, "step %s %d\n%s", kMoments[static_cast<int>(run.moment())], run.result(), run.tail());
      answer(run.client(), text);
      run.forget_client();
    }
    if (own) own_run_ended();
  }
}

void hear_signals() {
  signalfd_siginfo info;
  while (read(signals, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int number = static_cast<int>(info.ssi_signo);
    if (number == SIGTERM || number == SIGINT || number == SIGQUIT) begin_stop(strsignal(number));
    if (number == SIGHUP || number == SIGUSR1 || number == SIGUSR2) {
      for (int n = 0; n < spec.service_count; ++n) services[n].signal(number);
    }
  }
}

void hear_of_ends() {
  pid_t pid = 0;
  int status = 0;
  while (next_change(pid, status)) {
    bool known = saves.mind(pid, status);
    for (int n = 0; n < spec.service_count && !known; ++n) known = services[n].ended(pid, status);
    for (StepRun& run : runs) known = known || run.ended(pid, status);
  }
}

void tick() {
  const int64_t now = now_ms();
  for (int n = 0; n < spec.service_count; ++n) services[n].tick(now);
  for (StepRun& run : runs) run.tick(now);
  saves.tick(now);
  if (go_by != 0 && phase == Phase::waiting && now >= go_by) fail(1, "nobody said go");
  if (probe_at != 0 && now >= probe_at) {
    probe_at = 0;
    begin_own(Moment::probe);
  }
}

int poll_timeout() {
  int64_t due = phase == Phase::waiting ? go_by : probe_at;
  const auto consider = [&due](int64_t at) {
    if (at != 0 && (due == 0 || at < due)) due = at;
  };
  consider(look_at);
  consider(saves.due());
  if (away_since != 0 && doors.door() == Door::held) consider(away_since + kHeldMs);
  for (int n = 0; n < spec.service_count; ++n) consider(services[n].due());
  for (const StepRun& run : runs) consider(run.due());
  if (due == 0) return -1;
  const int64_t left = due - now_ms();
  return left <= 0 ? 0 : static_cast<int>(left < 3'600'000 ? left : 3'600'000);
}

void wait_and_serve() {
  static pollfd polled[3 + kMaxClients + kMaxRuns + 2 * kMaxServices];
  nfds_t count = 0;
  const auto watch = [&count](int fd) { polled[count++] = {fd, POLLIN, 0}; };
  watch(signals);
  watch(listening);
  int watched[kMaxClients];
  for (int n = 0; n < kMaxClients; ++n) watch(watched[n] = clients[n]);
  for (const StepRun& run : runs) watch(run.reading());
  for (int n = 0; n < spec.service_count; ++n) {
    watch(services[n].out().reading());
    watch(services[n].err().reading());
  }
  const pollfd& of_saves = polled[count];
  watch(saves.listening());
  if (poll(polled, count, poll_timeout()) < 0 && errno != EINTR) _exit(1);
  const pollfd* of_service = polled + 2 + kMaxClients + kMaxRuns;
  for (int n = 0; n < spec.service_count; ++n) {
    if (of_service++->revents != 0) services[n].out().drain();
    if (of_service++->revents != 0) services[n].err().drain();
  }
  for (int n = 0; n < kMaxRuns; ++n) {
    if (polled[2 + kMaxClients + n].revents != 0) runs[n].drain();
  }
  if ((of_saves.revents & POLLIN) != 0) saves.take();
  for (int n = 0; n < kMaxClients; ++n) {
    if (polled[2 + n].revents != 0 && clients[n] == watched[n] && clients[n] >= 0) serve(clients[n]);
  }
  if (polled[1].revents != 0) admit(listening);
  // Last, so that whoever is told that we stop finds that nobody gets in any more: the doors are closed before the next
  // request is served.
  if (polled[0].revents != 0) hear_signals();
  hear_of_ends();  // whose signal saves.take() may have had
}

int run_capsule() {
  for (;;) {
    finish_runs();
    if (phase == Phase::starting || phase == Phase::running) advance_services();
    if (phase == Phase::stopping && advance_stop()) break;
    mind_doors();
    ask_for_copies();
    // A step without commands, or a service that could not be forked, has ended already.
    bool again = false;
    for (const StepRun& run : runs) again = again || (!run.active() && (&run == own_run || run.client() >= 0));
    if (again) continue;
    wait_and_serve();
    tick();
  }
  if (exit_code == 0) {
    for (int n = 0; n < spec.service_count; ++n) {
      if (services[n].state() == ServiceState::failed) exit_code = 1;
    }
  }
  say("ended with exit code %d", exit_code);
  return exit_code;
}

int be_init() {
  prctl(PR_SET_NAME, "capsule-init");
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);  // blocked signals reach even pid 1, which ignores those at their default
  for (int& client : clients) client = -1;
  signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
  if (!read_spec(spec)) {
    say("cannot read %s", kSpecFile);
    return 1;
  }
  bool whole = signals >= 0;
  for (int n = 0; n < spec.service_count; ++n) whole = whole && services[n].begin(spec.services[n], spec.attempts);
  mind_doors();  // before the addresses are used, which waits for our socket
  if (whole) listening = open_control();
  if (listening < 0) {
    say("cannot begin: %s", strerror(errno));
    return 1;
  }
  if (spec.sync && !saves.begin(spec.own)) {
    say("cannot hold services until what they save is on the standby: %s", strerror(errno));
    return 1;
  }
  go_by = now_ms() + spec.go_ms;
  return run_capsule();
}

}  // namespace
}  // namespace underway::run::init

int main(int argc, char** argv) {
  if (getpid() == 1) return underway::run::init::be_init();
  // Without a command it says that it can: it may be older than who asks.
  if (argc > 1 && strcmp(argv[1], "alone") == 0) return argc > 2 ? underway::run::init::run_alone(argv + 2) : 0;
  dprintf(2, "underway-capsule-init is started by underway, as the first process of a capsule\n");
  return 2;
}
