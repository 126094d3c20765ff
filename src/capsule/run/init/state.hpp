#pragma once
/// @file
/// The capsule that runs: the phase that it is in, its services and runs of steps. There is one of each, as pid 1 has
/// one capsule and one thread.

#include "run/init/saves.hpp"
#include "run/init/service.hpp"
#include "run/init/steps.hpp"

namespace underway::run::init {

constexpr int kMaxRuns = 4;

enum class Phase : uint8_t { waiting, probing, starting, running, stopping };
constexpr const char* kPhases[] = {"waiting", "probing", "starting", "running", "stopping"};
static_assert(sizeof kPhases / sizeof kPhases[0] == static_cast<size_t>(Phase::stopping) + 1);

extern Spec spec;
extern Service services[kMaxServices];
extern StepRun runs[kMaxRuns];
extern Saves saves;
extern Phase phase;
/// Results of the last run of each moment; -1: not run.
extern int results[kMomentCount];

/// One that is over and that nobody waits for; nullptr: there is none.
StepRun* free_run();
/// All is in place: the step `probe`, and then the services.
void begin_probe();
/// In reverse order, after the step `before_stop`; `why` is written to the log.
void begin_stop(const char* why);
/// The same, and the capsule ends with `code`.
void fail(int code, const char* why);

}  // namespace underway::run::init
