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

    # The database and its account, whose password nobody else knows.
    task "account" {
      driver = "raw_exec"

      lifecycle {
        hook = "prestart"
      }

      config {
        command = "/bin/sh"
        args    = ["-c", "exec mariadb --no-defaults --socket=/run/mysqld/mysqld.sock -u root <$NOMAD_SECRETS_DIR/account.sql"]
      }

      template {
        destination = "secrets/account.sql"
        perms       = "0400"
        data        = file("account.sql")
      }

      resources {
        cpu    = 20
        memory = 64
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

      # slurmdbd looks for its own file beside slurm.conf; it holds the password, so it lies in memory.
      env {
        SLURM_CONF = "${NOMAD_SECRETS_DIR}/slurm.conf"
      }

      template {
        destination = "secrets/slurmdbd.conf"
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
