#pragma once
/// @file
/// The files of the site that slurm_releases.hpp brings up. NAME, RELEASE, HOST, ADDRESS and MORE are filled in.

namespace underway::harness::site {

inline constexpr const char* kBefore = R"(namespace "default" {
  raw_exec_as_root = true
}
)";

inline constexpr const char* kHosts = R"(
  datacenter = "dc1"
  network "prov" { cidr = "10.78.0.0/24" }
  secret "nomad/jobs" {
    generate "munge_key" { bytes = 128 }
  }
  secret "nomad/jobs/slurm-accounting" {
    generate "password" { encoding = "hex" }
  }
  share "/home" {}
  share "/opt/slurm" {}
  directory "/run/munge" {
    owner = "munge"
    group = "munge"
  }
  pool "infra" {
    hostname = "infra"
    bridges  = true
  }
  pool "login" {
    hostname = "login"
  }
  pool "compute" {
    size     = 2
    hostname = "c%d"
    cpus     = 64
    memory   = 16000
  }
}
)";

inline constexpr const char* kCapsule = R"(job "NAME" {
  priority    = 95
  datacenters = [cluster.datacenter]
  node_pool   = "infra"
  type        = "service"
  group "NAME" {
    restart {
      attempts = 10
      delay    = "1s"
      interval = "5m"
      mode     = "delay"
    }
    task "NAME" {
      driver       = "capsule"
      kill_timeout = "60s"
      config {
        image    = "NAME:RELEASE"
        hostname = "HOST"
        network "prov" {
          addresses = ["ADDRESS/24"]
        }
        dns {
          hosts = merge({ ctl = "10.78.0.5", dbd = "10.78.0.4" }, { for host in concat(cluster.pools.compute.hosts, cluster.pools.login.hosts) : host.name => host.addresses.prov })
        }
        bind "/home" {}
        step "before_stop" {
          command = ["/bin/sh", "-c", "while [ -e /home/hold.before_stop ]; do sleep 0.05; done"]
          timeout = "120s"
        }
      }
      template {
        destination = "secrets/munge.key"
        perms       = "0400"
        data        = "{{ with nomadVar \"nomad/jobs\" }}{{ .munge_key }}{{ end }}"
      }
      template {
        destination = "local/slurm.conf"
        data        = templatefile("slurm.conf", { compute = cluster.pools.compute, slurm = slurm })
      }
MORE
      resources {
        cpu    = 500
        memory = 1024
      }
    }
  }
}
)";

inline constexpr const char* kDatabase = R"(
      template {
        destination = "secrets/account.sql"
        perms       = "0400"
        data        = file("account.sql")
      }
      template {
        destination = "secrets/slurmdbd.conf"
        perms       = "0400"
        data        = file("slurmdbd.conf")
      }
)";

inline constexpr const char* kCgroups = R"(
      template {
        destination = "local/cgroup.conf"
        data        = file("cgroup.conf")
      }
)";

inline constexpr const char* kConf = R"(ClusterName=farm
SlurmctldHost=ctl(10.78.0.5)
AuthType=auth/munge
SlurmUser=slurm
StateSaveLocation=/var/lib/slurm/slurmctld
SlurmdSpoolDir=/var/lib/slurm/slurmd
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
SlurmctldParameters=enable_configless
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=300
KillWait=5
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=1,sched_min_interval=100000,sched_interval=1
JobAcctGatherType=jobacct_gather/linux
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=10.78.0.4
NodeName=${slurm.pools.compute.nodes} CPUs=${compute.cpus} Boards=1 SocketsPerBoard=1 CoresPerSocket=${compute.cpus} ThreadsPerCore=1 RealMemory=${compute.memory} State=UNKNOWN
PartitionName=main Nodes=${slurm.pools.compute.nodes} Default=YES MaxTime=INFINITE
)";

/// Ready when slurmctld has heard of this release of it.
inline constexpr const char* kSlurmd = R"(job "slurmd" {
  priority    = 95
  datacenters = [cluster.datacenter]
  node_pool   = "compute"
  type        = "system"
  depends_on {
    job   = "munge"
    scope = "node"
  }
  depends_on {
    job = "slurm-controller"
  }
  group "slurmd" {
    network {
      port "slurmd" { static = 6818 }
    }
    task "slurmd" {
      driver      = "raw_exec"
      user        = "root"
      kill_signal = "SIGTERM"
      config {
        command   = "/opt/slurm/RELEASE/sbin/slurmd"
        args      = ["-D", "-N", "${attr.unique.hostname}", "--conf-server", "10.78.0.5:6817"]
        kill_mode = "process"
      }
      resources {
        cpu    = 50
        memory = 128
        pids   = 32768
      }
    }
    # slurmd 20.11 that finds no controller when it starts asks no more.
    task "controller" {
      driver = "raw_exec"
      user   = "root"
      lifecycle { hook = "prestart" }
      config {
        command = "/bin/bash"
        args    = ["-c", "until (: </dev/tcp/10.78.0.5/6817) 2>/dev/null; do sleep 0.3; done"]
      }
      resources {
        cpu    = 10
        memory = 16
      }
    }
    task "ready" {
      driver = "raw_exec"
      user   = "root"
      lifecycle { hook = "poststart" }
      config {
        command = "/bin/sh"
        args    = ["-c", "until /opt/slurm/RELEASE/bin/scontrol show node $1 2>/dev/null | grep -q Version=RELEASE; do sleep 0.3; done", "sh", "${attr.unique.hostname}"]
      }
      resources {
        cpu    = 10
        memory = 16
      }
    }
  }
}
)";

/// The site's own: what had ended is what it was.
inline constexpr const char* kSums = R"(#!/bin/sh
sums() {
  mariadb --no-defaults --socket=/run/mysqld/mysqld.sock -u root -N -e \
    'select count(*), sum(time_end - time_start), sum(id_job), max(exit_code), max(tres_alloc) from slurm_acct_db.farm_job_table where time_end > 0'
}
[ "$1" = write ] && { sums; exit; }
sums | diff /home/sums - || { echo "the accounts are not what they were"; exit 1; }
)";

/// The job's first step ticks on each node; later ones are begun one after the other.
inline constexpr const char* kSteps = R"(#!/bin/sh
/usr/bin/srun --overlap --mem=16 sh -c 'while [ ! -e /home/release ]; do date +%s.%N >>/home/ticks.$(hostname); sleep 0.2; done' &
while [ ! -e /home/steps ]; do sleep 0.2; done
while [ ! -e /home/release ]; do /usr/bin/srun --overlap --mem=16 hostname >>/home/begun || exit 7; sleep 1; done
wait
)";

}  // namespace underway::harness::site
