#include "inspection/detail/configured_needs.hpp"

#include "base/text.hpp"

namespace underway::inspection::detail {
namespace {

constexpr std::size_t kMostConfiguration = 8U << 20;

struct Library {
  std::string_view prefix;
  std::string_view program;
};
/// A program that has one of these loaded speaks to the daemon, mostly for moments that no look at the machine sees.
constexpr Library kLibraries[] = {
    {"libmunge.so", "munged"},       {"libmariadb.so", "mariadbd"}, {"libmysqlclient.so", "mariadbd"},
    {"libmysqlclient.so", "mysqld"}, {"libmariadb.so", "mysqld"},   {"libpq.so", "postgres"},
};

/// The file that a daemon of Slurm was told to read with -f, or else the usual one.
std::optional<std::string> slurm_file(const RootView& root, const Program& program, const std::string& name,
                                      std::vector<std::string>& gaps) {
  for (std::size_t i = 1; i + 1 < program.command.size(); ++i)
    if (program.command[i] == "-f" && program.command[i + 1].ends_with(name))
      return root.find_text(program.command[i + 1], kMostConfiguration, gaps);
  for (const char* directory : {"/etc/slurm/", "/etc/slurm-llnl/"})
    if (auto text = root.find_text(directory + name, kMostConfiguration, gaps)) return text;
  return std::nullopt;
}

bool is_this_host(const std::string& name, const std::string& host) {
  return name.empty() || name == "localhost" || name == "127.0.0.1" || name == "::1" || name == host ||
         name == host.substr(0, host.find('.')) || host == name.substr(0, name.find('.'));
}

}  // namespace

std::string slurm_setting(std::string_view text, std::string_view key) {
  const std::string wanted = lower(key);
  std::string out;
  for (const auto& raw : split(text, '\n')) {
    const auto line = trim(std::string_view(raw).substr(0, raw.find('#')));
    const auto equals = line.find('=');
    if (equals == std::string_view::npos || lower(trim(line.substr(0, equals))) != wanted) continue;
    const auto value = trim(line.substr(equals + 1));
    out = std::string(value.substr(0, value.find_first_of(" \t")));
  }
  return out;
}

std::vector<Need> needs_of_libraries(const std::set<std::string>& libraries) {
  std::vector<Need> out;
  for (const auto& library : libraries)
    for (const auto& known : kLibraries)
      if (library.starts_with(known.prefix)) out.push_back({std::string(known.program), "library", library});
  return out;
}

std::vector<Need> needs_of_configuration(const RootView& root, const Program& program, const std::string& host,
                                         std::vector<std::string>& gaps) {
  std::vector<Need> out;
  if (program.name == "slurmctld" || program.name == "slurmd" || program.name == "slurmrestd") {
    const auto text = slurm_file(root, program, "slurm.conf", gaps);
    if (!text) return out;
    const std::string authentication = slurm_setting(*text, "AuthType");
    if (authentication.empty() || authentication == "auth/munge")
      out.push_back({"munged", "configuration", "AuthType=auth/munge in slurm.conf"});
    if (program.name == "slurmctld" && slurm_setting(*text, "AccountingStorageType") == "accounting_storage/slurmdbd" &&
        is_this_host(slurm_setting(*text, "AccountingStorageHost"), host))
      out.push_back({"slurmdbd", "configuration", "AccountingStorageType=accounting_storage/slurmdbd in slurm.conf"});
  }
  if (program.name == "slurmdbd") {
    const auto text = slurm_file(root, program, "slurmdbd.conf", gaps);
    if (!text) return out;
    const std::string authentication = slurm_setting(*text, "AuthType");
    if (authentication.empty() || authentication == "auth/munge")
      out.push_back({"munged", "configuration", "AuthType=auth/munge in slurmdbd.conf"});
    if (is_this_host(slurm_setting(*text, "StorageHost"), host)) {
      out.push_back({"mariadbd", "configuration", "StorageType=accounting_storage/mysql in slurmdbd.conf"});
      out.push_back({"mysqld", "configuration", "StorageType=accounting_storage/mysql in slurmdbd.conf"});
    }
  }
  return out;
}

std::vector<std::string> state_directories_of(const RootView& root, const Program& program,
                                              std::vector<std::string>& gaps) {
  struct Usual {
    std::string_view program;
    const char* directory;
  };
  static constexpr Usual kUsual[] = {
      {"mariadbd", "/var/lib/mysql"},   {"mysqld", "/var/lib/mysql"},     {"chronyd", "/var/lib/chrony"},
      {"ntpd", "/var/lib/ntp"},         {"munged", "/var/lib/munge"},     {"rsyslogd", "/var/log"},
      {"master", "/var/spool/postfix"}, {"ganesha.nfsd", "/var/lib/nfs"}, {"rpc.mountd", "/var/lib/nfs"},
      {"dhcpd", "/var/lib/dhcp"},       {"slapd", "/var/lib/ldap"},       {"postgres", "/var/lib/postgresql"},
      {"gmetad", "/var/lib/ganglia"},
  };
  std::set<std::string> out;
  if (program.name == "slurmctld") {
    if (const auto text = slurm_file(root, program, "slurm.conf", gaps))
      if (auto directory = slurm_setting(*text, "StateSaveLocation"); directory.starts_with('/'))
        out.insert(std::move(directory));
  }
  for (const auto& usual : kUsual)
    if (program.name == usual.program && root.is_directory(usual.directory)) out.insert(usual.directory);
  for (const auto& file : program.open_files)
    for (const char* above : {"/var/lib/", "/var/spool/", "/srv/"})
      if (file.starts_with(above)) out.insert(file.substr(0, file.rfind('/')));
  return {out.begin(), out.end()};
}

}  // namespace underway::inspection::detail
