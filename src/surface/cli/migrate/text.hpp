#pragma once
/// @file
/// Moving in and out, in words: what a plan would do, and what a step did.

#include "migrate/carry_out.hpp"
#include "migrate/files.hpp"
#include "sdk/client.hpp"

namespace underway::cli {

/// Requests through `client`, each with a limit, and all of them together with `longest`.
migrate::Send sender(sdk::Client& client, Duration longest);

/// "+ job munge (hpc), stopped", with what there is to say of it below; "" for a step that does nothing and needs
/// nobody.
std::string step_text(const migrate::Step& step);
/// All of it, with the sums.
std::string plan_text(const migrate::Plan& plan);

}  // namespace underway::cli
