#pragma once
/// @file
/// The tables that documented_routes() is put together from: one would be too long to read.

#include "api/openapi/openapi.hpp"

namespace underway::api {

const std::vector<Documented>& table_of_routes();
const std::vector<Documented>& table_of_ticket_routes();

}  // namespace underway::api
