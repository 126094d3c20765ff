#include "adoption/plan/slurm_draft.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "adoption/plan/plan_text.hpp"
#include "base/text.hpp"

namespace underway::adoption {
namespace {

constexpr const char* kMayStart = "may-start";

/// Which directories every capsule has.
bool is_always_there(const std::string& directory) {
  static constexpr std::string_view kThere[] = {"/var/log", "/run", "/var/run", "/tmp", "/etc", "/etc/slurm"};
  return std::find(std::begin(kThere), std::end(kThere), directory) != std::end(kThere);
}

DraftService* find_program(CapsuleDraft& capsule, std::string_view name) {
  for (auto& service : capsule.programs)
    if (service.name == name) return &service;
  return nullptr;
}

/// The questions of docs/explanation/capsule.md ("Nothing acts too early"), and those of the day on which a controller
/// moves into its capsule.
constexpr std::string_view kQuestions = R"SH(
[ -s "$conf" ] ||
  no "there is no $conf yet: see underway file status"
[ -s "$state/job_state" ] ||
  no "$state has no job_state: slurmctld would begin with nothing, and have all jobs ended that nodes run"
[ ! -e "$state" ] || [ "$(stat -c %u "$state")" = "$(id -u "$user")" ] ||
  no "$state is of uid $(stat -c %u "$state"), and $user has uid $(id -u "$user"): /etc/passwd is not the server's"
[ -z "$database" ] || [ -d "/var/lib/mysql/$database" ] ||
  no "/var/lib/mysql has no $database: the accounting would begin with nothing"
[ -z "$server" ] || ! timeout 1 bash -c "exec 3<>/dev/tcp/$server/$port" 2>/dev/null ||
  no "a slurmctld still answers at $server port $port: two of them start jobs twice. Stop that one, and copy its state again"

# More than half of the nodes that it names must answer. Lists of hosts may have a comma in brackets.
hosts() {
  grep -is '^[[:space:]]*NodeName[[:space:]]*=' "$conf" | while read -r line; do
    named=$(echo "$line" | sed -n 's/^NodeName[[:space:]]*=[[:space:]]*\([^[:space:]]*\).*/\1/Ip')
    address=$(echo "$line" | sed -n 's/.*[[:space:]]NodeAddr[[:space:]]*=[[:space:]]*\([^[:space:]]*\).*/\1/Ip')
    [ "$(echo "$named" | tr A-Z a-z)" = default ] || scontrol show hostnames "${address:-$named}"
  done
}
all=$(hosts | wc -l)
reached=$(hosts | xargs -r -P 64 -n 1 sh -c 'ping -c 1 -W 1 -q "$0" >/dev/null 2>&1 && echo yes' | grep -c yes)
[ "$all" -eq 0 ] || [ $((2 * reached)) -gt "$all" ] || no "of $all nodes $reached answer: it would take the others for dead"
exit $result
)SH";

std::string may_start(const CapsuleDraft& capsule, const inspection::Site& site, const std::string& server) {
  const bool database = std::any_of(capsule.programs.begin(), capsule.programs.end(),
                                    [](const DraftService& service) { return service.name == "mariadb"; }) &&
                        !site.accounting.file.empty();
  return fmt::format(
             "#!/bin/sh\n"
             "# May the controller start? Not without the state of the one before it, not beside another one, and not\n"
             "# before it reaches its nodes: each of these ends jobs. It is asked before any service starts, and "
             "again\n"
             "# until the step's time is over. 75: not yet (sysexits.h, EX_TEMPFAIL).\n"
             "conf={}\n"
             "state={} user={} port={}\n"
             "server={}    # where the server is whose controller this was\n"
             "database={}\n"
             "result=0\n"
             "no() {{\n  echo \"$*\"\n  result=75\n}}\n",
             shell_word(site.slurm.file), shell_word(state_directory(site.slurm)), shell_word(site.slurm.user),
             site.slurm.slurmctld_port, shell_word(server), shell_word(database ? site.accounting.database : "")) +
         std::string(kQuestions);
}

}  // namespace

std::string state_directory(const inspection::SlurmSite& slurm) {
  return slurm.state_directory.empty() ? "/var/spool" : slurm.state_directory;
}

std::vector<std::string> with_directories(const std::vector<std::string>& directories, const std::string& owner,
                                          const std::vector<std::string>& program) {
  std::string list, words;
  for (const auto& directory : directories)
    if (!is_always_there(directory)) list += " " + shell_word(directory);
  if (list.empty()) return program;
  for (const auto& word : program) words += " " + shell_word(word);
  const std::string user = shell_word(owner);
  return {"/bin/sh", "-c",
          fmt::format("for d in{}; do [ -d \"$d\" ] || install -d -o {} -g \"$(id -g {})\" \"$d\"; done; exec{}", list,
                      user, user, words)};
}

void fit_to_site(CapsuleDraft& capsule, const inspection::Site& site, const std::string& server) {
  auto* controller = find_program(capsule, "slurmctld");
  if (controller == nullptr || site.slurm.file.empty()) return;
  controller->command = with_directories(site.slurm.directories, site.slurm.user, controller->command);
  controller->packages.emplace_back("iputils-ping");
  if (auto* accounting = find_program(capsule, "slurmdbd"))
    accounting->command =
        with_directories(site.accounting.directories, site.accounting.slurm_user, accounting->command);
  capsule.files.push_back({kMayStart, may_start(capsule, site, server)});
  capsule.steps.push_back({"probe",
                           {std::string("/usr/lib/capsule/") + kMayStart},
                           "60s",
                           "No controller without the state of the one before it, none beside another one, and none "
                           "that does not reach its nodes."});
  capsule.steps.push_back({"check", {"/bin/sh", "-c", "scontrol ping | grep -q UP"}, "", ""});
}

}  // namespace underway::adoption
