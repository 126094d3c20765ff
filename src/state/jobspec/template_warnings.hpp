#pragma once
/// @file
/// What can be told of a job's templates before a node renders them: syntax errors, functions that are refused, and
/// those of Consul and Vault, which read something else here.

#include "model/job/job.hpp"

#include <string>
#include <vector>

namespace underway::jobspec {

struct TemplateWarning {
  enum class About : std::uint8_t { the_template, keys, secrets };
  About about = About::the_template;
  std::string text;  ///< one sentence, with group, task, template and line:column in it
};

/// Templates that only the node sees (`source`) are not spoken of.
std::vector<TemplateWarning> template_warnings(const model::Job& job);

/// Whether there are nodes that read keys from a Consul, secrets from a Vault. Then nothing is said of them.
struct TemplateOffers {
  bool keys = false;
  bool secrets = false;
};
std::vector<std::string> texts_of(const std::vector<TemplateWarning>& warnings, const TemplateOffers& offers = {});
/// As Nomad tells warnings: how many, and one a line. Empty for none.
std::string warnings_text(const std::vector<std::string>& warnings);

}  // namespace underway::jobspec
