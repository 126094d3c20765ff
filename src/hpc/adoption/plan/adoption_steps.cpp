#include "adoption/plan/adoption_steps.hpp"

#include <set>

#include "adoption/plan/carry_state.hpp"
#include "base/text.hpp"

namespace underway::adoption {
namespace {

std::string plain(const std::string& address) { return address.substr(0, address.find('/')); }

/// What is changed on nodes so that they use a service's new address, by the service of the division.
std::string told_to_nodes(const std::string& service, const std::string& address) {
  if (service == "ntp") return fmt::format("chrony.conf: {}", markdown_code(fmt::format("server {} iburst", address)));
  if (service == "syslog")
    return fmt::format("rsyslog.conf: {}",
                       markdown_code(fmt::format("*.* action(type=\"omfwd\" target=\"{}\" port=\"514\" "
                                                 "protocol=\"tcp\" queue.type=\"LinkedList\" "
                                                 "queue.filename=\"fwd\")",
                                                 address)));
  if (service == "mail") return fmt::format("main.cf: {}", markdown_code(fmt::format("relayhost = [{}]", address)));
  if (service == "nfs") return fmt::format("fstab, autofs: {} in place of the server", markdown_code(address));
  if (service == "routing")
    return fmt::format("default route: {}", markdown_code(fmt::format("ip route replace default via {}", address)));
  if (service == "dns") return fmt::format("resolv.conf: {}", markdown_code(fmt::format("nameserver {}", address)));
  if (service == "directory")
    return fmt::format("sssd.conf or nslcd.conf: {}", markdown_code(fmt::format("ldap://{}", address)));
  return fmt::format("wherever it stands: {} in place of the server", markdown_code(address));
}

class PlanWriter {
 public:
  explicit PlanWriter(const AdoptionFacts& facts)
      : facts_(facts),
        server_(shell_word(facts.place.hostname)),
        network_(facts.place.networks.front()),
        interface_(network_.interface.empty() ? "IFACE" : shell_word(network_.interface)) {}

  std::string write() {
    head();
    found();
    questions();
    record();
    keep_copies();
    infrastructure();
    images();
    synchronise();
    canary();
    eliminate();
    for (const auto& capsule : facts_.drafts.capsules)
      if (capsule.name != "slurm-services") move(capsule);
    for (const auto& capsule : facts_.drafts.capsules)
      if (capsule.name == "slurm-services") step(slurm_step(facts_, capsule));
    prove();
    switch_off();
    return std::move(out_);
  }

 private:
  void step(const Step& step) { out_ += write_step(++number_, step); }

  void head() {
    out_ = fmt::format(
        "# Taking {0} apart\n\nThis plan moves what nodes cannot do without from {0} into capsules on two "
        "infrastructure hosts, one "
        "service after the other, while jobs run. Then {0} can be switched off for as long as you like: only "
        "provisioning and "
        "changes of files wait for it. Each step says what to type, when it worked, and the way back; a step that did "
        "not work is "
        "taken back before the next one. Nothing was changed so far.\n\nRead it to the end before you begin. Commands "
        "are typed on "
        "the machine with Underway's server role, or where a comment says.\n",
        markdown_text(facts_.place.hostname));
  }

  void found() {
    out_ += "\n## What was found\n\n";
    std::vector<std::vector<std::string>> rows;
    for (const auto& service : facts_.division.services)
      rows.push_back({markdown_text(service.title), service.critical ? "capsule" : "stays", verdict_text(service),
                      markdown_text(service.reason), markdown_text(service.rule),
                      std::string(describe::spell(service.confidence))});
    out_ += write_table({"Service", "Goes", "Verdict", "Why", "Rule", "Confidence"}, rows);
    std::vector<std::string> facts;
    const auto& site = facts_.site;
    if (!site.slurm.file.empty())
      facts.push_back(
          fmt::format("Slurm: cluster {}, controller {}, state in {}, SlurmdTimeout {} s, {} lines of nodes{}",
                      markdown_code(site.slurm.cluster), markdown_code(site.slurm.controller),
                      markdown_code(site.slurm.state_directory), site.slurm.slurmd_timeout,
                      site.slurm.node_lines.size(), site.slurm.accounting ? ", accounting through slurmdbd" : ""));
    const inspection::Program* controller = facts_.host.find_program("slurmctld");
    if (controller != nullptr && !controller->version.empty())
      facts.push_back(fmt::format("Slurm's version is {}: the image needs this one, or a newer one of the same release",
                                  markdown_code(controller->version)));
    if (!site.accounting.file.empty())
      facts.push_back(fmt::format("Accounting: database {} at {}", markdown_code(site.accounting.database),
                                  markdown_code(site.accounting.host.empty() ? "localhost" : site.accounting.host)));
    if (!site.warewulf.file.empty())
      facts.push_back(fmt::format("Warewulf: {} nodes, server {}", site.warewulf.nodes.size(),
                                  markdown_code(site.warewulf.address)));
    list_fact(facts, "Time from", site.time_servers);
    list_fact(facts, "Time for", site.time_clients);
    list_fact(facts, "Logs received by", site.log_inputs);
    list_fact(facts, "Logs sent on to", site.log_outputs);
    list_fact(facts, "Ganglia", site.ganglia);
    for (const auto& [key, value] : site.mail)
      facts.push_back(fmt::format("Mail: {}", markdown_code(key + " = " + value)));
    for (const auto& each : facts_.host.exports)
      facts.push_back(fmt::format("Export: {}", markdown_code(each.path + " " + each.clients)));
    list_fact(facts, "NAT", facts_.host.nat_rules);
    for (const auto& job : facts_.host.timed_jobs)
      if (!job.source.ends_with(".timer") && job.when.front() != '@')
        facts.push_back(fmt::format("By the clock: {} ({})", markdown_code(job.when + " " + job.command),
                                    markdown_code(job.source)));
    facts.push_back(fmt::format("{} people in /etc/passwd", site.users.size()));
    if (!site.service_users.empty())
      facts.push_back(fmt::format("Users of services: {}. Capsules get /etc/passwd, so what is copied stays theirs",
                                  markdown_code(join(site.service_users, ", "))));
    for (const auto& secret : site.secrets)
      facts.push_back(fmt::format("Secret, not read: {} ({})", markdown_code(secret.path), secret.what));
    out_ += "\n";
    for (const auto& fact : facts) out_ += "- " + fact + "\n";
  }

  static void list_fact(std::vector<std::string>& facts, std::string_view what, const std::vector<std::string>& lines) {
    for (const auto& line : lines) facts.push_back(fmt::format("{}: {}", what, markdown_code(line)));
  }

  void questions() {
    const auto open = open_questions(facts_);
    if (open.empty()) return;
    out_ += "\n## What to look at first\n\n";
    for (const auto& question : open) out_ += "- " + markdown_text(question) + "\n";
  }

  void record() {
    std::vector<std::string> notes;
    if (network_.interface.empty())
      notes.push_back("IFACE is the server's interface on the nodes' network (" + markdown_text(network_.name) + ").");
    notes.emplace_back("What you know better goes into a file: docs/reference/survey-overrides.md.");
    step(
        {.title = "Record a week of traffic",
         .why =
             "What happens once a day is not seen in an hour. The recording needs little: a journal of some megabytes.",
         .notes = std::move(notes),
         .commands = {"# on " + server_,
                      fmt::format("underway survey capture -iface {} -for 168h -o week.journal", interface_),
                      "underway survey host > host.json",
                      "underway survey report -host host.json -overrides site.hcl -html division.html week.journal",
                      "underway survey adopt -overrides site.hcl -out plan2 week.journal"},
         .done_when = "no service of the report is unknown, or you know why.",
         .back_text = "nothing was changed."});
  }

  void keep_copies() {
    std::vector<std::string> commands = {"# on " + server_, "umask 077", "mkdir -p /root/before-decoupling"};
    const auto& site = facts_.site;
    if (!site.accounting.file.empty())
      commands.push_back(fmt::format("mysqldump --single-transaction {} > /root/before-decoupling/accounting.sql",
                                     shell_word(site.accounting.database)));
    std::vector<std::string> paths = {"etc"};
    for (const auto& capsule : facts_.drafts.capsules)
      for (const auto& service : capsule.programs)
        for (const auto& directory : service.state)
          if (directory.size() > 1 && service.name != "mariadb" && directory != "/var/log")
            paths.push_back(directory.substr(1));
    std::string tar = "tar -C / --numeric-owner --xattrs --acls -cf /root/before-decoupling/state.tar";
    for (const auto& path : paths) tar += " " + shell_word(path);
    commands.push_back(tar);
    step({.title = "Keep copies",
          .why = "Of configuration and state, as they are now. They hold secrets: readable for root alone.",
          .commands = commands,
          .done_when =
              "`tar -tf /root/before-decoupling/state.tar` lists them, and the copy lies on a second machine too.",
          .back_text = "nothing was changed."});
  }

  void infrastructure() {
    step({.title = "Two infrastructure hosts",
          .why = "Capsules run on either of them, and may do there as root: the namespace says so. Each has a bridge "
                 "on every network that capsules join, with the "
                 "interface as its "
                 "port.",
          .notes =
              {"docs/how-to/add-a-remote-node.md tells how a host joins.",
               "In the agent.hcl of both stands `client { max_kill_timeout = \"10m\" }`: a database that is stopped "
               "needs more than the usual 30 s.",
               "infra1 reaches the server by ssh as root: state is copied that way.",
               "Both see the site's shared file systems."},
          .commands = {"underway namespace apply -raw-exec-as-root default",
                       "underway node join-token create -name infra1 -pool infrastructure > infra1.token",
                       "underway node join-token create -name infra2 -pool infrastructure > infra2.token",
                       "# on each of them, for each network: the interface becomes a port of the bridge",
                       fmt::format("ip link add {0} type bridge && ip link set IFACE master {0} && ip link set {0} up",
                                   shell_word(network_.bridge)),
                       "underway node status"},
          .done_when = "`underway node status` lists infra1 and infra2 as ready.",
          .back = {"# on each of them", "systemctl disable --now underway",
                   fmt::format("ip link set IFACE nomaster && ip link del {}", shell_word(network_.bridge))}});
  }

  void images() {
    std::vector<std::string> commands = {"underway capsule keys generate operations",
                                         "underway capsule keys trust operations.pub"};
    for (const auto& capsule : facts_.drafts.capsules)
      commands.push_back(
          fmt::format("underway capsule build images/{}.hcl -key operations.key", shell_word(capsule.name)));
    commands.emplace_back("underway capsule verify *.capsule -trust operations.pub");
    commands.emplace_back("underway capsule push *.capsule");
    step(
        {.title = "Build the images",
         .why = "From the repositories that the nodes' image is made from, so that Slurm and munge are the nodes' own.",
         .notes = {"Look through the job files: each says at the top why it is there, and marks what to fill in."},
         .commands = commands,
         .done_when = "`capsule verify` finds all of them good, and `underway image list` shows them.",
         .back = {"rm *.capsule"}});
  }

  void synchronise() {
    std::vector<std::string> back;
    for (const auto& file : facts_.site.synced_files) back.push_back("underway file remove " + shell_word(file.path));
    step({.title = "Synchronise files to the capsules",
          .why = "Users, groups, slurm.conf and the munge key come from one place. Nodes keep their present "
                 "synchronisation until the "
                 "last step; add -pool to give them these too.",
          .commands = {"# on " + server_, "less synchronised-files.sh", "sh synchronised-files.sh",
                       "underway file status"},
          .done_when = "`underway file status` shows no drift.",
          .back = back});
  }

  void canary() {
    if (facts_.canary.empty()) return;
    const std::string nodes = join(facts_.canary, ",");
    step(
        {.title = "Canary: a few drained nodes and a controller of their own",
         .why = fmt::format(
             "Proves that capsules, bridges and addresses work, without touching a running job: {} are drained, and "
             "talk to a second slurmctld on other ports (canary/canary.conf).",
             markdown_text(nodes)),
         .notes = {"Start the other capsules too, with the addresses that their files suggest, and tell the canary "
                   "nodes alone to use "
                   "them (see the steps below).",
                   "NODES are the canary nodes' addresses, SERVER those of " + markdown_text(facts_.place.hostname) +
                       " with its MAC: then what it only routes counts too.",
                   "Capture at a place that sees the nodes' traffic: on the nodes, or at a mirror port of the switch."},
         .commands = {"scontrol update nodename=" + shell_word(nodes) + " state=drain reason=canary",
                      "squeue -w " + shell_word(nodes) + "      # wait until it is empty",
                      "# from now on the old controller does not ask them how they are",
                      "scontrol update nodename=" + shell_word(nodes) + " state=future",
                      "underway file add /etc/slurm/canary.conf canary/canary.conf -capsule slurm-canary",
                      "underway job run canary/slurm-canary.hcl",
                      "# on each of these nodes, with canary.conf in /etc/slurm", "systemctl stop slurmd",
                      "slurmd -f /etc/slurm/canary.conf", "date -u +%Y-%m-%dT%H:%M:%SZ      # AFTER",
                      "# a job of the canary, from a machine with canary.conf",
                      "SLURM_CONF=/etc/slurm/canary.conf srun -N" + std::to_string(facts_.canary.size()) + " hostname",
                      "# the proof: an hour of capture", "timeout 3600 tcpdump -i IFACE -w canary.pcap",
                      "underway survey check-silent -nodes NODES -server SERVER -after AFTER canary.pcap"},
         .done_when = "the job ends, and `survey check-silent` exits with 0.",
         // Slurm takes a node out of FUTURE by `resume` alone, and by a registration: once slurmd runs it is too late.
         .back = {"scontrol update nodename=" + shell_word(nodes) + " state=resume", "# on each of these nodes",
                  "pkill -F /run/slurmd-canary.pid; systemctl start slurmd", "underway job stop -purge slurm-canary",
                  "underway file remove /etc/slurm/canary.conf"}});
  }

  void eliminate() {
    std::vector<std::string> notes;
    for (const auto& service : facts_.division.services)
      for (const auto& advice : service.advice)
        if (service.critical)
          notes.push_back(fmt::format("**{}**: {}", markdown_text(service.title), markdown_text(advice)));
    if (notes.empty()) return;
    step({.title = "Eliminate rather than move",
          .why = "What is not there need not be moved. Each of these is a decision of its own.",
          .notes = notes,
          .done_when = "a new `survey report` does not show the traffic any more.",
          .back_text = "start the service again, and bring back the nodes' image of before."});
  }

  std::vector<std::string> units_of(const CapsuleDraft& capsule) const {
    std::vector<std::string> out;
    for (const auto& name : capsule.services)
      if (const auto* service = facts_.division.find(name))
        for (const auto& unit : service->units) out.push_back(unit);
    return out;
  }

  void move(const CapsuleDraft& capsule) {
    const std::string address = capsule.addresses.empty() ? "ADDRESS" : plain(capsule.addresses.front());
    const auto units = units_of(capsule);
    std::string unit_words;
    for (const auto& unit : units) unit_words += " " + shell_word(unit);
    Step out;
    out.title = "Move: " + markdown_text(join(capsule.services, ", "));
    out.why = fmt::format(
        "The capsule {} has an address of its own, {}: old and new run side by side until the last node has changed.",
        markdown_code(capsule.name), markdown_code(address));
    for (const auto& service : capsule.services)
      out.notes.push_back("Nodes are told: " + told_to_nodes(service, address));
    for (const auto& service : capsule.programs)
      for (const auto& note : service.notes)
        out.notes.push_back(fmt::format("{}: {}", markdown_text(service.name), markdown_text(note)));
    out.commands = carry_over(capsule, server_);
    if (out.commands.empty())
      out.commands = {"# on the management side", "underway job run " + shell_word(capsule.name + ".hcl")};
    else
      for (auto& line : run_where_it_was_carried(capsule)) out.commands.push_back(std::move(line));
    out.commands.emplace_back("# once every node uses the new address");
    if (!unit_words.empty())
      out.commands.push_back(fmt::format("ssh {} systemctl disable --now{}", server_, unit_words));
    out.done_when = fmt::format("the service answers at {}, and a new capture shows no packet of it to the server.",
                                markdown_code(address));
    if (!unit_words.empty()) out.back.push_back(fmt::format("ssh {} systemctl enable --now{}", server_, unit_words));
    out.back.emplace_back("# nodes get their former setting back, then");
    out.back.push_back("underway job stop " + shell_word(capsule.name));
    step(out);
  }

  void prove() {
    step({.title = "Prove it for all nodes",
          .why = "As in the canary phase, now for everybody, for a day.",
          .notes = {"NODES is the nodes' network; SERVER is the server's new address, its MAC, and nothing else.",
                    "Provisioning and file synchronisation still show, as they stay: no node boots and no file changes "
                    "on that day."},
          .commands = {"timeout 86400 tcpdump -i IFACE -w all.pcap",
                       "underway survey check-silent -nodes NODES -server SERVER all.pcap"},
          .done_when = "it exits with 0, or what it lists is provisioning and file synchronisation alone.",
          .back_text = "nothing was changed."});
  }

  void switch_off() {
    step({.title = "Switch it off, for an hour",
          .why = "Then for a day. What does not work meanwhile is exactly this: nodes cannot be provisioned, and files "
                 "do not change.",
          .commands = {"# on " + server_, "systemctl poweroff", "# from a login node",
                       "sinfo && srun hostname && logger test && date"},
          .done_when = "users notice nothing.",
          .back_text = "switch it on."});
  }

  const AdoptionFacts& facts_;
  std::string server_;
  const DraftNetwork& network_;
  std::string interface_;  ///< of the server
  std::string out_;
  std::size_t number_ = 0;
};

}  // namespace

namespace {

/// Programs that stay on the server and need one that moves. Munge stays too.
void add_shared(const AdoptionFacts& facts, const CapsuleDraft& capsule, std::vector<std::string>& out) {
  const auto moves = [&](const std::string& name) {
    return std::any_of(capsule.programs.begin(), capsule.programs.end(),
                       [&](const DraftService& service) { return service.program == name && service.name != "munge"; });
  };
  for (const auto& program : facts.host.programs) {
    std::set<std::string> told;
    for (const auto& need : program.needs)
      if (!moves(program.name) && moves(need.program) && told.insert(need.program).second)
        out.push_back(fmt::format("{} of the server needs {}, which moves with Slurm: give it one of its own first",
                                  program.name, need.program));
  }
}

}  // namespace

std::string write_plan(const AdoptionFacts& facts) { return PlanWriter(facts).write(); }

std::vector<std::string> open_questions(const AdoptionFacts& facts) {
  std::vector<std::string> out = facts.division.warnings;
  for (const auto& service : facts.division.services)
    if (service.verdict == Verdict::unknown)
      out.push_back(fmt::format("{} is unknown and treated as time-critical: {}", service.title, service.reason));
  for (const auto& without : facts.drafts.without) out.push_back("no capsule is drafted for " + without);
  for (const auto& gap : facts.site.gaps) out.push_back("not read: " + gap);
  for (const auto& include : facts.site.slurm.includes)
    out.push_back(fmt::format("slurm.conf includes {}, which was not read", include));
  for (const auto& program : facts.site.slurm.programs)
    out.push_back(fmt::format("slurm.conf has {}: the controller's capsule needs it too, in its image", program));
  for (const auto& capsule : facts.drafts.capsules)
    if (capsule.name == "slurm-services") add_shared(facts, capsule, out);
  if (facts.place.networks.front().address.starts_with("192.0.2."))
    out.emplace_back("the server's address on the nodes' network is not known: 192.0.2.1/24 stands in its place");
  if (facts.site.slurm.file.empty()) out.emplace_back("there is no slurm.conf: no canary phase is planned");
  if (!facts.site.accounting.file.empty() && !facts.site.accounting.host.empty() &&
      facts.site.accounting.host != "localhost" && facts.site.accounting.host != "127.0.0.1")
    out.push_back(fmt::format("the accounting database is on {}: slurmdbd needs the way there from its capsule",
                              facts.site.accounting.host));
  return out;
}

}  // namespace underway::adoption
