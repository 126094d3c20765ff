#include "migrate/files.hpp"

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/text.hpp"
#include "migrate/detail/job_files.hpp"
#include "migrate/file_text.hpp"
#include "migrate/kinds.hpp"
#include "os/file.hpp"

#include <set>

namespace underway::migrate {
namespace detail {

std::string path_of(const Object& object) {
  std::string name = file_name(object.name);
  switch (object.kind) {
    case Kind::node_pool:
      return "node-pools/" + name + ".hcl";
    case Kind::quota:
      return "quotas/" + name + ".json";
    case Kind::name_space:
      return "namespaces/" + name + ".hcl";
    case Kind::policy:
      return "policies/" + name + ".hcl";
    case Kind::role:
      return "roles/" + name + ".json";
    case Kind::token:
      return "tokens/" + name + ".json";
    case Kind::auth_method:
      return "auth-methods/" + name + ".json";
    case Kind::binding_rule:
      return "binding-rules/" + name + ".json";
    case Kind::scheduler:
      return "scheduler.json";
    case Kind::variable:
      return "variables/" + file_name(object.ns) + "/" + name + ".json";
    case Kind::job:
      return "jobs/" + file_name(object.ns) + "/" + name;
  }
  return name;
}

}  // namespace detail

namespace {

using boost::json::object;

std::string label(const Object& from) { return printable(fmt::format("{} '{}'", word(from.kind), from.name)); }

/// The names that a specification in HCL has for what the wire calls otherwise.
object renamed(const object& body, const std::map<std::string_view, std::string_view>& names) {
  object out;
  for (const auto& [key, value] : body) {
    const auto name = names.find(std::string_view(key));
    if (name == names.end() || says_nothing(value)) continue;
    if (value.is_object() && name->second != "meta")
      out[name->second] = renamed(value.get_object(), names);
    else
      out[name->second] = value;
  }
  return out;
}

/// Source: Nomad's documentation, "namespace specification" and "node pool specification".
std::string namespace_text(const object& body) {
  return hcl_members(renamed(body, {{"Name", "name"},
                                    {"Description", "description"},
                                    {"Quota", "quota"},
                                    {"Meta", "meta"},
                                    {"Capabilities", "capabilities"},
                                    {"EnabledTaskDrivers", "enabled_task_drivers"},
                                    {"DisabledTaskDrivers", "disabled_task_drivers"},
                                    {"EnabledNetworkModes", "enabled_network_modes"},
                                    {"DisabledNetworkModes", "disabled_network_modes"}}));
}

std::string node_pool_text(object body, const std::string& name) {
  if (auto* ttl = body.if_contains("NodeIdentityTTL"); ttl != nullptr && ttl->is_int64() && ttl->get_int64() != 0)
    *ttl = format_duration(Duration{ttl->get_int64()});
  const auto members = renamed(body, {{"Description", "description"},
                                      {"Meta", "meta"},
                                      {"NodeIdentityTTL", "node_identity_ttl"},
                                      {"SchedulerConfiguration", "scheduler_config"},
                                      {"SchedulerAlgorithm", "scheduler_algorithm"},
                                      {"MemoryOversubscriptionEnabled", "memory_oversubscription_enabled"}});
  return fmt::format("node_pool {} {{\n{}}}\n", hcl_string(name), hcl_members(members, 2));
}

constexpr const char* kNodeLimit = "NodeLimitForFeasibilityChecks";

class FileMaker {
 public:
  FileMaker(const Inventory& inventory, const FilesOptions& options) : inventory_(inventory), options_(options) {}

  Files run() {
    for (const auto& from : inventory_.objects) {
      if (from.kind != Kind::job) add(from);
    }
    const auto jobs = detail::add_job_files(out_, inventory_, options_);
    if (options_.for_nomad)
      out_.files.push_back({"restore.sh", detail::restore_script(inventory_, jobs, options_), false, true});
    out_.files.push_back({"README.md", read_me(jobs)});
    return std::move(out_);
  }

 private:
  void add(const Object& from) {
    const KindFacts& kind = facts(from.kind);
    const std::string path = detail::path_of(from);
    const object body = options_.for_nomad && kind.structure != nullptr ? documented(kind, from.body) : from.body;
    if (options_.for_nomad) {
      for (const auto& name : ours(kind, from.body))
        out_.inexpressible.push_back({label(from), path, 0, name, "Nomad does not know it; it is left out"});
      if (const auto* limit = body.if_contains(kNodeLimit); limit != nullptr && !says_nothing(*limit))
        out_.inexpressible.push_back({label(from), path, 0, kNodeLimit, "no flag of Nomad's sets it; it is left out"});
    }
    switch (from.kind) {
      case Kind::node_pool:
        return put(path, node_pool_text(body, from.name));
      case Kind::name_space:
        return put(path, namespace_text(body));
      case Kind::policy:
        return put(path, ended(json::text_at(body, "Rules")));
      case Kind::auth_method:
        return add_auth_method(from, path, body);
      case Kind::token:
        return add_token(from, path, body);
      case Kind::variable:
        return add_variable(from, path);
      default:
        return put(path, json::pretty(body) + "\n");
    }
  }

  void add_token(const Object& from, const std::string& path, object body) {
    if (!options_.with_secrets) return left_out_.push_back(label(from));
    body["SecretID"] = json::text_at(from.body, "SecretID");
    out_.files.push_back({path, json::pretty(body) + "\n", true});
  }

  void add_variable(const Object& from, const std::string& path) {
    if (!options_.with_secrets) {
      left_out_.push_back(printable(fmt::format("variable '{}' ({})", from.name, from.ns)));
      return;
    }
    object body{{"Namespace", from.ns}, {"Path", from.name}};
    if (const auto* items = from.body.if_contains("Items")) body["Items"] = *items;
    out_.files.push_back({path, json::pretty(body) + "\n", true});
  }

  /// What `-config` takes.
  void add_auth_method(const Object& from, const std::string& path, const object& body) {
    object config;
    if (const auto* found = body.if_contains("Config"); found != nullptr && found->is_object())
      config = found->get_object();
    const std::string secret = json::text_at(config, "OIDCClientSecret");
    const bool told = !secret.empty() && secret != "redacted";
    if (!told || !options_.with_secrets) config.erase("OIDCClientSecret");
    if (json::text_at(body, "Type") == "OIDC" && !config.contains("OIDCClientSecret"))
      left_out_.push_back(printable(fmt::format("client secret of auth method '{}'", from.name)));
    out_.files.push_back({path, json::pretty(config) + "\n", config.contains("OIDCClientSecret")});
  }

  void put(const std::string& path, std::string text) { out_.files.push_back({path, std::move(text)}); }
  static std::string ended(std::string text) {
    if (!text.empty() && text.back() != '\n') text += '\n';
    return text;
  }

  std::string read_me(const std::vector<detail::JobFile>& jobs) const {
    std::string out = "# What was exported\n\n";
    out += options_.for_nomad
               ? "`./restore.sh` makes on a Nomad everything but jobs, `./restore.sh jobs` the jobs that ran, and\n"
                 "`./restore.sh job ID` one. Stop a service where it runs before you start it elsewhere.\n"
               : "Job files, namespaces, policies and the rest of a Nomad, as files. `NAME.source.hcl` beside a job is "
                 "the\n"
                 "file as its author wrote it. `underway migrate from-nomad -apply` needs none of these files.\n";
    out += section("What cannot be said", inexpressible_lines());
    out += section("What has to be made anew", gap_lines());
    std::vector<std::string> stopped;
    for (const auto& job : jobs) {
      if (job.stopped) stopped.push_back(printable(fmt::format("- job '{}' ({})", job.id, job.ns)));
    }
    out += section("Jobs that are stopped", stopped);
    if (options_.for_nomad)
      out +=
          section("What means something else there",
                  {"- A node that is not heard of: Nomad replaces its allocations at once; a group without a\n"
                   "  `disconnect` block ran on here.",
                   "- Order: Nomad knows none between jobs. Jobs with `depends_on` are started one after the other by\n"
                   "  `restore.sh jobs`, and after that nothing holds them back."});
    return out;
  }

  static std::string section(std::string_view title, const std::vector<std::string>& lines) {
    if (lines.empty()) return {};
    return fmt::format("\n## {}\n\n{}\n", title, join(lines, "\n"));
  }

  std::vector<std::string> inexpressible_lines() const {
    std::vector<std::string> lines;
    for (const auto& field : out_.inexpressible) {
      std::string place = field.file;
      if (field.line > 0) place += fmt::format(":{}", field.line);
      lines.push_back(fmt::format("- {}: {}, {}: {}", place, field.object, field.what, field.why));
    }
    return lines;
  }

  std::vector<std::string> gap_lines() const {
    std::vector<std::string> lines;
    for (const auto& name : left_out_) lines.push_back(fmt::format("- {}: a secret; `-with-secrets` writes it", name));
    for (const auto* gaps : {&inventory_.gaps, &options_.gaps}) {
      for (const auto& gap : *gaps)
        lines.push_back(fmt::format("- {}: {}{}", gap.what, gap.why, gap.advice.empty() ? "" : "; " + gap.advice));
    }
    return lines;
  }

  const Inventory& inventory_;
  const FilesOptions& options_;
  Files out_;
  std::vector<std::string> left_out_;
};

}  // namespace

Files make_files(const Inventory& inventory, const FilesOptions& options) {
  return FileMaker(inventory, options).run();
}

void write_files(const Files& files, const std::string& directory) {
  if (os::exists(directory) && !os::list_directory(directory).empty()) {
    throw Error(Code::conflict, fmt::format("'{}' is not empty", directory))
        .advise("name a directory that does not exist yet");
  }
  os::make_directories(directory, 0700);
  std::set<std::string> made;
  for (const auto& file : files.files) {
    const std::string path = directory + "/" + file.path;
    const std::string parent = path.substr(0, path.rfind('/'));
    if (made.insert(parent).second) os::make_directories(parent, file.secret ? 0700 : 0755);
    const mode_t mode = file.secret ? 0600 : file.executable ? 0755 : 0644;
    os::write_file(path, file.text, mode, {}, os::Durability::cached);
  }
}

}  // namespace underway::migrate
