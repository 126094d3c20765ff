#include "harness/slurm/slurm_releases.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "harness/places.hpp"
#include "harness/slurm/slurm_releases_site.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
namespace fs = std::filesystem;

const std::string kSource = source_dir() + "/tests/integration/slurm/slurm_upgrade";
const std::string kBuilt = binary_dir() + "/examples/slurm-upgrade";
const std::string kDebian11 = source_dir() + "/build/roots/bullseye";

std::string with(std::string text, const std::string& what, const std::string& value) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += value.size())
    text.replace(at, what.size(), value);
  return text;
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

void must(const Finished& finished, const std::string& what) {
  if (finished.exit_code != 0)
    throw std::runtime_error(
        fmt::format("{}: exit code {}\n{}{}", what, finished.exit_code, finished.out, finished.err));
}

}  // namespace

std::string SlurmReleases::missing() {
  if (!fs::exists(std::string(kDebian11) + "/usr/sbin/slurmctld-wlm"))
    return fmt::format("needs the root of Debian 11 in {}: packaging/slurm-roots makes it", kDebian11);
  const auto here = shell("/usr/sbin/slurmctld -V");
  return here.out.find(" 22.05") == std::string::npos ? "needs this machine's slurmctld to be 22.05" : "";
}

SlurmReleases::SlurmReleases() {
  begin();
  bring_images();
  bring_releases();
  declare({});
  // The machine has the later one installed, and no job says yet that it is not what runs.
  const auto applied = cluster_.underway({"apply", "-yes", "-any-slurm-version", cluster_.directory()}, seconds(180));
  must(applied, "apply");
  if (!eventually(seconds(60), [&] { return nodes_run("20.11.4"); })) throw std::runtime_error("no nodes: " + log());
}

/// Hosts and munge; and with them the server, which images are pushed to.
void SlurmReleases::begin() const {
  const std::string directory = cluster_.directory() + "/", decoupled = cluster_.examples() + "/decoupled/";
  const std::string declared = read_text(directory + "cluster.hcl");
  const auto from = declared.find("\ncluster \"") + 1;
  const std::string head = declared.substr(from, declared.find('{', from) - from + 1);
  fs::remove_all(directory);
  fs::create_directories(directory);
  write_text(directory + "cluster.hcl", site::kBefore + head + site::kHosts);
  write_text(directory + "munge.hcl", read_text(decoupled + "munge.hcl"));
  for (const auto* file : {"account.sql", "slurmdbd.conf"})
    write_text(directory + file, with(with(read_text(decoupled + file), "slurm-services", "slurm-accounting"),
                                      "DbdHost=ctl", "DbdHost=dbd"));
  // What both releases read: 20.11 has no CgroupPlugin.
  write_text(directory + "cgroup.conf", "CgroupAutomount=no\n");
  write_text(directory + "slurm.conf", site::kConf);
  write_text(sums(), site::kSums);
  fs::permissions(sums(), fs::perms(0755));
  must(cluster_.underway({"up", "-yes", cluster_.directory()}, seconds(120)), "up");
}

/// Built once, and again when what they are made of has changed.
void SlurmReleases::bring_images() const {
  fs::create_directories(kBuilt);
  const std::string built = kBuilt;
  for (const auto& [release, root] : {std::pair<std::string, std::string>{"20.11", kDebian11}, {"22.05", "/"}}) {
    const std::vector<std::string> build = {"flock", built + ".lock", std::string(kSource) + "/build", release, root,
                                            built};
    must(run({.argv = build, .env = {{"UNDERWAY", binary_dir() + "/bin/underway"}}, .limit = seconds(400)}),
         "building the images of " + release);
  }
  must(cluster_.underway({"capsule", "keys", "trust", built + "/capsules.pub"}), "trusting the key");
  for (const auto* image : {"accounting-20.11", "accounting-22.05", "accounting-23.11", "controller-20.11",
                            "controller-22.05", "controller-fails"})
    must(cluster_.underway({"capsule", "push", fmt::format("{}/{}.capsule", built, image)}), image);
}

/// As a site's shared file system has it. "bad" does not start.
void SlurmReleases::bring_releases() const {
  const std::string place = fmt::format("/proc/{}/root/opt/slurm", cluster_.agent_of("login"));
  must(shell(fmt::format("set -e; cp -a {0}/20.11 {0}/22.05 {1}/; mkdir -p {1}/bad/sbin; cp -a {1}/22.05/bin {1}/bad/; "
                         "printf '#!/bin/sh\\necho this release does not start >&2; exit 1\\n' >{1}/bad/sbin/slurmd; "
                         "chmod 755 {1}/bad/sbin/slurmd",
                         kBuilt, place)),
       "filling /opt/slurm");
  // Who runs no slurmd has a file.
  std::string conf = with(site::kConf, "${slurm.pools.compute.nodes}", "c[1-2]");
  conf = with(with(conf, "${compute.cpus}", "64"), "${compute.memory}", "16000");
  must(cluster_.enter("login", "mkdir -p /etc/slurm; cat >/etc/slurm/slurm.conf <<'END'\n" + conf + "END\n"),
       "writing slurm.conf");
}

void SlurmReleases::declare(const Releases& releases) const {
  const std::string directory = cluster_.directory() + "/";
  const auto capsule = [&](const std::string& name, const std::string& release, const std::string& host,
                           const std::string& address, const std::string& more) {
    std::string text = with(with(site::kCapsule, "NAME", name), "RELEASE", release);
    text = with(with(with(text, "HOST", host), "ADDRESS", address), "MORE", more);
    write_text(directory + name + ".hcl", text);
  };
  capsule("slurm-accounting", releases.accounting, "dbd", "10.78.0.4", site::kDatabase);
  capsule("slurm-controller", releases.controller, "ctl", "10.78.0.5", site::kCgroups);
  write_text(directory + "slurmd.hcl", with(site::kSlurmd, "RELEASE", releases.slurmd));
}

Finished SlurmReleases::on_login(const std::string& line, seconds limit) const {
  return cluster_.enter("login", "PATH=/opt/slurm/" + clients_ + "/bin:$PATH\n" + line, limit);
}

Farm::Options SlurmReleases::farm_options() const {
  Farm::Options options;
  options.nodes = {"c1", "c2"};
  options.spread = true;
  options.on = [this](const std::string& host, const std::string& line, seconds limit) {
    return cluster_.enter(host, "PATH=/opt/slurm/" + clients_ + "/bin:$PATH\n" + line, limit);
  };
  options.saved = [this] {
    return std::atoll(inside("slurm-controller", "stat -c %Y /var/lib/slurm/slurmctld/job_state").out.c_str());
  };
  return options;
}

void SlurmReleases::start_steps() {
  const auto submitted = on_login(std::string("cat >/tmp/steps.sh <<'END'\n") + site::kSteps +
                                  "END\nsbatch --parsable --job-name=steps --nodes=2 --ntasks-per-node=1 --mem=64 "
                                  "--chdir=/ --output=/home/steps.out /tmp/steps.sh");
  must(submitted, "submitting a job with steps");
  steps_ = trimmed(submitted.out);
  for (const auto* node : {"c1", "c2"}) {
    const std::string ticks = fmt::format("test -s /home/ticks.{}", node);
    if (!eventually(seconds(60), [&] { return on_login(ticks).exit_code == 0; }))
      throw std::runtime_error(std::string("no step ticks on ") + node + on_login("cat /home/steps.out").out + log());
  }
}

std::string SlurmReleases::problems_of_steps() const {
  constexpr double kLongest = 10;  // the machine is shared
  constexpr std::size_t kFewest = 50;
  std::string problems;
  if (!eventually(seconds(60), [&] { return accounted(steps_) == "COMPLETED"; }))
    problems += "it is " + accounted(steps_) + ": " + on_login("cat /home/steps.out").out + "\n";
  const auto starts = trimmed(on_login("sacct -D -X -n -P -o JobIDRaw -j " + steps_).out);
  if (starts != steps_) problems += "it was started more than once: " + starts + "\n";
  for (const auto* node : {"c1", "c2"}) {
    std::istringstream ticks(on_login(fmt::format("cat /home/ticks.{}", node)).out);
    double last = 0, longest = 0;
    std::size_t count = 0;
    for (double at = 0; ticks >> at; last = at, ++count) longest = std::max(longest, last == 0 ? 0 : at - last);
    std::cerr << "the step on " << node << " ticked " << count << " times, its longest gap was " << longest << " s\n";
    if (longest > kLongest || count < kFewest)
      problems += fmt::format("its step on {} ticked {} times, and stood still for {} s\n", node, count, longest);
  }
  const auto begun = on_login("sort /home/begun | uniq -c | tr '\\n' ' '").out;
  std::cerr << "later steps: " << begun << "\n";
  if (begun.find("c1") == std::string::npos || begun.find("c2") == std::string::npos)
    problems += "of its later steps: " + begun + "\n";
  return problems;
}

std::string SlurmReleases::submit_and_wait() const {
  const auto submitted =
      on_login("sbatch --parsable --wait --job-name=after --mem=16 --chdir=/ --output=/dev/null --wrap 'sleep 1'");
  must(submitted, "a job");
  return trimmed(submitted.out);
}

std::string SlurmReleases::accounted(const std::string& job) const {
  return trimmed(on_login("sacct -X -n -P -o State -j " + job).out);
}

void SlurmReleases::save_controller() const {
  must(inside("slurm-controller", "scontrol reconfigure"), "scontrol reconfigure");
  if (!eventually(seconds(30), [&] {
        return inside("slurm-controller", "test -s /var/lib/slurm/slurmctld/last_tres").exit_code == 0;
      }))
    throw std::runtime_error("slurmctld does not write its state: " + log());
}

void SlurmReleases::write_sums() const {
  const std::string home = fmt::format("/proc/{}/root/home/", cluster_.agent_of("login"));
  write_text(home + "sums.sh", site::kSums);
  const auto told = inside("slurm-accounting", "sh /home/sums.sh write");
  must(told, "sums");
  write_text(home + "sums", told.out);
}

namespace {

std::string release_of(const Finished& told) {
  const auto at = told.out.find(' ');
  return at == std::string::npos ? "" : told.out.substr(at + 1, 5);
}

}  // namespace

std::string SlurmReleases::running_accounting() const { return release_of(inside("slurm-accounting", "sacctmgr -V")); }

std::string SlurmReleases::running_controller() const { return release_of(inside("slurm-controller", "scontrol -V")); }

std::string SlurmReleases::running() const {
  return running_accounting() + " " + running_controller() + " " +
         on_login("scontrol -o show node | grep -o ' Version=[^ ]*' | sort | uniq -c").out;
}

bool SlurmReleases::nodes_run(const std::string& version) const {
  const auto told =
      on_login("scontrol -o show node | grep -v -e NOT_RESP -e UNKNOWN -e DOWN -e 'State=[^ ]*[*]' | grep -c Version=" +
               version);
  return told.out == "2\n";
}

bool SlurmReleases::nodes_tell(const std::string& what) const {
  std::istringstream rows(cluster_.underway({"node", "status"}).out);
  int telling = 0;
  for (std::string row; std::getline(rows, row);) {
    if (row.find("  c1  ") == std::string::npos && row.find("  c2  ") == std::string::npos) continue;
    const auto node = cluster_.underway({"node", "status", "-verbose", row.substr(0, row.find(' '))});
    if (node.out.find(what) != std::string::npos) ++telling;
  }
  return telling == 2;
}

std::string SlurmReleases::phase(const std::string& capsule) const {
  const auto text = cluster_.underway({"capsule", "status", "-json", capsule}).out;
  const auto from = text.find("\"Upgrade\": {");
  const auto key = text.find("\"Phase\": \"", from == std::string::npos ? text.size() : from);
  return key == std::string::npos ? "" : text.substr(key + 10, text.find('"', key + 10) - key - 10);
}

std::string SlurmReleases::log() const {
  std::string out;
  for (const auto* capsule : {"slurm-accounting", "slurm-controller"})
    out += cluster_.underway({"capsule", "status", capsule}).out +
           cluster_.underway({"alloc", "logs", "-job", capsule}).out;
  return out + inside("slurm-controller", "tail -n 40 /var/log/slurm/slurmctld.log").out +
         inside("slurm-accounting", "tail -n 40 /var/log/slurm/slurmdbd.log").out + cluster_.underway({"status"}).out +
         cluster_.underway({"alloc", "logs", "-job", "slurmd"}).out + read_text(cluster_.state() + "/agent.log");
}

void SlurmReleases::share(const std::string& name) const {
  write_text(fmt::format("/proc/{}/root/home/{}", cluster_.agent_of("login"), name), "");
}

void SlurmReleases::unshare(const std::string& name) const {
  fs::remove(fmt::format("/proc/{}/root/home/{}", cluster_.agent_of("login"), name));
}

Finished SlurmReleases::inside(const std::string& capsule, const std::string& line) const {
  return cluster_.underway({"alloc", "exec", "-job", capsule, "sh", "-c", line});
}

}  // namespace underway::harness
