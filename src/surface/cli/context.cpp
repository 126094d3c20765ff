#include "cli/context.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "agent/config/config.hpp"
#include "base/json/json.hpp"
#include "base/redact.hpp"
#include "base/text.hpp"
#include "cli/current_time.hpp"
#include "cli/job/url.hpp"
#include "cli/terminal.hpp"
#include "drivers/config_problems.hpp"
#include "host/reconcile.hpp"
#include "slurm/configuration.hpp"
#include "slurm/installed.hpp"

extern char** environ;

namespace underway::cli {

std::string state_directory(const Arguments& arguments) {
  if (const auto given = arguments.find("state")) return std::filesystem::absolute(*given).lexically_normal().string();
  if (const char* value = std::getenv("UNDERWAY_STATE"); value != nullptr && *value != '\0') return value;
  return agent::kDefaultDataDir;
}

std::string agent_socket(const std::string& directory) {
  agent::Config config;
  config.data_dir = directory;
  return config.api_socket();
}

sdk::Client make_client(const Arguments& arguments) {
  auto address = sdk::address_from_environment(agent_socket(state_directory(arguments)));
  if (const auto url = arguments.find("address")) address.url = *url;
  if (const auto token = arguments.find("token")) address.token = *token;
  if (const auto ns = arguments.find("namespace")) address.ns = *ns;
  if (const auto region = arguments.find("region")) address.region = *region;
  if (const auto file = arguments.find("ca-cert")) address.tls.files.authority = *file;
  if (const auto file = arguments.find("client-cert")) address.tls.files.certificate = *file;
  if (const auto file = arguments.find("client-key")) address.tls.files.key = *file;
  if (const auto name = arguments.find("tls-server-name")) address.tls.server_name = *name;
  if (arguments.has("tls-skip-verify")) address.tls.verify = false;
  return sdk::Client(std::move(address));
}

namespace {

std::string choose(const char* what, const std::string& prefix, const std::vector<std::string>& ids) {
  if (ids.size() == 1) return ids.front();
  for (const auto& id : ids) {
    if (id == prefix) return id;
  }
  if (ids.empty()) throw Error(Code::not_found, fmt::format("no {} with id or prefix '{}'", what, prefix));
  Error error(Code::conflict, fmt::format("'{}' matches {} {}s", prefix, ids.size(), what));
  for (std::size_t i = 0; i < ids.size() && i < 10; ++i) error.because(ids[i]);
  throw error.advise("give more of the id");
}

}  // namespace

std::string resolve_allocation(sdk::Client& client, const std::string& prefix) {
  std::vector<std::string> ids;
  for (const auto& allocation : client.allocations(prefix)) ids.push_back(allocation.id);
  return choose("allocation", prefix, ids);
}

std::string resolve_node(sdk::Client& client, const std::string& prefix_or_name) {
  std::vector<std::string> ids;
  for (const auto& node : client.nodes()) {
    if (node.name == prefix_or_name) return node.id;
    if (node.id.starts_with(prefix_or_name)) ids.push_back(node.id);
  }
  return choose("node", prefix_or_name, ids);
}

std::string resolve_job(sdk::Client& client, const std::string& prefix) {
  std::vector<std::string> ids;
  for (const auto& job : client.jobs(prefix)) ids.push_back(job.id);
  return choose("job", prefix, ids);
}

std::string resolve_evaluation(sdk::Client& client, const std::string& prefix) {
  std::vector<std::string> ids;
  for (const auto& evaluation : client.evaluations(prefix)) ids.push_back(evaluation.id);
  return choose("evaluation", prefix, ids);
}

std::string resolve_deployment(sdk::Client& client, const std::string& prefix) {
  std::vector<std::string> ids;
  for (const auto& deployment : client.deployments(prefix)) ids.push_back(deployment.id);
  return choose("deployment", prefix, ids);
}

void print_json(const boost::json::value& value) { print(json::pretty(value) + "\n"); }

std::vector<Flag> with_variable_flags(std::vector<Flag> flags) {
  flags.push_back({"var", "NAME=VALUE", "Gives a variable its value.", true});
  flags.push_back({"var-file", "FILE", "Reads values of variables, in HCL or JSON.", true});
  flags.push_back({"hcl2-strict", "BOOL", "Whether a value for an unknown variable is an error; true."});
  return flags;
}

std::string read_input(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream in(path, std::ios::binary);
  if (!in || std::filesystem::is_directory(path)) {
    throw Error(Code::not_found, fmt::format("cannot read '{}'", path))
        .because(std::filesystem::is_directory(path) ? "it is a directory"
                                                     : "there is no such file, or no right to read it");
  }
  return {std::istreambuf_iterator<char>(in), {}};
}

void refuse(const hcl::Diagnostics& diagnostics, const std::string& what) {
  // They are in the form of errors already, with their lines.
  say(trim(diagnostics.render(is_terminal(2) ? hcl::Style::coloured : hcl::Style::plain)));
  throw Error(Code::invalid, fmt::format("{} cannot be read; nothing was changed", what));
}

jobspec::Inputs inputs_of(const Arguments& arguments) {
  jobspec::Inputs inputs;
  for (const auto& pair : arguments.all("var")) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos)
      throw Error(Code::invalid, fmt::format("-var '{}' is not of the form NAME=VALUE", pair));
    inputs.variables.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
  }
  for (const auto& file : arguments.all("var-file")) inputs.variable_files.push_back({file, read_input(file)});
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (text.starts_with("NOMAD_VAR_") && equals != std::string_view::npos)
      inputs.environment[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  inputs.limits.check_config = &drivers::config_problems;
  inputs.strict = arguments.get("hcl2-strict", "true") != "false";
  return inputs;
}

LoadedJob load_job(const std::string& path, const Arguments& arguments) {
  auto inputs = inputs_of(arguments);
  const std::string text = read_job_file(path),
                    name = path == "-" ? "standard input" : redact_url(path, UrlUser::absent);
  if (path != "-" && !is_url(path)) inputs.base_dir = std::filesystem::absolute(path).parent_path();
  const auto parsed = jobspec::parse_job(text, name, inputs);
  if (!parsed.job) refuse(parsed.diagnostics, fmt::format("the job file '{}'", name));
  LoadedJob loaded{*parsed.job, {}};
  loaded.submission.source = text;
  loaded.submission.format = trim(text).starts_with('{') ? "json" : "hcl2";
  for (const auto& [key, value] : inputs.variables) loaded.submission.variable_flags[key] = value;
  for (const auto& file : inputs.variable_files) loaded.submission.variables += file.text;
  if (loaded.job.ns == model::kDefaultNamespace) {
    const auto asked = arguments.get("namespace", sdk::address_from_environment({}).ns);
    if (!asked.empty()) loaded.job.ns = asked;
  }
  return loaded;
}

wire::ClusterBody load_cluster(const std::string& directory, const Arguments& arguments, sdk::Client* client) {
  if (!std::filesystem::is_directory(directory)) {
    throw Error(Code::not_found, fmt::format("'{}' is no directory", directory))
        .advise("name the directory that holds cluster.hcl");
  }
  jobspec::DirectoryInputs inputs;
  inputs.inputs = inputs_of(arguments);
  std::vector<tables::Row<model::Host>> existing;
  if (client != nullptr) {
    for (auto& host : client->hosts()) existing.push_back(std::make_shared<const model::Host>(std::move(host)));
  }
  // Hosts that exist keep their addresses; the others get those that the server will give them.
  inputs.addresses = [&existing](const model::Cluster& cluster) {
    std::vector<tables::Row<model::Host>> own;
    for (const auto& host : existing) {
      if (host->cluster == cluster.name) own.push_back(host);
    }
    jobspec::Addresses addresses;
    for (const auto& host : own) addresses[host->name] = host->addresses;
    host::WantedHosts declared;  // of a pool that grows those that are always there: no file can speak of others
    for (const auto& pool : cluster.pools) declared[pool.name] = pool.host_names();
    for (const auto& host : host::compare(cluster, declared, own).added) addresses[host.name] = host.addresses;
    return addresses;
  };
  inputs.roots = [](const model::Cluster& cluster, const hcl::Value&) {
    auto machine = slurm::read_machine();
    const bool joins = std::any_of(cluster.pools.begin(), cluster.pools.end(),
                                   [](const auto& pool) { return pool.slurm.has_value(); });
    if (joins) machine.slurm = slurm::find_version(slurm::InstalledSlurmd().attributes()["slurm.version"]);
    return std::map<std::string, hcl::Value>{{"slurm", hcl::from_json(slurm::job_file_root(cluster, machine))}};
  };
  const auto loaded = jobspec::load_directory(directory, inputs);
  if (!loaded.directory) refuse(loaded.diagnostics, fmt::format("the directory '{}'", directory));
  wire::ClusterBody body;
  body.cluster = loaded.directory->cluster;
  body.namespaces = loaded.directory->namespaces;
  body.cluster.directory = std::filesystem::absolute(directory).lexically_normal().string();
  for (const auto& file : loaded.directory->files) body.files.push_back(wire::body_of(file));
  for (const auto& file : loaded.directory->jobs) {
    model::JobSubmission submission;
    submission.source = file.source;
    submission.format = "hcl2";
    body.jobs.push_back({file.job, std::move(submission)});
  }
  return body;
}

std::string ago(std::int64_t nanos) {
  if (nanos <= 0) return "never";
  return human_duration(current_time() - from_unix_nanos(nanos)) + " ago";
}

bool confirm(const std::string& question) {
  if (!is_terminal(0)) return false;
  std::fprintf(stderr, "%s [y/N] ", question.c_str());
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace underway::cli
