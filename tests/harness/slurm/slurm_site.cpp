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

SlurmSite::SlurmSite(const SlurmRelease& release) {
  process_ = std::make_unique<Background>(Command{
      .argv = {"unshare", "--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child",
               source_dir() + "/tests/harness/slurm/slurm-site", directory_.path(), release.root, release.cgroup}});
  const std::string pid = std::to_string(process_->pid());
  const bool ready = eventually(seconds(60), [&] {
    init_ = read_text("/proc/" + pid + "/task/" + pid + "/children");
    init_ = init_.substr(0, init_.find(' '));
    return !init_.empty() && ::access(("/proc/" + init_ + "/root/run/ready").c_str(), F_OK) == 0;
  });
  if (!ready)
    throw std::runtime_error("Slurm " + release.version + " does not come up: " + shell("tail -n 5 /srv/log/*").out);
}

Finished SlurmSite::run(std::vector<std::string> argv) const {
  const std::vector<std::string> enter = {
      "nsenter", "--all", "--target", init_, "--", "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"};
  argv.insert(argv.begin(), enter.begin(), enter.end());
  return harness::run({.argv = std::move(argv)});
}

Finished SlurmSite::shell(const std::string& line) const { return run({"/bin/sh", "-c", line}); }

std::string SlurmSite::submit(const std::string& words) const {
  const auto told = shell("sbatch --parsable --chdir=/tmp --output=/dev/null " + words);
  if (told.exit_code != 0) throw std::runtime_error("sbatch " + words + ": " + told.err);
  return told.out.substr(0, told.out.find('\n'));
}

}  // namespace underway::harness
