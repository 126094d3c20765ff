#include "cli/acl/access_losses.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace underway::cli {
namespace {

std::string name_of(const model::AclToken& token) { return token.name.empty() ? token.accessor_id : token.name; }

/// "2 tokens have it: anna, ci".
void add(std::vector<std::string>& lines, std::string_view what, const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 10;
  if (names.empty()) return;
  const std::vector<std::string> shown(names.begin(), names.begin() + std::min(names.size(), kShown));
  lines.push_back(fmt::format("{} {}{} {} it: {}{}", names.size(), what, names.size() == 1 ? "" : "s",
                              names.size() == 1 ? "has" : "have", join(shown, ", "),
                              names.size() > kShown ? ", …" : ""));
}

}  // namespace

std::vector<std::string> losses_of_token(const model::AclToken& token, TimePoint now) {
  if (token.is_expired(now)) return {};
  return {
      fmt::format("who uses token '{}' has no rights any more; its secret cannot be given out again", name_of(token))};
}

std::vector<std::string> losses_of_policy(const model::AclPolicy& policy, const std::vector<model::AclToken>& tokens,
                                          const std::vector<model::AclRole>& roles) {
  std::vector<std::string> lines = {fmt::format("the rules of policy '{}'", policy.name)}, having, granting;
  for (const auto& token : tokens) {
    if (std::find(token.policies.begin(), token.policies.end(), policy.name) != token.policies.end())
      having.push_back(name_of(token));
  }
  for (const auto& role : roles) {
    if (std::any_of(role.policies.begin(), role.policies.end(),
                    [&](const auto& link) { return link.name == policy.name; }))
      granting.push_back(role.name);
  }
  add(lines, "token", having);
  add(lines, "role", granting);
  if (const auto& job = policy.job_acl) {
    const std::string whose = job->job_id.empty() ? "all jobs" : fmt::format("job '{}'", job->job_id);
    lines.push_back(fmt::format("tasks of {} in namespace '{}' have it", whose, job->ns));
  }
  return lines;
}

std::vector<std::string> losses_of_role(const model::AclRole& role, const std::vector<model::AclToken>& tokens) {
  std::vector<std::string> lines = {fmt::format("role '{}' with its list of policies", role.name)}, having;
  for (const auto& token : tokens) {
    if (std::any_of(token.roles.begin(), token.roles.end(), [&](const auto& link) { return link.id == role.id; }))
      having.push_back(name_of(token));
  }
  add(lines, "token", having);
  return lines;
}

std::vector<std::string> losses_of_auth_method(const std::string& name, std::size_t binding_rules) {
  std::vector<std::string> lines = {fmt::format("the configuration of '{}': nobody logs in by it any more", name)};
  if (binding_rules > 0)
    lines.push_back(fmt::format("{} binding rule{} of it", binding_rules, binding_rules == 1 ? "" : "s"));
  return lines;
}

std::vector<std::string> losses_of_root_key(const std::string& id) {
  return {fmt::format("tokens of tasks that {} signed: they are refused until those tasks start again", id)};
}

}  // namespace underway::cli
