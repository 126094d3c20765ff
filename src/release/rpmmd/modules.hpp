#pragma once
/// @file
/// `modules.yaml`: streams of modules (modulemd), which one is the default, and what else is said of them. Each
/// document stays as upstream wrote it.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace underway::rpmmd {

struct ModuleDocument {
  std::string kind;              ///< "modulemd", "modulemd-defaults", "modulemd-obsoletes", "modulemd-translations", …
  std::string module, stream;    ///< of defaults: the default stream; empty where none is named
  std::string version, context;  ///< of a modulemd
  std::vector<std::string> artifacts;  ///< of a modulemd: "name-epoch:version-release.arch" of each of its packages
  std::string_view text;               ///< from its "---" on; the whole text must outlive it
};

/// Errors: invalid for what is no YAML, or a document without a kind or without the name that it speaks of; too_large.
std::vector<ModuleDocument> parse_modules(std::string_view text);

/// Those that still make sense with the packages that `has` knows by their artifact names:
/// - a modulemd stays while one of its artifacts is there, whatever else is gone: dnf takes a package of a module whose
///   modulemd is missing for one of no module, which then hides newer ones. One that lists none has lost none.
/// - defaults stay while the stream that they name does (the module, if they name none);
/// - what else names a module stays while its stream does;
/// - documents of a kind that we do not know stay.
std::vector<ModuleDocument> reduce_modules(std::vector<ModuleDocument> documents,
                                           const std::function<bool(const std::string&)>& has);

std::string write_modules(const std::vector<ModuleDocument>& documents);

}  // namespace underway::rpmmd
