#include "cli/file/text.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

std::vector<std::string> listed(const Arguments& arguments, std::string_view flag) {
  std::vector<std::string> out;
  for (const auto& value : arguments.all(flag)) {
    for (const auto& item : split(value, ',')) {
      if (!trim(item).empty()) out.emplace_back(trim(item));
    }
  }
  return out;
}

template <class E>
E parse_word(std::string_view flag, const std::string& word) {
  const auto& words = description(describe::Tag<E>{});
  if (const auto value = words.parse(word)) return static_cast<E>(*value);
  throw Error(Code::invalid, fmt::format("-{} '{}' is none of {}", flag, word, join(words.names(), ", ")));
}

/// A command as it is typed: words, with no quoting; more is for the shell.
model::FileHook hook_of(const std::string& text) {
  model::FileHook hook;
  if (text.find_first_of("\"'|&;<>$`*\\") != std::string::npos) {
    hook.command = {"/bin/sh", "-c", text};
    return hook;
  }
  for (const auto& word : split(text, ' ')) {
    if (!word.empty()) hook.command.push_back(word);
  }
  return hook;
}

/// "JOB[.TASK][:SIGNAL]".
model::FileReload reload_of(const std::string& text) {
  model::FileReload reload;
  const auto colon = text.find(':');
  if (colon != std::string::npos) reload.signal = text.substr(colon + 1);
  const std::string who = text.substr(0, colon);
  const auto dot = who.find('.');
  reload.job = who.substr(0, dot);
  if (dot != std::string::npos) reload.task = who.substr(dot + 1);
  return reload;
}

std::string reload_text(const model::FileReload& reload) {
  return fmt::format("{} to job {}{}", reload.signal, reload.job, reload.task.empty() ? "" : ", task " + reload.task);
}

}  // namespace

std::string file_cluster(sdk::Client& client, const Arguments& arguments) {
  if (const auto given = arguments.find("cluster")) return *given;
  const auto clusters = client.clusters();
  if (clusters.empty()) return {};
  if (clusters.size() == 1) return clusters.front().name;
  std::vector<std::string> names;
  for (const auto& cluster : clusters) names.push_back(cluster.name);
  throw Error(Code::conflict, "there are several clusters").because(join(names, ", ")).advise("say -cluster NAME");
}

model::FileDeclaration find_file(sdk::Client& client, const Arguments& arguments, const std::string& name_or_path) {
  const std::string cluster = file_cluster(client, arguments);
  std::vector<model::FileDeclaration> found;
  for (auto& file : client.declared_files(cluster)) {
    if (file.cluster != cluster) continue;
    if (file.name == name_or_path) return file;
    if (file.where() == name_or_path) found.push_back(std::move(file));
  }
  if (found.size() == 1) return found.front();
  if (found.empty())
    throw Error(Code::not_found, fmt::format("file '{}' not found", name_or_path)).advise("see `underway file list`");
  std::vector<std::string> names;
  for (const auto& file : found) names.push_back(file.name);
  throw Error(Code::conflict, fmt::format("several files are put at '{}'", name_or_path)).because(join(names, ", "));
}

std::vector<Flag> declaration_flags() {
  return {{"path", "PATH", "Where it is put, when the name does not say it."},
          {"owner", "USER", "User that owns it: a name, or a number."},
          {"group", "GROUP", "Group that owns it."},
          {"mode", "MODE", "Octal: 0644, 0755 for a directory, 0600 for a secret."},
          {"xattr", "NAME=VALUE", "An extended attribute.", true},
          {"type", "TYPE", "file, symlink, directory, absent or part."},
          {"link", "TARGET", "What a symbolic link says."},
          {"template", "", "It is a Go template with Warewulf's variables."},
          {"secret", "", "It is sealed, sent to its targets only, and never shown."},
          {"pool", "NAMES", "Nodes of these pools get it.", true},
          {"node", "NAMES", "These nodes get it; * stands for any run of characters.", true},
          {"class", "NAMES", "Nodes of these classes get it.", true},
          {"capsule", "NAMES", "These capsules get it.", true},
          {"before", "COMMAND", "Runs first; when it fails the file stays as it is."},
          {"after", "COMMAND", "Runs once after it was replaced."},
          {"reload", "JOB[.TASK][:SIGNAL]", "A task that is told, by SIGHUP.", true},
          {"drift", "POLICY", "What becomes of a local edit: correct or report."},
          {"when-removed", "POLICY", "Where it is not declared any more: keep or remove it."},
          {"cluster", "NAME", "The cluster, when there are several."}};
}

void apply_flags(model::FileDeclaration& file, const Arguments& arguments) {
  if (const auto path = arguments.find("path")) file.path = *path;
  if (const auto owner = arguments.find("owner")) file.owner = *owner;
  if (const auto group = arguments.find("group")) file.group = *group;
  if (const auto mode = arguments.find("mode")) file.mode = *mode;
  if (const auto link = arguments.find("link")) {
    file.link = *link;
    file.type = model::FileType::symlink;
  }
  if (const auto type = arguments.find("type")) file.type = parse_word<model::FileType>("type", *type);
  if (arguments.find("template"))
    file.templating = arguments.has("template") ? model::FileTemplate::go : model::FileTemplate::none;
  if (arguments.find("secret")) file.secret = arguments.has("secret");
  for (const auto& xattr : arguments.all("xattr")) {
    const auto equals = xattr.find('=');
    if (equals == std::string::npos) throw Error(Code::invalid, fmt::format("-xattr '{}' is no NAME=VALUE", xattr));
    file.xattrs[xattr.substr(0, equals)] = xattr.substr(equals + 1);
  }
  const std::pair<std::string_view, std::vector<std::string>*> targets[] = {{"pool", &file.targets.pools},
                                                                            {"node", &file.targets.nodes},
                                                                            {"class", &file.targets.classes},
                                                                            {"capsule", &file.targets.capsules}};
  for (const auto& [flag, list] : targets) {
    if (arguments.find(flag)) *list = listed(arguments, flag);
  }
  if (const auto before = arguments.find("before"))
    file.before = before->empty() ? std::nullopt : std::optional(hook_of(*before));
  if (const auto after = arguments.find("after"))
    file.after = after->empty() ? std::nullopt : std::optional(hook_of(*after));
  if (arguments.find("reload")) {
    file.reloads.clear();
    for (const auto& reload : arguments.all("reload")) {
      if (!reload.empty()) file.reloads.push_back(reload_of(reload));
    }
  }
  if (const auto drift = arguments.find("drift")) file.drift = parse_word<model::DriftPolicy>("drift", *drift);
  if (const auto policy = arguments.find("when-removed"))
    file.when_removed = parse_word<model::RemovedPolicy>("when-removed", *policy);
}

std::string targets_text(const model::FileTargets& targets) {
  if (targets.empty()) return "every node";
  std::vector<std::string> parts;
  const auto add = [&](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) parts.push_back(fmt::format("{} {}", what, join(names, ",")));
  };
  add("pool", targets.pools);
  add("node", targets.nodes);
  add("class", targets.classes);
  add("capsule", targets.capsules);
  return join(parts, "; ");
}

std::string declaration_text(const model::FileDeclaration& file) {
  const auto command = [](const std::optional<model::FileHook>& hook) {
    return hook ? fmt::format("`{}` (at most {})", join(hook->command, " "), format_duration(hook->timeout)) : "-";
  };
  std::vector<std::string> reloads;
  for (const auto& reload : file.reloads) reloads.push_back(reload_text(reload));
  std::vector<std::pair<std::string, std::string>> rows = {
      {"Name", file.name},
      {"Path", file.where()},
      {"Cluster", file.cluster.empty() ? "-" : file.cluster},
      {"Type", std::string(describe::spell(file.type)) +
                   (file.templating == model::FileTemplate::go ? ", a template" : "") +
                   (file.secret ? ", secret" : "")},
      {"Size", human_bytes(static_cast<std::uint64_t>(file.size))},
      {"Owner", file.owner + ":" + file.group},
      {"Mode", fmt::format("{:04o}", model::file_mode(file))},
      {"Targets", targets_text(file.targets)},
      {"Before", command(file.before)},
      {"After", command(file.after)},
      {"Reload", reloads.empty() ? "-" : join(reloads, "; ")},
      {"Local edits", file.drift == model::DriftPolicy::correct ? "are corrected" : "are reported"},
      {"When removed", file.when_removed == model::RemovedPolicy::keep ? "it stays on nodes" : "it goes from nodes"},
      {"Declared", file.from_directory ? "in the cluster's directory" : "by hand"},
      {"Source", file.source.empty() ? "-" : file.source},
      {"Changed", ago(file.modify_time)}};
  if (!file.link.empty()) rows.insert(rows.begin() + 4, {"Link", file.link});
  return key_values(rows);
}

void say_put(const model::FilesPut& put) {
  for (const auto& name : put.added) say(fmt::format("file '{}' is synchronised from now on", name));
  for (const auto& name : put.changed) say(fmt::format("file '{}' is changed", name));
  if (put.added.empty() && put.changed.empty()) say("nothing changes: it is as declared");
}

}  // namespace underway::cli
