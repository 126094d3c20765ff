#include "inspection/survey_host.hpp"

#include <unistd.h>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/redact.hpp"
#include "base/text.hpp"
#include "inspection/detail/configured_needs.hpp"
#include "inspection/detail/packages.hpp"
#include "inspection/detail/proc_text.hpp"
#include "inspection/detail/processes.hpp"
#include "inspection/detail/site_files.hpp"
#include "inspection/detail/socket_table.hpp"
#include "inspection/detail/unit_files.hpp"
#include "net/netlink.hpp"
#include "net/nftables.hpp"

namespace underway::inspection {
namespace {

using namespace detail;

constexpr std::size_t kMaxText = 64U << 20;

/// NAT rules of the kernel: the statements of the JSON of nftables that translate addresses, one text a rule.
void add_nat_rules(const boost::json::value& value, std::vector<std::string>& out) {
  const auto* object = value.if_object();
  const auto* list = object == nullptr ? nullptr : object->if_contains("nftables");
  if (list == nullptr || !list->is_array()) return;
  for (const auto& entry : list->get_array()) {
    const auto* rule = entry.is_object() ? entry.get_object().if_contains("rule") : nullptr;
    if (rule == nullptr) continue;
    const std::string text = boost::json::serialize(*rule);
    if (text.find("\"masquerade\"") != std::string::npos || text.find("\"snat\"") != std::string::npos ||
        text.find("\"dnat\"") != std::string::npos)
      out.push_back("kernel: " + text);
  }
}

class HostSurveyor {
 public:
  HostSurveyor(const HostPlace& place, TimePoint now)
      : place_(place),
        process_(place.process == 0 ? ::getpid() : place.process),
        root_(place.root.value_or(place.process == 0 ? "/" : fmt::format("/proc/{}/root", place.process))) {
    survey_.taken_at = unix_nanos(now);
  }

  HostSurvey run() {
    units_ = read_units(root_, survey_.gaps);
    for (const auto& [name, unit] : units_)
      if (const auto path = started_by(unit); !path.empty() && name.find('@') == std::string::npos)
        started_[name] = root_.real_path(path);
    read_identity();
    if (!place_.root) read_running();
    add_enabled_units();
    add_packages();
    for (auto& program : survey_.programs) add_configured(program);
    add_needs_of_units();
    settle_needs();
    read_site_files(root_, survey_);
    add_timers();
    std::sort(survey_.programs.begin(), survey_.programs.end(),
              [](const Program& a, const Program& b) { return std::tie(a.name, a.unit) < std::tie(b.name, b.unit); });
    return std::move(survey_);
  }

 private:
  void read_identity() {
    if (const auto text = root_.find_text("/etc/hostname", kMaxText, survey_.gaps))
      survey_.host = std::string(trim(*text));
    if (!place_.root && place_.process == 0) {
      std::array<char, 256> name{};
      if (::gethostname(name.data(), name.size() - 1) == 0) survey_.host = name.data();
    }
    const auto release = root_.find_text("/etc/os-release", kMaxText, survey_.gaps);
    for (const auto& line : split(release.value_or(""), '\n')) {
      if (!line.starts_with("PRETTY_NAME=")) continue;
      survey_.system = line.substr(12);
      std::erase(survey_.system, '"');
    }
    if (const auto passwd = root_.find_text("/etc/passwd", kMaxText, survey_.gaps)) users_ = users_of(*passwd);
  }

  void read_running() {
    const auto network = net::Namespace::of_process(process_, fmt::format("network of process {}", process_));
    processes_ = processes_beside(process_, survey_.gaps);
    SocketTable table(network, process_);
    for (int i = 0; i < std::max(place_.samples, 1); ++i) table.look(survey_.gaps);
    group(table);
    read_network(network);
  }

  std::string user_name(std::int64_t uid) const {
    const auto found = users_.find(uid);
    return found == users_.end() ? std::to_string(uid) : found->second;
  }

  /// The unit whose ExecStart is this executable, for machines where cgroups do not tell.
  std::string unit_of(const std::string& executable) const {
    std::string out;
    for (const auto& [name, path] : started_) {
      if (path == executable && (out.empty() || units_.at(name).enabled)) out = name;
    }
    return out;
  }

  /// Programs from processes: by unit, or else by executable and user. Those that neither belong to a unit nor have
  /// anything to do with a socket are somebody's shell.
  void group(const SocketTable& table) {
    std::map<std::pair<std::string, std::string>, std::size_t> places;
    std::map<std::int64_t, std::size_t> owner;  // inode → program
    for (const auto& process : processes_) {
      const auto listeners = table.listeners(process.sockets);
      const bool counts = !process.unit.empty() || !listeners.empty() || table.connected(process.sockets);
      if (!counts) continue;
      const std::string unit = process.unit.empty() ? unit_of(process.executable) : process.unit;
      const std::pair key{process.executable, unit.empty() ? std::to_string(process.uid) : unit};
      const auto [it, is_new] = places.try_emplace(key, survey_.programs.size());
      if (is_new) survey_.programs.push_back(new_program(process, unit));
      add_process(survey_.programs[it->second], process, listeners);
      for (const auto inode : process.sockets) owner.try_emplace(inode, it->second);
    }
    for (const auto& connection : table.connections()) {
      const auto from = owner.find(connection.client);
      const auto to = owner.find(connection.server);
      if (from == owner.end() || to == owner.end() || from->second == to->second) continue;
      add_need(survey_.programs[from->second], {survey_.programs[to->second].name, "connection", connection.through});
    }
  }

  Program new_program(const Process& process, const std::string& unit) const {
    Program program;
    program.name = process.name;
    program.executable = process.executable;
    program.unit = unit;
    program.user = user_name(process.uid);
    program.command = process.command;
    if (const auto found = units_.find(unit); found != units_.end())
      program.state_directories = found->second.state_directories;
    return program;
  }

  static void add_process(Program& program, const Process& process, const std::vector<Listener>& listeners) {
    program.pids.push_back(process.pid);
    for (const auto& listener : listeners) {
      const bool known = std::any_of(program.listens.begin(), program.listens.end(), [&](const Listener& other) {
        return other.protocol == listener.protocol && other.address == listener.address && other.port == listener.port;
      });
      if (!known) program.listens.push_back(listener);
    }
    for (const auto& file : process.written_files)
      if (std::find(program.open_files.begin(), program.open_files.end(), file) == program.open_files.end())
        program.open_files.push_back(file);
    for (auto& need : needs_of_libraries(process.libraries)) add_need(program, std::move(need));
  }

  static void add_need(Program& program, Need need) {
    const bool known = std::any_of(program.needs.begin(), program.needs.end(), [&](const Need& other) {
      return other.program == need.program && other.how == need.how && other.detail == need.detail;
    });
    if (!known && need.program != program.name) program.needs.push_back(std::move(need));
  }

  void read_network(const net::Namespace& network) {
    try {
      const net::Netlink netlink(network);
      for (const auto& link : netlink.links()) {
        Interface interface{link.name, link.mac, {}};
        for (const auto& address : netlink.addresses(link.name)) interface.addresses.push_back(to_string(address));
        survey_.interfaces.push_back(std::move(interface));
      }
      // The sysctls of the network are those of whoever looks: the file is read inside of the namespace.
      network.run([&] {
        const auto text = os::find_file("/proc/sys/net/ipv4/ip_forward", 64);
        survey_.forwards = text && trim(*text) == "1";
      });
      add_nat_rules(json::parse(net::run_nftables(network, R"({"nftables":[{"list":{"ruleset":null}}]})")),
                    survey_.nat_rules);
    } catch (const Error& e) {
      survey_.gaps.push_back(e.one_line());
    }
  }

  /// What would run if the machine were started, and does not run now.
  void add_enabled_units() {
    for (const auto& [name, unit] : units_) {
      if (!unit.enabled || unit.command.empty() || !name.ends_with(".service")) continue;
      const bool runs = std::any_of(survey_.programs.begin(), survey_.programs.end(),
                                    [&](const Program& program) { return program.unit == name; });
      if (runs) continue;
      Program program;
      program.executable = started_by(unit);
      program.name = program.executable.empty() ? name.substr(0, name.rfind('.'))
                                                : program.executable.substr(program.executable.rfind('/') + 1);
      program.unit = name;
      program.user = unit.user.empty() ? "root" : unit.user;
      program.command = redact_command(unit.command);
      program.state_directories = unit.state_directories;
      survey_.programs.push_back(std::move(program));
    }
  }

  void add_packages() {
    std::set<std::string> files;
    for (const auto& program : survey_.programs)
      if (!program.executable.empty()) files.insert(root_.real_path(program.executable));
    const auto packages = packages_of(root_, files, survey_.gaps);
    for (auto& program : survey_.programs) {
      const auto found = packages.find(root_.real_path(program.executable));
      if (found == packages.end()) continue;
      program.package = found->second.name;
      program.version = found->second.version;
      program.configuration = found->second.configuration;
    }
  }

  void add_configured(Program& program) {
    for (auto& need : needs_of_configuration(root_, program, survey_.host, survey_.gaps))
      add_need(program, std::move(need));
    for (auto& directory : state_directories_of(root_, program, survey_.gaps))
      if (std::find(program.state_directories.begin(), program.state_directories.end(), directory) ==
          program.state_directories.end())
        program.state_directories.push_back(std::move(directory));
  }

  void add_needs_of_units() {
    for (auto& program : survey_.programs) {
      const auto unit = units_.find(program.unit);
      if (unit == units_.end()) continue;
      for (const auto& statement : unit->second.needs) {
        const std::string other = statement.substr(statement.find('=') + 1);
        for (const auto& candidate : survey_.programs)
          if (candidate.unit == other) add_need(program, {candidate.name, "unit", statement});
      }
    }
  }

  /// Needs of what is not on this machine are none.
  void settle_needs() {
    for (auto& program : survey_.programs)
      std::erase_if(program.needs, [&](const Need& need) {
        return std::none_of(survey_.programs.begin(), survey_.programs.end(),
                            [&](const Program& other) { return other.name == need.program; });
      });
  }

  void add_timers() {
    for (const auto& [name, unit] : units_) {
      if (!unit.enabled || !name.ends_with(".timer")) continue;
      const auto service = units_.find(name.substr(0, name.size() - 6) + ".service");
      TimedJob job;
      job.source = name;
      job.when = join(unit.when, " ");
      job.user = "root";
      if (service != units_.end()) {
        job.command = join(redact_command(service->second.command), " ");
        if (!service->second.user.empty()) job.user = service->second.user;
      }
      survey_.timed_jobs.push_back(std::move(job));
    }
  }

  const HostPlace& place_;
  pid_t process_;
  RootView root_;
  HostSurvey survey_;
  std::map<std::string, Unit> units_;
  std::map<std::string, std::string> started_;  ///< unit → executable behind all links
  std::map<std::int64_t, std::string> users_;
  std::vector<Process> processes_;
};

}  // namespace

HostSurvey survey_host(const HostPlace& place, TimePoint now) { return HostSurveyor(place, now).run(); }

}  // namespace underway::inspection
