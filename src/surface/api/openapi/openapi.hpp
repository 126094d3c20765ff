#pragma once
/// @file
/// The OpenAPI 3.1 document of the API: built from a table of routes and the descriptions of the structs that travel. A
/// test holds the table against the router, in both directions.

#include <string>
#include <string_view>
#include <vector>

#include "base/json/describe.hpp"

namespace underway::api {

struct Documented {
  std::string_view methods;  ///< "GET", "PUT|POST"
  std::string_view pattern;  ///< as registered: "/v1/job/*id/summary"
  std::string_view summary;
  const describe::Structure* request = nullptr;  ///< body, when it is JSON of one struct
  const describe::Structure* response = nullptr;
  bool list = false;  ///< the response is a list of `response`
};

const std::vector<Documented>& documented_routes();

/// JSON text.
std::string openapi_document();

}  // namespace underway::api
