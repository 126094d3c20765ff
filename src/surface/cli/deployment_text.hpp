#pragma once
/// @file
/// A deployment as `deployment status` and `job status` print it.

#include "model/deployment.hpp"

namespace underway::cli {

std::string deployment_text(const model::Deployment& deployment);
/// One line a group: "g  [#####.....]  3 of 5 healthy".
std::vector<std::string> deployment_lines(const model::Deployment& deployment);

}  // namespace underway::cli
