#pragma once
/// @file
/// What nfs-ganesha exports: the EXPORT blocks of its configuration (ganesha-config(8), ganesha-export-config(8)).

#include "inspection/host_survey.hpp"

namespace underway::inspection::detail {

struct GaneshaConfiguration {
  std::vector<Export> exports;
  std::vector<std::string> includes;  ///< files of %include, as written
};

/// Text that is no such configuration gives what can be made of it.
GaneshaConfiguration parse_ganesha(std::string_view text, const std::string& source);

}  // namespace underway::inspection::detail
