#include "inspection/detail/site_files.hpp"

#include <dirent.h>

#include <algorithm>

#include "base/redact.hpp"
#include "base/text.hpp"
#include "inspection/detail/ganesha_exports.hpp"

namespace underway::inspection::detail {
namespace {

constexpr std::size_t kMostFile = 4U << 20;
constexpr std::size_t kMaxEntries = 10'000;

std::vector<std::string_view> fields(std::string_view line, std::size_t most) {
  std::vector<std::string_view> out;
  while (true) {
    line = trim(line);
    if (line.empty()) break;
    if (out.size() + 1 == most) {
      out.push_back(line);
      break;
    }
    const auto end = line.find_first_of(" \t");
    out.push_back(line.substr(0, end));
    if (end == std::string_view::npos) break;
    line.remove_prefix(end);
  }
  return out;
}

/// Whether the line sets an environment variable rather than a job.
bool is_assignment(std::string_view line) {
  const auto equals = line.find('=');
  return equals != std::string_view::npos &&
         trim(line.substr(0, equals)).find_first_of(" \t") == std::string_view::npos;
}

std::string redact_line(std::string_view text) {
  std::vector<std::string> parts;
  for (const auto& word : fields(text, 256)) parts.emplace_back(word);
  return join(redact_command(std::move(parts)), " ");
}

/// Reads files and directories below a root, and notes what it could not read.
class SiteFilesReader {
 public:
  SiteFilesReader(const RootView& root, HostSurvey& survey) : root_(root), survey_(survey) {}

  void read() {
    cron();
    exports();
    forwarding();
    hints();
  }

 private:
  std::optional<std::string> text(const std::string& path) { return root_.find_text(path, kMostFile, survey_.gaps); }
  /// Paths of the plain files of a directory that end so; those that cron and the like would leave out are left out.
  std::vector<std::string> files(const std::string& path, std::string_view ending = {}) {
    std::vector<std::string> out;
    for (const auto& entry : root_.entries(path, survey_.gaps)) {
      if (entry.type != DT_REG && entry.type != DT_LNK) continue;
      if (entry.name.starts_with('.') || !entry.name.ends_with(ending)) continue;
      out.push_back(path + "/" + entry.name);
    }
    return out;
  }

  void add(std::vector<TimedJob> jobs) {
    for (auto& job : jobs)
      if (survey_.timed_jobs.size() < kMaxEntries) survey_.timed_jobs.push_back(std::move(job));
  }

  void cron() {
    if (const auto found = text("/etc/crontab")) add(parse_crontab(*found, "/etc/crontab", true));
    for (const auto& path : files("/etc/cron.d"))
      if (const auto found = text(path)) add(parse_crontab(*found, path, true));
    for (const char* spool : {"/var/spool/cron/crontabs", "/var/spool/cron"}) {
      for (const auto& path : files(spool)) {
        const auto found = text(path);
        if (!found) continue;
        auto jobs = parse_crontab(*found, path, false);
        for (auto& job : jobs) job.user = path.substr(path.rfind('/') + 1);
        add(std::move(jobs));
      }
    }
    for (const char* period : {"hourly", "daily", "weekly", "monthly"})
      for (const auto& path : files(fmt::format("/etc/cron.{}", period)))
        add({TimedJob{path, fmt::format("@{}", period), "root", path}});
  }

  void exports() {
    std::vector<std::string> paths = files("/etc/exports.d", ".exports");
    paths.insert(paths.begin(), "/etc/exports");
    for (const auto& path : paths)
      if (const auto found = text(path))
        for (auto& each : parse_exports(*found, path)) add(std::move(each));
    ganesha();
  }
  void add(Export exported) {
    if (survey_.exports.size() < kMaxEntries) survey_.exports.push_back(std::move(exported));
  }

  /// With what its configuration includes; each file once, so that two that include each other end.
  void ganesha() {
    constexpr std::size_t kMaxFiles = 256;
    std::vector<std::string> paths = {"/etc/ganesha/ganesha.conf"};
    for (std::size_t n = 0; n < paths.size() && n < kMaxFiles; ++n) {
      const auto found = text(paths[n]);
      if (!found) continue;
      auto read = parse_ganesha(*found, paths[n]);
      for (auto& each : read.exports) add(std::move(each));
      for (auto& path : read.includes) {
        if (!path.starts_with('/')) path = "/etc/ganesha/" + path;
        if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(std::move(path));
      }
    }
  }

  void forwarding() {
    std::vector<std::string> paths = files("/etc/sysctl.d", ".conf");
    paths.emplace_back("/etc/sysctl.conf");
    for (const auto& path : paths)
      if (const auto found = text(path); found && enables_forwarding(*found)) survey_.forwards = true;
    paths = files("/etc/nftables", ".nft");
    for (const char* path : {"/etc/nftables.conf", "/etc/iptables/rules.v4", "/etc/sysconfig/iptables"})
      paths.emplace_back(path);
    for (const auto& path : paths)
      if (const auto found = text(path))
        for (auto& rule : nat_lines(*found)) survey_.nat_rules.push_back(fmt::format("{}: {}", path, rule));
  }

  void hints() {
    static constexpr std::pair<const char*, const char*> kFiles[] = {
        {"warewulf", "/etc/warewulf/nodes.conf"},
        {"warewulf", "/etc/warewulf/warewulf.conf"},
        {"warewulf", "/etc/warewulf/provision.conf"},
        {"xcat", "/etc/xcat/xcatd.cfg"},
        {"cobbler", "/etc/cobbler/settings.yaml"},
        {"confluent", "/etc/confluent/srvcert.pem"},
        {"ganglia", "/etc/ganglia/gmond.conf"},
        {"slurm", "/etc/slurm/slurm.conf"},
        {"slurmdbd", "/etc/slurm/slurmdbd.conf"},
        {"slurm", "/etc/slurm-llnl/slurm.conf"},
        {"munge", "/etc/munge/munge.key"},
        {"ohpc", "/etc/ohpc-release"},
    };
    for (const auto& [system, path] : kFiles)
      if (root_.exists(path)) survey_.hints.push_back(fmt::format("{}: {}", system, path));
  }

  const RootView& root_;
  HostSurvey& survey_;
};

}  // namespace

std::vector<TimedJob> parse_crontab(std::string_view text, const std::string& source, bool with_user) {
  std::vector<TimedJob> out;
  std::size_t number = 0;
  for (const auto& raw : split(text, '\n')) {
    ++number;
    const auto line = trim(raw);
    if (line.empty() || line.front() == '#' || is_assignment(line)) continue;
    const std::size_t times = line.front() == '@' ? 1 : 5;
    const auto parts = fields(line, times + (with_user ? 2 : 1));
    if (parts.size() != times + (with_user ? 2 : 1)) continue;
    TimedJob job;
    job.source = fmt::format("{}:{}", source, number);
    for (std::size_t i = 0; i < times; ++i) job.when += (i == 0 ? "" : " ") + std::string(parts[i]);
    if (with_user) job.user = std::string(parts[times]);
    job.command = redact_line(parts.back());
    if (out.size() < kMaxEntries) out.push_back(std::move(job));
  }
  return out;
}

std::vector<Export> parse_exports(std::string_view text, const std::string& source) {
  std::vector<Export> out;
  std::string joined;
  for (const auto& raw : split(text, '\n')) {
    if (raw.ends_with('\\')) {
      joined.append(raw, 0, raw.size() - 1);
      joined += ' ';
      continue;
    }
    const std::string whole = std::exchange(joined, {}) + raw;
    auto line = trim(std::string_view(whole).substr(0, whole.find('#')));
    if (line.empty()) continue;
    Export exported;
    exported.source = source;
    if (line.front() == '"') {
      const auto end = line.find('"', 1);
      exported.path = std::string(line.substr(1, end == std::string_view::npos ? end : end - 1));
      line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
    } else {
      const auto end = line.find_first_of(" \t");
      exported.path = std::string(line.substr(0, end));
      line.remove_prefix(std::min(end, line.size()));
    }
    if (exported.path.empty() || exported.path.front() != '/') continue;
    exported.clients = std::string(trim(line));
    // exports(5): read-only is the default.
    exported.read_only =
        exported.clients.find("(rw") == std::string::npos && exported.clients.find(",rw") == std::string::npos;
    if (out.size() < kMaxEntries) out.push_back(std::move(exported));
  }
  return out;
}

std::vector<std::string> nat_lines(std::string_view text) {
  std::vector<std::string> out;
  for (const auto& raw : split(text, '\n')) {
    const auto line = trim(raw);
    if (line.empty() || line.front() == '#') continue;
    const std::string words = " " + lower(line) + " ";
    const bool translates = words.find(" masquerade") != std::string::npos ||
                            words.find(" snat ") != std::string::npos || words.find(" dnat ") != std::string::npos;
    if (translates && out.size() < 1000) out.emplace_back(line);
  }
  return out;
}

bool enables_forwarding(std::string_view text) {
  bool on = false;
  for (const auto& raw : split(text, '\n')) {
    auto line = trim(raw);
    if (line.starts_with('-')) line = trim(line.substr(1));
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    std::string key(trim(line.substr(0, equals)));
    std::replace(key.begin(), key.end(), '/', '.');
    if (key == "net.ipv4.ip_forward" || key == "net.ipv4.conf.all.forwarding")
      on = trim(line.substr(equals + 1)) == "1";
  }
  return on;
}

void read_site_files(const RootView& root, HostSurvey& survey) { SiteFilesReader(root, survey).read(); }

}  // namespace underway::inspection::detail
