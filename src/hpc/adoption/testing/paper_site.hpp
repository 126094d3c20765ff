#pragma once
/// @file
/// The management server of the paper (A. Johnson and others, "Decoupling OpenHPC Critical Services", HPCSYSPROS 2019,
/// section 4) as a survey would find it: what 450 nodes say to it, and what it says of itself. Its Table 1 is the known
/// answer.

#include "adoption/division/division.hpp"

namespace underway::adoption::testing {

/// A flow between `nodes` nodes and the server 10.1.0.1; `opens` is that of all of them together.
traffic::ServiceFlow flow(traffic::Protocol protocol, std::int64_t port, traffic::Part part, traffic::Pattern pattern,
                          std::int64_t nodes = 450);
inspection::Program program(std::string name, std::string unit, std::vector<inspection::Listener> listens,
                            std::vector<inspection::Need> needs = {});

traffic::Traffic paper_traffic();
inspection::HostSurvey paper_host();

}  // namespace underway::adoption::testing
