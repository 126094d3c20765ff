#include "conformance/stanza.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <map>
#include <set>
#include <vector>

namespace underway::conformance {
namespace {

struct Stanza {
  std::string parent;
  std::string header;              ///< "port \"http\""
  std::vector<std::string> lines;  ///< what it needs besides
};

const std::map<std::string, Stanza>& stanzas() {
  static const std::map<std::string, Stanza> kStanzas{
      {"ui", {"job", "ui", {}}},
      {"periodic", {"job", "periodic", {"cron = \"@daily\""}}},
      {"parameterized", {"job", "parameterized", {}}},
      {"group", {"job", "group \"g\"", {}}},
      {"constraint", {"group", "constraint", {"attribute = \"${attr.kernel.name}\"", "value = \"linux\""}}},
      {"affinity", {"group", "affinity", {"attribute = \"${attr.kernel.name}\"", "value = \"linux\""}}},
      {"spread", {"group", "spread", {"attribute = \"${node.datacenter}\""}}},
      {"target", {"spread", "target \"r1\"", {}}},
      {"network", {"group", "network", {}}},
      {"port", {"network", "port \"http\"", {}}},
      {"service", {"group", "service", {"name = \"s\""}}},
      {"check",
       {"service",
        "check",
        {"type = \"tcp\"", "interval = \"10s\"", "timeout = \"2s\"", "path = \"/\"", "port = \"8080\"",
         "command = \"/bin/sh\"", "task = \"t\""}}},
      {"check_restart", {"check", "check_restart", {}}},
      {"update", {"group", "update", {"canary = 2"}}},
      {"migrate", {"group", "migrate", {}}},
      {"restart", {"group", "restart", {}}},
      {"reschedule", {"group", "reschedule", {"attempts = 1", "interval = \"1h\"", "unlimited = false"}}},
      {"disconnect", {"group", "disconnect", {}}},
      {"ephemeral_disk", {"group", "ephemeral_disk", {}}},
      {"scaling", {"group", "scaling", {"max = 5"}}},
      {"volume", {"group", "volume \"data\"", {"type = \"host\"", "source = \"disk\""}}},
      {"consul", {"group", "consul", {}}},
      {"task", {"group", "task \"t\"", {"driver = \"raw_exec\""}}},
      {"lifecycle", {"task", "lifecycle", {"hook = \"prestart\""}}},
      {"resources", {"task", "resources", {}}},
      {"device", {"resources", "device \"nvidia/gpu\"", {}}},
      {"numa", {"resources", "numa", {}}},
      {"artifact", {"task", "artifact", {"source = \"https://example.org/f\""}}},
      {"template", {"task", "template", {"destination = \"local/f\"", "data = \"y\""}}},
      {"change_script", {"template", "change_script", {"command = \"/bin/true\""}}},
      {"logs", {"task", "logs", {}}},
      {"identity", {"task", "identity", {}}},
      {"action", {"task", "action \"a\"", {"command = \"/bin/true\""}}},
      {"secret", {"task", "secret \"s\"", {"provider = \"nomad\"", "path = \"p\""}}},
      {"volume_mount", {"task", "volume_mount", {"volume = \"data\"", "destination = \"/data\""}}},
      {"dispatch_payload", {"task", "dispatch_payload", {"file = \"input\""}}},
      {"vault", {"task", "vault", {}}},
      {"schedule", {"task", "schedule", {}}}};
  return kStanzas;
}

/// Attributes of which one takes the other's place.
const std::map<std::string, std::string>& instead_of() {
  static const std::map<std::string, std::string> kInstead{{"template.source", "data"}, {"periodic.crons", "cron"}};
  return kInstead;
}

/// What must stand elsewhere in the job: by "stanza" or "stanza.name", and the stanza that it stands in.
std::vector<std::pair<std::string, std::string>> companions(const std::string& stanza, const std::string& name) {
  static const std::set<std::string> kBatch{"job.periodic",  "job.parameterized",     "job.type",        "periodic",
                                            "parameterized", "task.dispatch_payload", "dispatch_payload"};
  const std::string whole = stanza + "." + name;
  std::vector<std::pair<std::string, std::string>> out;
  if (kBatch.contains(stanza) || kBatch.contains(whole)) out.emplace_back("job", "type = \"batch\"");
  if (stanza == "dispatch_payload" || whole == "task.dispatch_payload") out.emplace_back("job", "parameterized { }");
  if (stanza == "volume_mount" || whole == "task.volume_mount")
    out.emplace_back("group", "volume \"data\" {\n source = \"disk\"\n}");
  if (stanza == "numa" || whole == "resources.numa") {
    out.emplace_back("resources", "cores = 2");
    out.emplace_back("resources", "device \"nvidia/gpu\" { }");
  }
  if (stanza == "service" || stanza == "check" || stanza == "check_restart")
    out.emplace_back("group", "network {\n port \"http\" { }\n}");
  return out;
}

class Builder {
 public:
  Builder(std::string stanza, const std::string& text)
      : stanza_(std::move(stanza)), text_(several_lines(text)), beside_(companions(stanza_, name_of(text_))) {
    for (std::string at = stanza_; at != "job"; at = stanzas().at(at).parent) path_.insert(at);
    if (stanza_ == "job") path_.insert("task");  // every job has one
    path_.insert("group");
    path_.insert("task");
  }

  std::string job() { return "job \"j\" {\n" + inside("job") + "}\n"; }

 private:
  std::string inside(const std::string& stanza) {
    std::string out;
    if (stanza == "group") out += "task \"m\" {\ndriver = \"raw_exec\"\n}\n";
    if (stanza == stanza_) out += text_.empty() ? "" : text_ + "\n";
    const auto known = stanzas().find(stanza);
    if (known != stanzas().end()) {
      for (const auto& line : known->second.lines) {
        if (!replaced(stanza, name_of(line))) out += line + "\n";
      }
    }
    for (const auto& [where, line] : beside_) {
      if (where == stanza && !(stanza == stanza_ && name_of(line) == name_of(text_))) out += line + "\n";
    }
    for (const auto& [name, child] : stanzas()) {
      const bool wanted = path_.contains(name) || (name == "resources" && needs_resources());
      if (child.parent == stanza && wanted) out += child.header + " {\n" + inside(name) + "}\n";
    }
    return out;
  }

  bool needs_resources() const {
    return std::any_of(beside_.begin(), beside_.end(), [](const auto& each) { return each.first == "resources"; });
  }

  bool replaced(const std::string& stanza, const std::string& name) const {
    if (stanza != stanza_ || text_.empty()) return false;
    const auto it = instead_of().find(stanza + "." + name_of(text_));
    if (it != instead_of().end() && it->second == name) return true;
    const auto lines = split(text_, '\n');
    return std::any_of(lines.begin(), lines.end(),
                       [&](const std::string& line) { return name_of(std::string(trim(line))) == name; });
  }

  /// The tables write a block on one line, with ";" between its attributes; HCL wants lines. An object stays as it is.
  static std::string several_lines(const std::string& text) {
    std::string out;
    std::vector<bool> blocks;
    bool quoted = false;
    for (const char c : text) {
      if (c == '"') quoted = !quoted;
      if (quoted) {
        out += c;
        continue;
      }
      if (c == '{') blocks.push_back(!out.ends_with("= "));
      if (c == '{' && blocks.back()) {
        out += "{\n";
      } else if (c == '}' && blocks.back()) {
        out += "\n}\n";
      } else {
        out += c == ';' ? '\n' : c;
      }
      if (c == '}') blocks.pop_back();
    }
    return out;
  }

  std::string stanza_, text_;
  std::vector<std::pair<std::string, std::string>> beside_;
  std::set<std::string> path_;
};

}  // namespace

std::string name_of(const std::string& text) { return text.substr(0, text.find_first_of(" =")); }

std::string job_with(const std::string& stanza, const std::string& text) {
  if (stanza != "job" && !stanzas().contains(stanza)) throw Error(Code::invalid, "there is no stanza " + stanza);
  return Builder(stanza, text).job();
}

}  // namespace underway::conformance
