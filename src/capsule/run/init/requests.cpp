#include "run/init/requests.hpp"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "run/init/state.hpp"

namespace underway::run::init {

int clients[kMaxClients];

void answer(int client, const char* text) {
  if (client >= 0) send(client, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
}

namespace {

constexpr size_t kMaxPacket = 16384;

/// Who is told when a copy is wanted.
bool copies[kMaxClients];

/// For how long a save may be missing on the standby; -1: none is.
long long behind_ms() { return saves.behind_since() == 0 ? -1 : now_ms() - saves.behind_since(); }

void tell_of_saves(int client, char* rest) {
  if (!spec.sync) return answer(client, "error nobody is held");
  const char* word = strtok_r(nullptr, " \n", &rest);
  if (word == nullptr) {
    char text[80];
    snprintf(text, sizeof text, "ok %llu %lld", static_cast<unsigned long long>(saves.newest()), behind_ms());
    return answer(client, text);
  }
  if (strcmp(word, "wanted") == 0) {
    for (int n = 0; n < kMaxClients; ++n) copies[n] = copies[n] || clients[n] == client;
    return;
  }
  const char* number = strtok_r(nullptr, " \n", &rest);
  if (strcmp(word, "copied") != 0 || number == nullptr) return answer(client, "error not understood");
  saves.copied(strtoull(number, nullptr, 10));
  answer(client, "ok");
}

void tell_status(int client) {
  static char text[kMaxPacket];
  size_t size = 0;
  const auto add = [&](int written) {
    if (written > 0)
      size = size + static_cast<size_t>(written) < sizeof text ? size + static_cast<size_t>(written) : size;
  };
  add(snprintf(text, sizeof text, "ok\nphase %s\n", kPhases[static_cast<int>(phase)]));
  const int64_t now = now_ms();
  for (int n = 0; n < spec.service_count; ++n) {
    const Service& service = services[n];
    add(snprintf(text + size, sizeof text - size, "service %s %s %d %d %d %d %lld\n", service.spec().name,
                 to_text(service.state()), service.pid(), service.restarts(), service.last_code(),
                 service.last_signal(), static_cast<long long>(now - service.since())));
  }
  for (int n = 0; n < kMomentCount; ++n) {
    if (results[n] >= 0) add(snprintf(text + size, sizeof text - size, "step %s %d\n", kMoments[n], results[n]));
  }
  if (spec.sync) add(snprintf(text + size, sizeof text - size, "saves %lld\n", behind_ms()));
  answer(client, text);
}

void begin_asked_run(int client, const char* name) {
  Moment moment{};
  if (!parse_moment(name, moment)) return answer(client, "error no such step");
  StepRun* run = free_run();
  if (run == nullptr || phase == Phase::waiting) return answer(client, "error busy");
  run->begin(spec, moment, client);
}

void obey(int client, char* text) {
  char* rest = nullptr;
  const char* word = strtok_r(text, " \n", &rest);
  if (word == nullptr) return answer(client, "error empty");
  if (strcmp(word, "go") == 0) {
    if (phase == Phase::waiting) begin_probe();
    return answer(client, "ok");
  }
  if (strcmp(word, "status") == 0) return tell_status(client);
  if (strcmp(word, "saves") == 0) return tell_of_saves(client, rest);
  const char* name = strtok_r(nullptr, " \n", &rest);
  if (strcmp(word, "stop") == 0) {
    begin_stop("asked to");
    return answer(client, "ok");
  }
  if (name == nullptr) return answer(client, "error incomplete");
  if (strcmp(word, "step") == 0) {
    // For one that asks what was written since.
    if (const char* since = strtok_r(nullptr, " \n", &rest)) setenv("UNDERWAY_SINCE", since, 1);
    return begin_asked_run(client, name);
  }
  const int index = spec.find_service(name);
  if (index < 0) return answer(client, "error no such service");
  if (strcmp(word, "signal") == 0) {
    const char* number = strtok_r(nullptr, " \n", &rest);
    services[index].signal(number != nullptr ? atoi(number) : 0);
    return answer(client, "ok");
  }
  if (strcmp(word, "restart") == 0 && phase != Phase::stopping) {
    services[index].restart();
    return answer(client, "ok");
  }
  answer(client, "error not understood");
}

void drop(int& client) {
  for (StepRun& run : runs) {
    if (run.client() == client) run.forget_client();
  }
  close(client);
  copies[&client - clients] = false;
  client = -1;
  for (const int other : clients) {
    if (other >= 0) return;
  }
  if (phase == Phase::waiting) fail(1, "the agent went away before the capsule was complete");
}

}  // namespace

void ask_for_copies() {
  for (int n = 0; n < kMaxClients; ++n) {
    if (!copies[n] || !saves.wants_copy()) continue;
    copies[n] = false;
    answer(clients[n], "ok");
  }
}

void admit(int listening) {
  const int client = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) return;
  for (int& slot : clients) {
    if (slot >= 0) continue;
    slot = client;
    return;
  }
  close(client);
}

void serve(int& client) {
  char text[1024];
  const ssize_t n = recv(client, text, sizeof text - 1, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return drop(client);
  text[n] = '\0';
  obey(client, text);
}

}  // namespace underway::run::init
