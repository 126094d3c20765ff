# The controller (listing 1 of the CSCS paper): a service with a fixed port, pinned to one host by its name.

variable "slurm_ctld_host" {
  type    = string
  default = "mgmt"
}

job "slurmctld" {
  priority    = 95
  datacenters = [cluster.datacenter]
  node_pool   = "management"
  type        = "service"

  constraint {
    attribute = "${attr.unique.hostname}"
    value     = var.slurm_ctld_host
  }

  depends_on {
    job   = "munge"
    scope = "node"
  }
  depends_on {
    job = "slurmdbd"
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

      # slurm.conf holds the site's settings; the nodes and partitions come from the pools of cluster.hcl.
      template {
        destination = "local/slurm.conf"
        data        = templatefile("slurm.conf", { controller = var.slurm_ctld_host, slurm = slurm })
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
