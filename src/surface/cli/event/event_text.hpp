#pragma once
/// @file
/// An event of the stream as a line for people.

#include <boost/json/value.hpp>

#include <string>

namespace underway::cli {

/// "2026-11-21T20:31:07Z allocation  slurmd.slurmd[0] 7f3ab2c1 on c3: running, ready". Of a topic that it does not
/// know: its key.
std::string event_text(const boost::json::value& event);

}  // namespace underway::cli
