#include "api/job/job_warnings.hpp"

#include <algorithm>

namespace underway::api {

namespace {

/// As the node's agent is configured (node/template/template_sources.cpp).
bool some_node_has(const tables::Tables& tables, const std::string& attribute, std::string_view value) {
  return std::ranges::any_of(tables.nodes(), [&](const auto& node) {
    const auto it = node->attributes.find(attribute);
    return it != node->attributes.end() && it->second == value;
  });
}

}  // namespace

std::string job_warnings(const std::vector<jobspec::TemplateWarning>& warnings, const tables::Tables& tables) {
  using About = jobspec::TemplateWarning::About;
  const auto about = [&](About what) {
    return std::ranges::any_of(warnings, [&](const auto& warning) { return warning.about == what; });
  };
  jobspec::TemplateOffers offers;
  offers.keys = about(About::keys) && some_node_has(tables, "template.key", "consul");
  offers.secrets = about(About::secrets) && some_node_has(tables, "template.secret", "vault");
  return jobspec::warnings_text(jobspec::texts_of(warnings, offers));
}

}  // namespace underway::api
