#include "run/init/spec.hpp"

#include <stdlib.h>
#include <string.h>

namespace underway::run::init {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// In place.
void unescape(char* text) {
  char* out = text;
  for (const char* in = text; *in != '\0'; ++in) {
    const int high = *in == '%' && in[1] != '\0' ? hex_digit(in[1]) : -1;
    const int low = high >= 0 ? hex_digit(in[2]) : -1;
    if (low >= 0) {
      *out++ = static_cast<char>(high * 16 + low);
      in += 2;
    } else {
      *out++ = *in;
    }
  }
  *out = '\0';
}

bool add(Words& words, char* word) {
  if (words.count + 1 >= kMaxWords) return false;
  if (words.items == nullptr) words.items = static_cast<char**>(calloc(kMaxWords, sizeof(char*)));
  if (words.items == nullptr) return false;
  words.items[words.count++] = word;
  return true;
}

/// One line of a service; false when something does not fit.
bool read_service(ServiceSpec& service, const char* key, char* value) {
  if (strcmp(key, "arg") == 0) return add(service.command, value);
  if (strcmp(key, "env") == 0) return add(service.environment, value);
  if (strcmp(key, "after") == 0) return add(service.after, value);
  if (strcmp(key, "ready") == 0) return add(service.ready, value);
  if (strcmp(key, "user") == 0) service.user = value;
  if (strcmp(key, "ready_ms") == 0) service.ready_ms = atoll(value);
  if (strcmp(key, "signal") == 0) service.stop_signal = atoi(value);
  if (strcmp(key, "stop_ms") == 0) service.stop_ms = atoll(value);
  if (strcmp(key, "restart") == 0) {
    for (uint8_t n = 0; n < 3; ++n) {
      if (strcmp(value, kRestarts[n]) == 0) service.restart = static_cast<Restart>(n);
    }
  }
  return true;
}

bool read_step(StepSpec& step, const char* key, char* value) {
  if (strcmp(key, "arg") == 0) return add(step.command, value);
  if (strcmp(key, "user") == 0) step.user = value;
  if (strcmp(key, "ms") == 0) step.timeout_ms = atoll(value);
  return true;
}

}  // namespace

int Spec::find_service(const char* name) const {
  for (int n = 0; n < service_count; ++n) {
    if (strcmp(services[n].name, name) == 0) return n;
  }
  return -1;
}

bool parse_moment(const char* name, Moment& moment) {
  for (size_t n = 0; n < sizeof kMoments / sizeof kMoments[0]; ++n) {
    if (strcmp(name, kMoments[n]) != 0) continue;
    moment = static_cast<Moment>(n);
    return true;
  }
  return false;
}

bool parse_spec(char* text, Spec& spec) {
  ServiceSpec* service = nullptr;
  StepSpec* step = nullptr;
  char* rest = nullptr;
  const char* head = strtok_r(text, "\n", &rest);
  if (head == nullptr || strcmp(head, kSpecHead) != 0) return false;
  for (char* line = strtok_r(nullptr, "\n", &rest); line != nullptr; line = strtok_r(nullptr, "\n", &rest)) {
    char* value = strchr(line, ' ');
    if (value == nullptr) return false;
    *value++ = '\0';
    unescape(value);
    if (strcmp(line, "service") == 0) {
      if (spec.service_count == kMaxServices) return false;
      service = &spec.services[spec.service_count++];
      step = nullptr;
      service->name = value;
    } else if (strcmp(line, "step") == 0) {
      if (spec.step_count == kMaxSteps) return false;
      step = &spec.steps[spec.step_count++];
      service = nullptr;
      if (!parse_moment(value, step->moment)) return false;
    } else if (strcmp(line, "attempts") == 0) {
      spec.attempts = atoi(value);
    } else if (strcmp(line, "go_ms") == 0) {
      spec.go_ms = atoll(value);
    } else if (strcmp(line, "sync") == 0) {
      spec.sync = true;
      spec.own = strtoull(value, nullptr, 10);
    } else if ((service != nullptr && !read_service(*service, line, value)) ||
               (step != nullptr && !read_step(*step, line, value))) {
      return false;
    }
  }
  for (int n = 0; n < spec.service_count; ++n) {
    const ServiceSpec& candidate = spec.services[n];
    if (candidate.command.count == 0) return false;
    for (int m = 0; m < candidate.after.count; ++m) {
      if (spec.find_service(candidate.after.items[m]) < 0) return false;
    }
  }
  for (int n = 0; n < spec.step_count; ++n) {
    if (spec.steps[n].command.count == 0) return false;
  }
  return true;
}

}  // namespace underway::run::init
