#pragma once
/// @file
/// A job around one attribute: what a stanza needs beside it, so that the attribute alone decides how the file is read.

#include <string>

namespace underway::conformance {

/// A job file in which `text` ("max = 5", "port \"http\" { }") stands in `stanza`; with an empty text the same file
/// without it. Throws for a stanza that is not known.
std::string job_with(const std::string& stanza, const std::string& text);

/// The first word of an attribute or block.
std::string name_of(const std::string& text);

}  // namespace underway::conformance
