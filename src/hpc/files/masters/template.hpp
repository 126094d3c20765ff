#pragma once
/// @file
/// Templates of files: Go's template language with Sprig's functions and Warewulf's variables and functions, so that an
/// overlay's `.ww` files can be taken as they are (docs/reference/file-templates.md says what of them there is).
/// Rendered by the server, for each target.

#include <functional>
#include <map>

#include "files/masters/select.hpp"
#include "gotemplate/value.hpp"
#include "model/cluster.hpp"
#include "model/node/node.hpp"

namespace underway::files {

/// What `{{ file }}` and `{{ softlink }}` make of a template: several files, or links.
struct RenderedFile {
  std::string name;  ///< in the directory of the declared path; empty: the declared path
  std::string text;
  std::string link;  ///< not empty: a symbolic link
};

struct Rendered {
  std::vector<RenderedFile> files;  ///< none after `{{ abort }}`
};

/// What templates of a cluster see of it, made once for all targets.
class TemplateContext {
 public:
  struct Inputs {
    std::vector<std::shared_ptr<const model::Node>> nodes;  ///< of the cluster
    std::shared_ptr<const model::Cluster> cluster;          ///< null: the nodes are in none
    std::vector<std::shared_ptr<const model::Host>> hosts;  ///< of the cluster
    std::string server_name;
  };
  explicit TemplateContext(const Inputs& inputs);

  /// The bytes of another master by its name or path, or nothing.
  using Include = std::function<std::optional<std::string>(const std::string&)>;
  /// Errors: those of gotemplate, with the place.
  Rendered render(const model::FileDeclaration& file, const std::string& text, const Target& target,
                  const Include& include) const;

 private:
  gotemplate::Value data_for(const model::FileDeclaration& file, const Target& target) const;
  gotemplate::Map common_;
  std::map<std::string, gotemplate::Map> nodes_;  ///< by id
};

}  // namespace underway::files
