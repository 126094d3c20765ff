# The daemon of the compute nodes, configless: it fetches its configuration from the controller.
job "slurmd" {
  priority    = 95
  datacenters = [cluster.datacenter]
  node_pool   = "compute"
  type        = "system"

  depends_on {
    job   = "munge"
    scope = "node"
  }
  depends_on {
    job = "slurmctld"
  }

  group "slurmd" {
    constraint {
      operator = "distinct_hosts"
      value    = "true"
    }

    network {
      port "slurmd" {
        static = 6818
      }
    }

    # What a host needs before its first job. On cgroup v2 Slurm has its groups below system.slice, which gets all
    # controllers: with systemd as first process that is systemd's work.
    task "prepare" {
      driver = "raw_exec"
      user   = "root"

      lifecycle {
        hook = "prestart"
      }

      config {
        command = "/bin/sh"
        args = ["-c", <<-SCRIPT
          [ -e /sys/fs/cgroup/cgroup.controllers ] || exit 0
          mkdir -p /sys/fs/cgroup/system.slice
          for controller in $(cat /sys/fs/cgroup/system.slice/cgroup.controllers); do
            echo "+$controller" >/sys/fs/cgroup/system.slice/cgroup.subtree_control
          done
        SCRIPT
        ]
      }

      resources {
        cpu    = 10
        memory = 16
      }
    }

    task "slurmd" {
      driver      = "raw_exec"
      user        = "root"
      kill_signal = "SIGTERM"

      config {
        command = "/usr/sbin/slurmd"
        args    = ["-D", "-N", "${attr.unique.hostname}", "--conf-server", "mgmt:6817"]

        # All that follows is as in Debian's slurmd.service. slurmd alone ends with its task: slurmstepd and the Slurm jobs
        # live on, and the next slurmd takes them over (they meet in SlurmdSpoolDir, which stays).
        kill_mode = "process"
        # Slurm holds its jobs by cgroups of its own. What it has none for is not measured by what slurmd needs.
        delegate = true
        # What jobs begin with, as far as this machine lets itself be asked for it.
        ulimits {
          nofile  = "131072"
          memlock = "unlimited"
          stack   = "unlimited"
        }
      }

      resources {
        cpu    = 50
        memory = 128
      }
    }

    # It is ready when it answers and the controller has heard of it: then sinfo shows its node, and jobs start there.
    # The controller alone would vouch for a slurmd that is gone, until it misses it.
    task "ready" {
      driver = "raw_exec"

      lifecycle {
        hook = "poststart"
      }

      config {
        command = "/bin/sh"
        args    = ["-c", "until scontrol show slurmd >/dev/null 2>&1 && scontrol -o show node $0 2>/dev/null | grep -Evq 'UNKNOWN|NOT_RESPONDING'; do sleep 0.2; done", "${attr.unique.hostname}"]
      }

      resources {
        cpu    = 10
        memory = 16
      }
    }
  }
}
