#pragma once
/// @file
/// The reference of rights, generated from the routes: docs/reference/acl.md.

#include "api/routes.hpp"

namespace underway::api {

/// Markdown.
std::string rights_reference(const std::vector<GuardedRoute>& routes);

}  // namespace underway::api
