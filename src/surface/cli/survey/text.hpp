#pragma once
/// @file
/// Traffic in words and tables.

#include <string>

#include "traffic/traffic.hpp"

namespace underway::cli {

/// A table of the flows, to standard output; with `all` also those between other machines, and the clients by address.
void print_flows(const traffic::Traffic& traffic, bool all);
/// "12345 packets in 1h20m, none lost; surveyed 10.77.0.1 (found: most others talk to it)".
std::string survey_summary(const traffic::Traffic& traffic);
/// "5m0s ±2s", "about 7m"; "-" when nothing was measured.
std::string rhythm_text(const traffic::Rhythm& rhythm);

}  // namespace underway::cli
