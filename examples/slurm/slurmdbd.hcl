# Accounting, so that sacct works.
job "slurmdbd" {
  priority    = 90
  datacenters = [cluster.datacenter]
  node_pool   = "management"
  type        = "service"

  depends_on {
    job   = "mariadb"
    scope = "node"
  }
  depends_on {
    job   = "munge"
    scope = "node"
  }

  group "slurmdbd" {
    network {
      port "slurmdbd" {
        static = 6819
      }
    }

    task "slurmdbd" {
      driver      = "raw_exec"
      user        = "slurm"
      kill_signal = "SIGTERM"

      config {
        command = "/usr/sbin/slurmdbd"
        args    = ["-D"]
      }

      # slurmdbd looks for its own file beside slurm.conf.
      env {
        SLURM_CONF = "${NOMAD_TASK_DIR}/slurm.conf"
      }

      template {
        destination = "local/slurmdbd.conf"
        perms       = "0600"
        data        = file("slurmdbd.conf")
      }

      resources {
        cpu    = 50
        memory = 128
      }
    }

    task "ready" {
      driver = "raw_exec"

      lifecycle {
        hook = "poststart"
      }

      config {
        command = "/bin/sh"
        args    = ["-c", "until ss -Hltn 'sport = :6819' | grep -q .; do sleep 0.05; done"]
      }

      resources {
        cpu    = 10
        memory = 16
      }
    }
  }
}
