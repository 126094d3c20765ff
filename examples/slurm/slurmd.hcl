# The daemon of every node (listing 3 of the CSCS paper), configless: it fetches its configuration from the controller,
# and sinfo, srun and scontrol on the same host find it there.

job "slurmd" {
  priority    = 95
  datacenters = [cluster.datacenter]
  node_pool   = "all"
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

    task "slurmd" {
      driver      = "raw_exec"
      user        = "root"
      kill_signal = "SIGTERM"

      config {
        command = "/usr/sbin/slurmd"
        args    = ["-D", "-N", "${attr.unique.hostname}", "--conf-server", "mgmt:6817"]

        # slurmd alone ends with its task: slurmstepd and the Slurm jobs live on, and the next slurmd takes them over
        # (they meet in SlurmdSpoolDir, which stays). Debian's slurmd.service says the same.
        kill_mode = "process"
      }

      # Slurm jobs are started in the cgroup of slurmd's task: its limit of processes is theirs.
      resources {
        cpu    = 50
        memory = 128
        pids   = 32768
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
