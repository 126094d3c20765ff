#pragma once
/// @file
/// A deployment as `deployment status` and `job status` print it.

#include "model/deployment.hpp"

namespace underway::cli {

std::string deployment_text(const model::Deployment& deployment);
/// How far it is, for a screen that is drawn again and again: a line for it, and one a group:
/// "g  [#####.....]  3 of 6 healthy, 4 placed, 1 unhealthy, by 20:31:07Z".
std::vector<std::string> deployment_lines(const model::Deployment& deployment);
/// Whether nothing goes on before somebody promotes or resumes it.
bool waits_for_person(const model::Deployment& deployment);
/// What that is, as a command; empty when it does not wait.
std::string advice_for(const model::Deployment& deployment);

}  // namespace underway::cli
