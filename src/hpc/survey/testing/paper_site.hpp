#pragma once
/// @file
/// The management server of the paper (A. Johnson and others, "Decoupling OpenHPC Critical Services", HPCSYSPROS 2019,
/// section 4) as a survey would find it: what 450 nodes say to it, and what it says of itself. Its Table 1 is the known
/// answer.

#include "survey/division.hpp"

namespace underway::survey::testing {

/// A flow between `nodes` nodes and the server 10.1.0.1; `opens` is that of all of them together.
ServiceFlow flow(Protocol protocol, std::int64_t port, Part part, Pattern pattern, std::int64_t nodes = 450);
Program program(std::string name, std::string unit, std::vector<Listener> listens, std::vector<Need> needs = {});

Traffic paper_traffic();
HostSurvey paper_host();

}  // namespace underway::survey::testing
