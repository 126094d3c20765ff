# The controller: a service with a fixed port on the management host.
job "slurmctld" {
  priority    = 95
  datacenters = [cluster.datacenter]
  node_pool   = "management"
  type        = "service"

  depends_on {
    job   = "munge"
    scope = "node"
  }

  group "slurmctld" {
    network {
      port "slurmctl" {
        static = 6817
      }
    }

    task "slurmctld" {
      driver       = "raw_exec"
      user         = "root"
      kill_signal  = "SIGTERM"
      kill_timeout = "20s" # it saves its state before it ends

      config {
        command = "/usr/sbin/slurmctld"
        args    = ["-D", "-f", "${NOMAD_TASK_DIR}/slurm.conf"]
      }

      template {
        destination = "local/slurm.conf"
        data        = templatefile("slurm.conf", { slurm = slurm })
      }

      template {
        destination = "local/cgroup.conf"
        data        = templatefile("cgroup.conf", { slurm = slurm })
      }

      resources {
        cpu    = 200
        memory = 256
      }
    }

    # Once it listens, running slurmds are told to fetch the configuration again: it may have changed.
    task "ready" {
      driver = "raw_exec"

      lifecycle {
        hook = "poststart"
      }

      env {
        SLURM_CONF = "${NOMAD_ALLOC_DIR}/../slurmctld/local/slurm.conf"
      }

      config {
        command = "/bin/sh"
        args    = ["-c", "until ss -Hltn 'sport = :6817' | grep -q .; do sleep 0.05; done; scontrol reconfigure"]
      }

      resources {
        cpu    = 10
        memory = 16
      }
    }
  }
}
