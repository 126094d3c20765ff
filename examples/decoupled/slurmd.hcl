# The daemon of every node, configless: it fetches its configuration from the capsule's address, wherever that is.
job "slurmd" {
  priority    = 95
  datacenters = [cluster.datacenter]
  node_pool   = "all"
  type        = "system"

  constraint {
    attribute = "${node.pool}"
    operator  = "set_contains_any"
    value     = "compute,login"
  }

  depends_on {
    job   = "munge"
    scope = "node"
  }
  depends_on {
    job = "slurm-services"
  }

  group "slurmd" {
    network {
      port "slurmd" {
        static = 6818
      }
    }

    task "slurmd" {
      driver      = "raw_exec"
      user        = "root"
      kill_signal = "SIGTERM"

      config {
        command   = "/usr/sbin/slurmd"
        args      = ["-D", "-N", "${attr.unique.hostname}", "--conf-server", "${local.slurm}:6817"]
        kill_mode = "process" # Slurm jobs outlive it, and the next slurmd takes them over
      }

      resources {
        cpu    = 50
        memory = 128
        pids   = 32768
      }
    }

    # Healthy means that the controller has heard of the node and is held no more (images/files/slurm/hold), so that
    # Slurm's commands work here too: one that comes while slurmctld is reconfigured may find its connection closed.
    task "ready" {
      driver = "raw_exec"
      user   = "nobody"

      lifecycle {
        hook = "poststart"
      }

      config {
        command = "/bin/sh"
        args    = ["-c", "until scontrol show node $1 2>/dev/null | grep State= | grep -qv -e UNKNOWN -e NOT_RESP && scontrol show config 2>/dev/null | grep '^SlurmdTimeout ' | grep -qv ' 65533 '; do sleep 0.3; done", "sh", "${attr.unique.hostname}"]
      }

      resources {
        cpu    = 10
        memory = 16
      }
    }
  }
}
