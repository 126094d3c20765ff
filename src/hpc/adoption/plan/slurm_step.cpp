// The last step: Slurm's controller moves into its capsule, which takes over the server's name and address.
#include <set>

#include "adoption/plan/adoption_steps.hpp"
#include "adoption/plan/carry_state.hpp"
#include "adoption/plan/slurm_draft.hpp"
#include "base/text.hpp"

namespace underway::adoption {
namespace {

/// Longer than a move with all its mishaps takes, and short enough that a node that is dead is found before the night.
constexpr std::int64_t kRaised = 3600;
constexpr const char* kRunning = "/root/before-decoupling/running";

class SlurmStep {
 public:
  SlurmStep(const AdoptionFacts& facts, const CapsuleDraft& capsule)
      : facts_(facts),
        capsule_(capsule),
        server_(shell_word(facts.place.hostname)),
        on_server_("# on " + server_),
        job_(shell_word(capsule.name)),
        inside_("underway alloc exec -job " + job_),
        conf_(shell_word(facts.site.slurm.file.empty() ? "/etc/slurm/slurm.conf" : facts.site.slurm.file)) {
    const auto& network = facts.place.networks.front();
    interface_ = network.interface.empty() ? "IFACE" : shell_word(network.interface);
    old_ = network.address;
    new_ = facts.new_server_address;
    const auto timeout = facts.site.slurm.slurmd_timeout;
    raises_ = timeout > 0 && timeout < kRaised;
  }

  Step write() {
    Step out;
    out.title = "Move Slurm, last and in one go";
    out.why = fmt::format(
        "Running jobs know the controller by name and address, so the capsule takes over both: {} gives up {} and has "
        "{} "
        "from then on. Jobs run on meanwhile: a controller that is stopped kills nothing, one that cannot reach its "
        "nodes does. So SlurmdTimeout is raised first.",
        markdown_text(facts_.place.hostname), markdown_code(old_), markdown_code(new_));
    notes(out.notes);
    raise(out.commands);
    stop(out.commands);
    add(out.commands, carry_over(capsule_, server_));
    give_up(out.commands);
    start(out.commands);
    lower(out.commands, "until underway file status; do sleep 1; done; " + inside_ + " scontrol reconfigure");
    out.done_when =
        "`sinfo` shows the nodes as before, every job that ran runs or has ended by itself, and a new job runs.";
    back(out.back);
    return out;
  }

 private:
  static void add(std::vector<std::string>& lines, std::vector<std::string> more) {
    for (auto& line : more) lines.push_back(std::move(line));
  }

  void notes(std::vector<std::string>& notes) const {
    notes.emplace_back("Announce it: commands of Slurm wait for a minute or two; no job ends.");
    notes.push_back(fmt::format(
        "The capsule asks before it starts anything (`probe` in {0}.hcl): it does not start while somebody has the "
        "address or a slurmctld answers at {1}, nor without job_state. `underway alloc logs -stderr -job {0}` says "
        "what is "
        "missing. To try again: `underway job stop -purge {0}`, then from the line that was wrong.",
        markdown_text(capsule_.name), markdown_text(plain(new_))));
    notes.push_back(fmt::format(
        "The server's own files still have its old address, and the next boot would bring it back while the capsule "
        "has it. {} finds them: the address of {} becomes {}.",
        markdown_code(fmt::format("grep -rlF {} /etc", plain(old_))),
        markdown_code(interface_ == "IFACE" ? "the interface" : interface_), markdown_code(new_)));
    notes.emplace_back(
        "Warewulf's own address changes too: `ipaddr` in warewulf.conf, then `wwctl configure --all`. Nodes boot from "
        "the new one.");
    for (const auto& service : facts_.division.services) {
      const bool by_nodes = service.opened_by == OpenedBy::nodes || service.opened_by == OpenedBy::both;
      if (!service.critical && by_nodes)
        notes.push_back(fmt::format("{} stays on the server: nodes find it at {} from then on.",
                                    markdown_text(service.title), markdown_code(plain(new_))));
    }
    if (raises_)
      notes.emplace_back(
          "Nodes need not know of SlurmdTimeout: slurmctld warns of a slurm.conf that is not theirs until it is as it "
          "was.");
    for (const auto& service : capsule_.programs)
      for (const auto& note : service.notes)
        notes.push_back(fmt::format("{}: {}", markdown_text(service.name), markdown_text(note)));
  }

  /// Changes slurm.conf so that `lower` finds the way back, however often either is typed.
  std::string raising() const {
    return fmt::format(
        "grep -q '# while Slurm moves$' {0} || sed -i --follow-symlinks -e 's/^[[:space:]]*SlurmdTimeout[[:space:]]*=/"
        "#before# &/I' -e '$a SlurmdTimeout={1} # while Slurm moves' {0}",
        conf_, kRaised);
  }

  void synchronise(std::vector<std::string>& lines) const {
    for (const auto& file : facts_.site.synced_files)
      if (file.path == facts_.site.slurm.file) lines.push_back(synchronise_command(file));
  }

  void raise(std::vector<std::string>& lines) const {
    lines.push_back(on_server_);
    if (raises_) {
      lines.push_back(raising());
      lines.emplace_back("scontrol reconfigure");
      synchronise(lines);
    }
    lines.emplace_back("scontrol show config | grep SlurmdTimeout");
    lines.emplace_back("umask 077; mkdir -p /root/before-decoupling");
    lines.push_back(fmt::format("SLURM_TIME_FORMAT=%s squeue -a -h -t R -o '%i %S' | sort >{}", kRunning));
  }

  /// Units of what moves, the controller first: what needs another one is stopped before it. Munge stays: it keeps
  /// nothing, and the server's own commands of Slurm need it.
  std::vector<std::string> units() const {
    std::vector<std::string> programs, out;
    for (const auto& service : capsule_.programs) programs.push_back(service.name);
    std::sort(programs.begin(), programs.end(), [&](const std::string& a, const std::string& b) {
      return std::make_pair(depth(b, 0), a) < std::make_pair(depth(a, 0), b);
    });
    for (const auto& name : programs) {
      for (const auto& service : capsule_.programs) {
        if (service.name != name || name == "munge") continue;
        const auto* program = facts_.host.find_program(service.program);
        if (program != nullptr && !program->unit.empty() &&
            std::find(out.begin(), out.end(), program->unit) == out.end())
          out.push_back(program->unit);
      }
    }
    return out;
  }

  /// How long the longest chain of needs below a service is. Drafts have no circles.
  std::size_t depth(const std::string& name, std::size_t above) const {
    std::size_t out = 0;
    if (above > capsule_.programs.size()) return out;
    for (const auto& service : capsule_.programs) {
      if (service.name != name) continue;
      for (const auto& next : service.depends_on) out = std::max(out, depth(next, above + 1) + 1);
    }
    return out;
  }

  /// Nothing that keeps state may run while it is copied, and two controllers would start jobs twice.
  std::string nobody_runs() const { return "! " + who_runs(); }
  std::string who_runs() const {
    std::set<std::string> names;
    for (const auto& service : capsule_.programs)
      if (service.name != "munge") names.insert(service.program.substr(0, 15));  // comm, proc(5)
    return fmt::format("pgrep -ax {}", shell_word(join(std::vector(names.begin(), names.end()), "|")));
  }

  void stop(std::vector<std::string>& lines) const {
    lines.push_back(on_server_ + ": a clean stop, in this order, so that all state is written");
    for (const auto& unit : units()) lines.push_back("systemctl disable --now " + shell_word(unit));
    lines.emplace_back("# no process is left, and the state is of this minute; else go no further");
    lines.push_back(
        fmt::format("{} && ls -l {}", nobody_runs(), shell_word(state_directory(facts_.site.slurm) + "/job_state")));
  }

  /// The first address of a network takes all others with it when it is removed, unless they are told to follow
  /// (ip-sysctl.rst, promote_secondaries).
  std::string swap(const std::string& from, const std::string& to) const {
    return fmt::format(
        "echo 1 >/proc/sys/net/ipv4/conf/{0}/promote_secondaries && ip address add {1} dev {0} && ip address del {2} "
        "dev {0}",
        interface_, shell_word(to), shell_word(from));
  }

  /// Neighbours keep the capsule's hardware address for up to a minute. Without arping(8) the kernel tells them, when
  /// it is given the hardware address that it has (ip-sysctl.rst, arp_notify).
  std::string announce() const {
    return fmt::format(
        "arping -q -U -c 3 -I {0} {1} || {{ echo 1 >/proc/sys/net/ipv4/conf/{0}/arp_notify && ip link set dev {0} "
        "address \"$(cat /sys/class/net/{0}/address)\"; }}",
        interface_, shell_word(plain(old_)));
  }

  void give_up(std::vector<std::string>& lines) const {
    lines.push_back(on_server_ + "; stay logged in by another interface");
    lines.push_back(swap(old_, new_));
  }

  void start(std::vector<std::string>& lines) const {
    add(lines, run_where_it_was_carried(capsule_));
    // A capsule runs before its services answer.
    lines.push_back("timeout 2m sh -c " + shell_word(fmt::format("until {} scontrol ping; do sleep 1; done", inside_)));
    lines.push_back(inside_ + " sinfo");
    if (facts_.site.slurm.accounting) lines.push_back(inside_ + " sacct -a -X -S now-1hours -o JobID,State,Start,End");
    lines.push_back(on_server_ + ": each line is a job that has ended meanwhile; there is no other reason for one");
    lines.push_back(fmt::format("{} env SLURM_TIME_FORMAT=%s squeue -a -h -t R -o '%i %S' | sort | comm -23 {} -",
                                inside_, kRunning));
  }

  void lower(std::vector<std::string>& lines, const std::string& reconfigure) const {
    if (!raises_) return;
    lines.push_back(on_server_ + ", when sinfo shows all nodes as before: SlurmdTimeout as it was");
    lines.push_back(fmt::format("sed -i --follow-symlinks -e '/# while Slurm moves$/d' -e 's/^#before# //' {}", conf_));
    synchronise(lines);
    lines.push_back(reconfigure);
  }

  void back(std::vector<std::string>& lines) const {
    if (raises_) {
      lines.push_back(on_server_);
      lines.push_back(raising());
    }
    lines.emplace_back("# on the management side: a clean stop, so that all state is written");
    lines.push_back("underway job stop " + job_);
    lines.push_back(
        fmt::format("# on the host that ran it: {}, unless it was moved. It ends within a minute or two", kFirstHost));
    lines.push_back(fmt::format("while {}; do sleep 1; done", who_runs()));
    lines.push_back(on_server_ + ", which has its address again");
    lines.push_back(swap(new_, old_));
    lines.push_back(announce());
    lines.push_back(nobody_runs());
    add(lines, carry_back(capsule_, server_));
    lines.push_back(on_server_);
    auto units = this->units();
    std::reverse(units.begin(), units.end());
    for (const auto& unit : units) lines.push_back("systemctl enable --now " + shell_word(unit));
    lines.emplace_back("scontrol ping && sinfo && squeue");
    lower(lines, "scontrol reconfigure");
  }

  static std::string plain(const std::string& address) { return address.substr(0, address.find('/')); }

  const AdoptionFacts& facts_;
  const CapsuleDraft& capsule_;
  std::string server_;     ///< a word of the shell, as are most below
  std::string on_server_;  ///< "# on sms"
  std::string job_, inside_, conf_, interface_;
  std::string old_, new_;  ///< the server's addresses
  bool raises_ = false;    ///< SlurmdTimeout is short
};

}  // namespace

std::string synchronise_command(const inspection::SyncedFile& file) {
  return fmt::format("underway file add {}{} -owner {} -group {}{}", shell_word(file.path),
                     file.secret ? " -secret" : "", shell_word(file.owner), shell_word(file.group),
                     file.capsule.empty() ? "" : " -capsule " + shell_word(file.capsule));
}

Step slurm_step(const AdoptionFacts& facts, const CapsuleDraft& capsule) { return SlurmStep(facts, capsule).write(); }

}  // namespace underway::adoption
