#pragma once
/// @file
/// Services in a list: Nomad's ServiceRegistrationListStub (api/services.go).

#include "base/json/describe.hpp"

namespace underway::wire {

/// Of GET /v1/services.
struct ServiceStub {
  std::string name;
  std::vector<std::string> tags;
};

struct ServiceListStub {
  std::string ns;
  std::vector<ServiceStub> services;
};

const describe::Structure& description(describe::Tag<ServiceStub>);
const describe::Structure& description(describe::Tag<ServiceListStub>);

}  // namespace underway::wire
