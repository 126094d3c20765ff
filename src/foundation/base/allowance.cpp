#include "base/allowance.hpp"

#include <ctime>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway {
namespace {

/// A millisecond's worth: reading the thread's clock is a system call of 0.2 µs.
constexpr std::uint64_t kStepsBetweenLooks = 10'000;

thread_local Allowance* innermost = nullptr;

}  // namespace

Duration thread_cpu_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

Allowance::Allowance(std::string what, Duration cpu, std::uint64_t bytes, const std::atomic<bool>* ended)
    : what_(std::move(what)), cpu_(cpu), begun_(thread_cpu_time()), bytes_(bytes), ended_(ended), outer_(innermost) {
  innermost = this;
}

Allowance::~Allowance() { innermost = outer_; }

void Allowance::spend(std::uint64_t steps) {
  Allowance* const own = innermost;
  if (own == nullptr) return;
  own->unlooked_ += steps;
  if (own->unlooked_ < kStepsBetweenLooks) return;
  own->unlooked_ = 0;
  own->look();
}

void Allowance::make(std::uint64_t bytes) {
  Allowance* const own = innermost;
  if (own == nullptr) return;
  const bool fits = bytes <= own->bytes_ && own->made_ <= own->bytes_ - bytes;
  if (!fits) {
    throw Error(Code::too_large, fmt::format("{} takes too much memory", own->what_))
        .because(fmt::format("it may take {}", human_bytes(own->bytes_)))
        .advise("ask for less at once");
  }
  own->made_ += bytes;
}

void Allowance::look() const {
  if (ended_ != nullptr && *ended_)
    throw Error(Code::unavailable, fmt::format("{} was given up", what_)).because("the server is stopping");
  if (spent() <= cpu_) return;
  throw Error(Code::too_large, fmt::format("{} takes too long", what_))
      .because(fmt::format("it may compute for {}", human_duration(cpu_)))
      .advise("ask for less at once");
}

Duration Allowance::spent() const { return thread_cpu_time() - begun_; }

}  // namespace underway
