#include "harness/capsule/counting_capsule.hpp"
#include "harness/places.hpp"

#include <filesystem>
#include <stdexcept>

namespace underway::harness {
namespace {

using std::chrono::seconds;
namespace fs = std::filesystem;

constexpr const char* kHosts = R"(
  datacenter = "dc1"
  network "cluster" { cidr = "10.78.0.0/24" }
  share "/home" {}
  pool "infra" {
    size     = 2
    hostname = "sms%d"
    bridges  = true
  }
  pool "other" {
    size     = 2
    hostname = "c%d"
  }
}
)";

constexpr const char* kImage = R"(image "counter" {
  version = "VERSION"
  from directory "root" {}
  service "counter" {
    command = ["/bin/service"]
  }
}
)";

/// What a newer one has started from, an older one cannot read. A clone may not write to what all hosts share.
constexpr const char* kService = R"SH(#!/bin/sh
schema=$(cat /srv/schema || echo VERSION)
[ "$schema" -le VERSION ] || exit 1
echo VERSION >/srv/schema
shared=/home
( : >/home/written ) || shared=/srv
exec /bin/counting_service 7000 /srv $shared HOW
)SH";

constexpr const char* kStatelessService = "#!/bin/sh\nexec /bin/counting_service 7000 /run /home\n";

constexpr const char* kSteps = R"(
        step "probe" {
          command = ["/bin/sh", "-c", "while [ -e /home/hold.start ]; do sleep 0.02; done"]
        }
        step "before_stop" {
          command = ["/bin/sh", "-c", "while [ -e /home/hold.before_stop ]; do sleep 0.02; done"]
        }
        step "check" {
          command = ["/bin/sh", "-c", "while [ -e /home/hold.check ]; do sleep 0.02; done; [ ! -e /home/hold.fail ] && grep -q ':1B58 ' /proc/net/tcp"]
        }
)";

constexpr const char* kJob = R"(job "counter" {
  type      = "service"
  node_pool = "infra"
  update {
    min_healthy_time = "200ms"
  }
  group "counter" {
    restart {
      attempts = 100
      delay    = "1s"
      interval = "10m"
      mode     = "delay"
    }
    task "counter" {
      driver       = "capsule"
      kill_timeout = "25s"
      config {
        image = "counter:1"
        network "cluster" {
          addresses = ["10.78.0.200/24"]
        }
        bind "/home" {}
        STEPS
      }
      resources {
        cpu    = 50
        memory = 256
      }
    }
  }
}
)";

std::string replace_all(std::string text, const std::string& what, const std::string& value) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + value.size()))
    text.replace(at, what.size(), value);
  return text;
}

}  // namespace

CountingCapsule::CountingCapsule(Kind kind, const std::string& config)
    : Capsule("counter", "slurm", "sms1", "sms2", "/srv"), kind_(kind) {
  declare();
  cluster().lose_patience();
  up();
  find_shared("c1", "/home");
  build();
  std::string more = (kind == Kind::stateless ? "" : kSteps) + config;
  if (kind == Kind::synced) more += "        protect {\n          sync = true\n        }\n";
  write_text(files_.path() + "/counter.hcl", replace_all(kJob, "STEPS", more));
  ok({"job", "run", files_.path() + "/counter.hcl"});
  const Prober first = client("c1", std::chrono::milliseconds(50));
  if (!first.all_answer(seconds(20))) throw std::runtime_error("the capsule does not answer\n" + status());
}

void CountingCapsule::declare() const {
  const std::string declared = read_text(cluster().slurm() + "/cluster.hcl");
  const auto from = declared.find("\ncluster \"") + 1;
  const std::string head = declared.substr(from, declared.find('{', from) - from + 1);
  fs::remove_all(cluster().slurm());
  fs::create_directories(cluster().slurm());
  const std::string allowed = "namespace \"default\" {\n  raw_exec_as_root = true\n}\n";
  write_text(cluster().slurm() + "/cluster.hcl", allowed + head + kHosts);
}

void CountingCapsule::build() const {
  const std::string root = files_.path() + "/root";
  for (const auto* part : {"/bin", "/etc", "/srv", "/home"}) fs::create_directories(root + part);
  fs::copy_file("/bin/busybox", root + "/bin/busybox");
  fs::copy_file(binary_dir() + "/tests/counting_service", root + "/bin/counting_service");
  for (const auto* applet : {"sh", "cat", "grep", "sleep", "dd"})
    fs::create_symlink("busybox", root + "/bin/" + applet);
  write_text(root + "/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n");
  write_text(root + "/etc/group", "root:x:0:\n");
  ok({"capsule", "keys", "generate", files_.path() + "/ops"});
  ok({"capsule", "keys", "trust", files_.path() + "/ops.pub"});
  push("1");
}

void CountingCapsule::push(const std::string& version) const {
  const std::string service = files_.path() + "/root/bin/service", key = files_.path() + "/ops";
  const std::string definition = files_.path() + "/counter.image.hcl", file = files_.path() + "/counter.capsule";
  const std::string stateful =
      replace_all(replace_all(kService, "VERSION", version), " HOW", counts_in_place() ? "" : " replace");
  write_text(service, kind_ == Kind::stateless ? kStatelessService : stateful);
  fs::permissions(service, fs::perms(0755));
  write_text(definition, replace_all(kImage, "VERSION", version));
  fs::remove(file);
  ok({"capsule", "build", definition, "-o", file, "-key", key + ".key"});
  ok({"capsule", "push", file});
}

std::string CountingCapsule::doubled() const { return read_text(shared() + "/doubled"); }

Prober CountingCapsule::client(const std::string& host, std::chrono::milliseconds every) const {
  return Prober(cluster(), host, {{"counter", "count", "10.78.0.200", 7000}}, every);
}

}  // namespace underway::harness
