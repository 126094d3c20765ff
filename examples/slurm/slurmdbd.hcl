# Accounting: sacct works, and only those who are entered here may run jobs (AccountingStorageEnforce in slurm.conf).
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

    # Once it listens: the cluster with the accounts of root and of those who use it. What is there stays as it is.
    task "ready" {
      driver = "raw_exec"

      lifecycle {
        hook = "poststart"
      }

      env {
        SLURM_CONF = "${NOMAD_TASK_DIR}/slurm.conf"
      }

      config {
        command = "/bin/sh"
        args = ["-c", <<-SCRIPT
          until ss -Hltn 'sport = :6819' | grep -q .; do sleep 0.05; done
          listed() { grep -qFx -- "$1"; }
          sacctmgr -nP list cluster format=cluster | listed demo || sacctmgr -iQ add cluster demo
          # The database may have other clusters, with these accounts and users: what counts is what this one has.
          belongs() { sacctmgr -nP list associations cluster=demo account=users format=account,user | listed "users|$1"; }
          belongs '' || sacctmgr -iQ add account users cluster=demo
          while read -r name; do
            belongs "$name" || sacctmgr -iQ add user "$name" account=users cluster=demo </dev/null
          done <"$NOMAD_TASK_DIR/users"
        SCRIPT
        ]
      }

      template {
        destination = "local/slurm.conf"
        data        = "ClusterName=demo\nSlurmctldHost=mgmt\nAccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=mgmt\n"
      }
      template {
        destination = "local/users"
        data        = join("", [for name, uid in local.users : "${name}\n"])
      }

      resources {
        cpu    = 10
        memory = 16
      }
    }
  }
}
