#pragma once
/// @file
/// Reads the <package> element of one rpm package, as `primary` has it. Errors: invalid for what is no XML, or has a
/// document type (whose entities could grow without end).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "package/version.hpp"

namespace underway::package::detail {

/// <rpm:entry …/>
struct RpmEntry {
  std::string name, flags, epoch, version, release;
  bool pre = false;
};

/// The entries of <rpm:requires>, `list` being "requires".
std::vector<RpmEntry> rpm_entries(std::string_view element, std::string_view list);

/// The text of the first element whose name is `name`, whatever its case and prefix: "Summary", "License".
std::optional<std::string> rpm_text(std::string_view element, std::string_view name);

/// Of "EQ", "LT", "LE", "GT", "GE".
std::optional<Comparison> find_comparison(std::string_view flags);

}  // namespace underway::package::detail
