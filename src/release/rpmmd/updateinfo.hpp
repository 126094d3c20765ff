#pragma once
/// @file
/// Advisories (`updateinfo.xml`): which builds mend what.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rpmmd/names.hpp"

namespace underway::rpmmd {

struct Reference {
  std::string type, id, href;  ///< "cve", "CVE-2024-6387", "https://…"
  bool operator==(const Reference&) const = default;
};

struct AdvisoryPackage {
  Nevra nevra;
  std::string file;            ///< name of the file
  std::size_t collection = 0;  ///< which of the advisory's
  Cut cut;                     ///< of the advisory: its element, with the blanks before it
};

struct Advisory {
  std::string id, type, severity, title;  ///< type: "security", "bugfix", "enhancement", "newpackage"
  std::string issued, updated;            ///< as written
  std::vector<Reference> references;
  std::vector<AdvisoryPackage> packages;
  std::vector<Cut> collections;
  std::string_view element;  ///< from '<' to '>'; the text must outlive it
};

/// Errors: invalid for what is no updateinfo.xml, for an advisory without an id and for names that are refused.
std::vector<Advisory> parse_updateinfo(std::string_view text);

/// The document of `advisories`, in their order, with the packages that `keep` keeps: an advisory of which none is left
/// is left out, and so is a collection. Everything else stays as upstream wrote it.
std::string write_updateinfo(const std::vector<Advisory>& advisories, const std::function<bool(const Nevra&)>& keep);

}  // namespace underway::rpmmd
