// Quotas: what the allocations of a namespace may take together.
#include <algorithm>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "cli/operator/commands.hpp"
#include "cli/terminal.hpp"
#include "cli/wire.hpp"
#include "hcl/parse/parser.hpp"
#include "jobspec/decode.hpp"
#include "model/access/quota.hpp"
#include "os/file.hpp"

namespace underway::cli {
namespace {

using boost::json::array;
using boost::json::object;

std::string path_of_quota(const std::string& name) { return "/v1/quota/" + part(name); }

/// `name = "…"  description = "…"  limit { … }`, as Nomad's.
model::Quota parse_quota(const std::string& text, const std::string& name) {
  hcl::Diagnostics diagnostics;
  model::Quota quota;
  const auto [named, rest] =
      hcl::parse(text, name, diagnostics).partial_content({.attributes = {{"name", true}}}, diagnostics, "the file");
  const hcl::Context context;
  if (const auto* given = named.find("name")) {
    if (const auto value = given->expression.evaluate(context, diagnostics); value && value->is_string())
      quota.name = value->as_string();
  }
  jobspec::decode(rest, describe::structure_of<model::Quota>(), &quota, context, diagnostics);
  if (diagnostics.has_errors()) refuse(diagnostics, fmt::format("the quota in '{}'", name));
  return quota;
}

Json quota_of(const Arguments& arguments) {
  const std::string& file = arguments.positional().front();
  const std::string text = read_input(file);
  return arguments.has("json") ? json::parse(text) : json::to_value(parse_quota(text, file));
}

int apply_quota(const Arguments& arguments) {
  const Json quota = quota_of(arguments);
  Api api(arguments);
  api.put("/v1/quota", quota);
  print(fmt::format("Successfully applied quota specification \"{}\"!\n", text(quota, "Name")));
  return kDone;
}

int list_quotas(const Arguments& arguments) {
  Api api(arguments);
  const Json all = api.get("/v1/quotas");
  if (print_formatted(arguments, all)) return kDone;
  std::vector<std::vector<std::string>> rows;
  for (const auto& quota : elements(all)) rows.push_back({text(quota, "Name"), text(quota, "Description")});
  print(rows.empty() ? "No quotas found\n" : table_text({"Name", "Description"}, rows));
  return kDone;
}

/// "120 / 1000"; no limit is "inf", as nothing may be had is "0".
std::string of_limit(std::int64_t used, std::int64_t limit) {
  return fmt::format("{} / {}", used, limit == 0 ? "inf" : limit < 0 ? "0" : std::to_string(limit));
}

/// What is used of the limit for the same region.
Json usage_of(const Json& usages, const Json& limit) {
  for (const auto& [hash, used] : members(usages, "Used")) {
    if (hash == text(limit, "Hash") || text(used, "Region") == text(limit, "Region")) return used;
  }
  return nullptr;
}

void print_limits(const Json& quota, const Json& usages) {
  const auto& limits = elements(quota, "Limits");
  const bool cores = std::any_of(limits.begin(), limits.end(),
                                 [](const Json& limit) { return number(limit, "RegionLimit.Cores") != 0; });
  std::vector<std::vector<std::string>> rows;
  for (const auto& limit : limits) {
    const Json used = usage_of(usages, limit);
    std::vector<std::string> row{text(limit, "Region")};
    for (const char* name : {"CPU", "Cores", "MemoryMB", "MemoryMaxMB"}) {
      if (name == std::string_view("Cores") && !cores) continue;
      const std::string path = std::string("RegionLimit.") + name;
      row.push_back(of_limit(number(used, path), number(limit, path)));
    }
    row.push_back(of_limit(number(used, "VariablesLimit"), number(limit, "VariablesLimit")));
    rows.push_back(std::move(row));
  }
  std::vector<std::string> headers{"Region", "CPU Usage"};
  if (cores) headers.emplace_back("Core Usage");
  headers.insert(headers.end(), {"Memory Usage", "Memory Max Usage", "Variables Usage"});
  print("\nQuota Limits\n" + table_text(headers, rows));
}

int status_quota(const Arguments& arguments) {
  Api api(arguments);
  const std::string& name = arguments.positional().front();
  const Json quota = api.get(path_of_quota(name));
  if (print_formatted(arguments, quota)) return kDone;
  print(facts_text({{"Name", text(quota, "Name")},
                    {"Description", text(quota, "Description")},
                    {"Limits", std::to_string(elements(quota, "Limits").size())}}));
  if (!elements(quota, "Limits").empty()) print_limits(quota, api.get("/v1/quota/usage/" + part(name)));
  return kDone;
}

int inspect_quota(const Arguments& arguments) {
  Api api(arguments);
  const std::string& name = arguments.positional().front();
  const Json both =
      object{{"Spec", api.get(path_of_quota(name))}, {"UsageLookup", api.get("/v1/quota/usage/" + part(name))}};
  if (!print_formatted(arguments, both)) print_json(both);
  return kDone;
}

int remove_quota(const Arguments& arguments) {
  Api api(arguments);
  const std::string& name = arguments.positional().front();
  api.remove(path_of_quota(name));
  print(fmt::format("Successfully deleted quota \"{}\"!\n", name));
  return kDone;
}

constexpr std::string_view kQuotaExample =
    R"(# What a namespace's allocations may take together. `quota apply spec.hcl`, then `namespace apply -quota NAME`.
name        = "default-quota"
description = "Limits the shared default namespace"

limit {
  region = "global"
  region_limit {
    cpu    = 2500 # MHz
    memory = 1000 # MiB
  }
}
)";
constexpr std::string_view kQuotaExampleJson = R"({
  "Name": "default-quota",
  "Description": "Limits the shared default namespace",
  "Limits": [
    {
      "Region": "global",
      "RegionLimit": {
        "CPU": 2500,
        "MemoryMB": 1000
      }
    }
  ]
}
)";

int init_quota(const Arguments& arguments) {
  const bool as_json = arguments.has("json");
  const std::string file = !arguments.positional().empty() ? arguments.positional().front()
                           : as_json                       ? "spec.json"
                                                           : "spec.hcl";
  if (os::exists(file)) throw Error(Code::conflict, fmt::format("'{}' is there already", file));
  os::write_file(file, as_json ? kQuotaExampleJson : kQuotaExample);
  print(fmt::format("Example quota specification written to {}\n", file));
  return kDone;
}

}  // namespace

const Command& quota_apply_command() {
  static const Command command{.name = "quota apply",
                               .arguments = "FILE",
                               .summary = "Makes or changes a quota from a file, or `-` for standard input.",
                               .examples = {"underway quota apply physics.hcl"},
                               .flags = {{"json", "", "The file is JSON."}},
                               .least = 1,
                               .most = 1,
                               .run = apply_quota};
  return command;
}

const Command& quota_list_command() {
  static const Command command{
      .name = "quota list", .summary = "Lists quotas.", .flags = with_format_flags(), .run = list_quotas};
  return command;
}

const Command& quota_status_command() {
  static const Command command{.name = "quota status",
                               .arguments = "NAME",
                               .summary = "Shows a quota, and what is used of it.",
                               .flags = with_format_flags(),
                               .least = 1,
                               .most = 1,
                               .run = status_quota};
  return command;
}

const Command& quota_inspect_command() {
  static const Command command{.name = "quota inspect",
                               .arguments = "NAME",
                               .summary = "Prints a quota and what is used of it as JSON.",
                               .flags = with_format_flags(),
                               .least = 1,
                               .most = 1,
                               .run = inspect_quota};
  return command;
}

const Command& quota_delete_command() {
  static const Command command{.name = "quota delete",
                               .arguments = "NAME",
                               .summary = "Deletes a quota that no namespace has.",
                               .least = 1,
                               .most = 1,
                               .run = remove_quota};
  return command;
}

const Command& quota_init_command() {
  static const Command command{.name = "quota init",
                               .arguments = "[FILE]",
                               .summary = "Writes an example of a quota, spec.hcl.",
                               .flags = {{"json", "", "In JSON instead of HCL."}},
                               .most = 1,
                               .talks_to_server = false,
                               .run = init_quota};
  return command;
}

}  // namespace underway::cli
