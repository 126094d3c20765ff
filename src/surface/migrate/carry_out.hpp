#pragma once
/// @file
/// Carrying a plan out. Each step is one request, which the server takes whole or not at all, so that who is
/// interrupted makes a new plan and goes on.

#include "migrate/plan.hpp"

namespace underway::migrate {

/// Asks the server what it says to the jobs that would be sent: what it refuses becomes a refusal of the plan, and
/// groups that could not be placed now become notes. Changes nothing.
void ask_about_jobs(Plan& plan, const Inventory& there, const Send& send);

struct Outcome {
  std::size_t done = 0;
  std::size_t refused = 0;      ///< by the server; each was told
  std::size_t not_reached = 0;  ///< after `broke`
  std::string broke;            ///< why it ended early: the server did not answer; empty: it did not
};

/// Tells of each step once it was sent; `refusal` is empty when it is done.
using Told = std::function<void(const Step& step, const std::string& refusal)>;

/// A step that the server refuses is told, and the next one follows; when the server does not answer, it ends.
Outcome carry_out(const Plan& plan, const Send& send, const Told& told);

}  // namespace underway::migrate
