#include "harness/slurm/slurm_site.hpp"
#include "harness/places.hpp"

#include <unistd.h>

#include <filesystem>
#include <stdexcept>

namespace underway::harness {

using std::chrono::seconds;

std::vector<SlurmRelease> slurm_releases() {
  const std::string roots = std::filesystem::path(binary_dir()).parent_path() / "roots";
  return {{"20.11", roots + "/bullseye", ""},
          {"22.05", "/", "CgroupPlugin=cgroup/v1"},
          {"24.11", roots + "/trixie", "CgroupPlugin=cgroup/v1"}};
}

SlurmMachine::SlurmMachine(const SlurmRelease& release, const std::string& script,
                           const std::vector<std::string>& words) {
  std::vector<std::string> argv = {"unshare",   "--mount",      "--pid",
                                   "--net",     "--uts",        "--ipc",
                                   "--fork",    "--kill-child", source_dir() + "/tests/harness/slurm/" + script,
                                   release.root};
  argv.insert(argv.end(), words.begin(), words.end());
  process_ = std::make_unique<Background>(Command{.argv = std::move(argv), .ends_with_us = true});
  const std::string pid = std::to_string(process_->pid());
  const bool ready = eventually(seconds(60), [&] {
    init_ = read_text("/proc/" + pid + "/task/" + pid + "/children");
    init_ = init_.substr(0, init_.find(' '));
    return !init_.empty() && ::access(("/proc/" + init_ + "/root/run/ready").c_str(), F_OK) == 0;
  });
  if (!ready)
    throw std::runtime_error("Slurm " + release.version + " does not come up: " + shell("tail -n 5 /srv/log/*").out);
}

Finished SlurmMachine::run(std::vector<std::string> argv) const {
  const std::vector<std::string> enter = {
      "nsenter", "--all", "--target", init_, "--", "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"};
  argv.insert(argv.begin(), enter.begin(), enter.end());
  return harness::run({.argv = std::move(argv)});
}

Finished SlurmMachine::shell(const std::string& line) const { return run({"/bin/sh", "-c", line}); }

std::string SlurmMachine::submit(const std::string& words) const {
  const auto told = shell("sbatch --parsable --chdir=/tmp --output=/dev/null " + words);
  if (told.exit_code != 0) throw std::runtime_error("sbatch " + words + ": " + told.err);
  return told.out.substr(0, told.out.find('\n'));
}

std::string SlurmPool::base_conf() {
  return R"(ClusterName=pool
SlurmctldHost=ctl
AuthType=auth/munge
SlurmUser=slurm
StateSaveLocation=/srv/state
SlurmdSpoolDir=/srv/slurmd/%n
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/slurm/slurmd.%n.pid
SlurmdParameters=config_overrides
KillWait=2
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
)";
}

void SlurmPool::boot(const std::string& name, const std::string& address, std::vector<std::string> slurmd_words) const {
  slurmd_words.insert(slurmd_words.begin(), {"pool-host", "on", name, address});
  if (const auto said = run(std::move(slurmd_words)); said.exit_code != 0)
    throw std::runtime_error(name + " does not boot: " + said.err);
}

void SlurmPool::cut(const std::string& name) const { run({"pool-host", "off", name}); }

}  // namespace underway::harness
