#include "harness/capsule/slurm_capsule.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <set>
#include <stdexcept>

namespace underway::harness {
namespace {

using std::chrono::seconds;
namespace fs = std::filesystem;

constexpr const char* kHosts = R"(
  datacenter = "dc1"
  network "prov" { cidr = "10.78.0.0/24" }
  secret "nomad/jobs" {
    generate "munge_key" { bytes = 128 }
  }
  secret "nomad/jobs/slurm-services" {
    generate "password" { encoding = "hex" }
  }
  share "/home" {}
  directory "/run/munge" {
    owner = "munge"
    group = "munge"
  }
  pool "infra" {
    size     = 2
    hostname = "infra%d"
    bridges  = true
  }
  pool "login" {
    hostname = "login"
  }
  pool "compute" {
    hostname = "c%d"
    cpus     = 64
    memory   = 16000
  }
}
)";

constexpr const char* kBefore = R"(namespace "default" {
  raw_exec_as_root = true
}
locals {
  slurm = "10.78.0.5"
  mail  = "10.78.0.9"
  users = { alice = 5000 }
}
)";

/// What holds a move up in a phase, beside what the image does there. The brake is there to be stopped slowly.
constexpr const char* kSteps = R"HCL(
        bind "/home" {}
        step "probe" {
          command = ["/bin/sh", "-c", "while [ -e /home/hold.start ]; do sleep 0.05; done; exec /usr/lib/capsule/slurm/reach-nodes"]
          timeout = "120s"
        }
        step "before_stop" {
          command = ["/bin/sh", "-c", "while [ -e /home/hold.before_stop ]; do sleep 0.05; done"]
        }
        step "check" {
          command = ["/bin/sh", "-c", "while [ -e /home/hold.check ]; do sleep 0.05; done; scontrol ping | grep -q UP && sacctmgr -n list cluster >/dev/null"]
        }
        service "brake" {
          command      = ["/bin/sh", "-c", "trap 'kill $!; while [ -e /home/hold.stop ]; do sleep 0.05; done; exit 0' TERM; sleep 1000000 & wait"]
          stop_timeout = "50s"
        }
)HCL";

/// Of `text`, with `more` put before the only place where `mark` stands.
std::string put_before(std::string text, const std::string& mark, const std::string& more) {
  const auto at = text.find(mark);
  if (at == std::string::npos || text.find(mark, at + 1) != std::string::npos)
    throw std::runtime_error("examples/decoupled does not have '" + mark + "' once");
  return text.insert(at, more);
}

}  // namespace

SlurmCapsule::SlurmCapsule(const std::string& settings, int nodes)
    : Capsule("slurm-services", "decoupled", "infra1", "infra2", "/var/log") {
  declare(settings, nodes);
  cluster().lose_patience();
  up();
  find_shared("login", "/home");
  if (!schedules()) throw std::runtime_error("no job runs\n" + status());
}

void SlurmCapsule::declare(const std::string& settings, int nodes) const {
  const std::string directory = cluster().directory() + "/";
  const std::string declared = read_text(directory + "cluster.hcl");
  const auto from = declared.find("\ncluster \"") + 1;
  const std::string head = declared.substr(from, declared.find('{', from) - from + 1);
  const std::set<std::string> needed = {"slurm-services.hcl", "slurmd.hcl", "munge.hcl", "slurm.files.hcl"};
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".hcl" && !needed.contains(entry.path().filename())) fs::remove(entry.path());
  }
  for (const auto& entry : fs::directory_iterator(directory + "images")) {
    if (entry.path().extension() == ".capsule" && entry.path() != image()) fs::remove(entry.path());
  }
  const std::string size = "    size     = " + std::to_string(nodes) + "\n";
  write_text(directory + "cluster.hcl", kBefore + head + put_before(kHosts, "    hostname = \"c%d\"", size));
  const std::string job = directory + "slurm-services.hcl", conf = directory + "slurm.conf";
  write_text(job, put_before(read_text(job), "        service \"slurmctld\" {}", kSteps));
  // What the hold says comes later, and counts.
  write_text(conf, put_before(read_text(conf), "include underway-hold.conf", settings));
}

std::string SlurmCapsule::build_version(const std::string& version) const {
  // The same definition, upon the image that there is; it has the packages.
  const std::string definition = images() + version + ".hcl", file = images() + version + ".capsule";
  const std::string made =
      "sed -e 's,^  from image .*,  from image \"slurm-services.capsule\" {},' -e 's,^  version .*,  version = \"" +
      version + "\",' -e '/^  packages = /d' -e '/^  repository /,/^  }$/d' " + images() + "slurm-services.hcl >" +
      definition;
  const auto written = shell(made);
  if (written.exit_code != 0) throw std::runtime_error("no definition: " + written.err);
  ok({"capsule", "build", definition, "-key", images() + "capsules.key", "-trust", images() + "capsules.pub", "-o",
      file});
  return file;
}

Farm::Options SlurmCapsule::farm_options() const {
  Farm::Options options;
  options.nodes = {"c1", "c2"};
  options.spread = true;
  options.on = [this](const std::string& host, const std::string& line, seconds limit) {
    return cluster().enter(host, line, limit);
  };
  options.saved = [this] { return saved_at(); };
  return options;
}

bool SlurmCapsule::schedules(seconds limit) const {
  // What was seen of Slurm 22.05 beside `scontrol reconfigure`. Any other answer is the last one.
  const auto cut = [](const std::string& said) {
    return std::ranges::any_of(std::array{"Zero Bytes were transmitted", "Connection reset by peer", "missing socket"},
                               [&](const char* words) { return said.find(words) != std::string::npos; });
  };
  const std::string srun = "srun --mem=16 --immediate=" + std::to_string(limit.count()) + " true";
  Finished asked;
  eventually(limit, [&] {
    asked = on_login(srun, limit + seconds(10));
    if (asked.exit_code != 0) std::cerr << "srun: " << asked.err;
    return asked.exit_code == 0 || !cut(asked.err);
  });
  return asked.exit_code == 0;
}

long long SlurmCapsule::saved_at() const {
  long long newest = 0;
  for (const auto* host : {"infra1", "infra2"}) {
    for (const int pid : controllers(host)) {
      const std::string file = "/proc/" + std::to_string(pid) + "/root/var/lib/slurm/slurmctld/job_state";
      struct stat found = {};
      if (::stat(file.c_str(), &found) == 0) newest = std::max<long long>(newest, found.st_mtim.tv_sec);
    }
  }
  return newest;
}

OnlyOneController::OnlyOneController(const SlurmCapsule& capsule)
    : watcher_([this, &capsule](const std::stop_token& enough) {
        while (!enough.stop_requested()) {
          if (!capsule.controllers("infra1").empty() && !capsule.controllers("infra2").empty()) broken_ = true;
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
      }) {}

}  // namespace underway::harness
