#pragma once
/// @file
/// Which catalogue a service is said to be in that names none. Nomad says `consul`, and programs of a site may look for
/// that word; here both words mean the built-in one.

#include <string>

#include <boost/json.hpp>

#include "model/job/job.hpp"

namespace underway::api {

/// Gives `provider` to the services of `job` of which `json`, that it was read from, says none.
void name_providers(const boost::json::value& json, model::Job& job, const std::string& provider);

}  // namespace underway::api
