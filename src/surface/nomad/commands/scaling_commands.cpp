// Scaling policies: list, info.
#include <algorithm>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "cli/wire.hpp"
#include "nomad/program.hpp"
#include "nomad/table.hpp"
#include "nomad/text/text.hpp"

namespace underway::nomad {
namespace {

using boost::json::array;
using cli::Api;
using cli::elements;
using cli::Json;
using cli::print;
using cli::text;

constexpr const char* kPolicies = "/v1/scaling/policies";

/// "Group:g,Job:web,Namespace:default".
std::string target_text(const Json& policy) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : cli::members(policy, "Target"))
    parts.push_back(fmt::format("{}:{}", std::string_view(name), std::string_view(value.as_string())));
  std::sort(parts.begin(), parts.end());
  return join(parts, ",");
}

std::string policies_text(const array& policies, bool verbose) {
  if (policies.empty()) return "No policies found\n";
  Rows rows;
  for (const auto& policy : policies)
    rows.push_back({cli::id_text(text(policy, "ID"), verbose), text(policy, "Enabled"), text(policy, "Type"),
                    target_text(policy)});
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.back() < b.back(); });
  return cli::table_text({"ID", "Enabled", "Type", "Target"}, rows);
}

int list_policies(const Arguments& arguments) {
  Api api(arguments);
  http::Query query;
  for (const char* name : {"job", "type"}) {
    if (const auto wanted = arguments.find(name)) query.add(name, *wanted);
  }
  const Json all = api.get(kPolicies, std::move(query));
  if (!cli::print_formatted(arguments, all)) print(policies_text(elements(all), arguments.has("verbose")));
  return 0;
}

array matching(Api& api, const std::string& prefix) {
  if (prefix.size() == 1) throw Error(Code::invalid, "Identifier must contain at least two characters.");
  array found;
  for (const auto& policy : elements(api.get(kPolicies))) {
    if (text(policy, "ID").starts_with(prefix)) found.push_back(policy);
  }
  if (found.empty())
    throw Error(Code::not_found, fmt::format("No scaling policies with prefix or id \"{}\" found", prefix));
  return found;
}

int policy_info(const Arguments& arguments) {
  Api api(arguments);
  const bool verbose = arguments.has("verbose");
  if (arguments.positional().empty()) {
    if (!cli::print_formatted(arguments, api.get(kPolicies)))
      throw Error(Code::invalid, "This command takes a policy ID, or -json or -t for all");
    return 0;
  }
  const array found = matching(api, arguments.positional().front());
  if (found.size() > 1) {
    cli::say("Prefix matched multiple scaling policies\n\n" + policies_text(found, verbose));
    return 0;
  }
  const Json policy = api.get("/v1/scaling/policy/" + cli::part(text(found.front(), "ID")));
  if (cli::print_formatted(arguments, policy)) return 0;
  const auto& document = cli::members(policy, "Policy");
  print(cli::facts_text({{"ID", cli::id_text(text(policy, "ID"), verbose)},
                         {"Enabled", text(policy, "Enabled")},
                         {"Target", target_text(policy)},
                         {"Min", text(policy, "Min")},
                         {"Max", text(policy, "Max")}}) +
        "\nPolicy:\n" + (document.empty() ? std::string("<empty>") : std::string(trim(json::pretty(document)))) + "\n");
  return 0;
}

}  // namespace

void add_scaling_commands(Table& table) {
  table.push_back(with_run(shared(cli::scaling_policy_list_command(), {kVerbose}), list_policies));
  auto showing = with_run(shared(cli::scaling_policy_info_command(), cli::with_format_flags({kVerbose})), policy_info);
  showing.summary = "Shows a scaling block.";
  showing.least = 0;
  table.push_back(std::move(showing));
}

}  // namespace underway::nomad
