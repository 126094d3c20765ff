# The database of slurmdbd.
job "mariadb" {
  priority    = 90
  datacenters = [cluster.datacenter]
  node_pool   = "management"
  type        = "service"

  group "mariadb" {
    task "install" {
      driver = "raw_exec"
      user   = "mysql"

      lifecycle {
        hook = "prestart"
      }

      config {
        command = "/bin/sh"
        args    = ["-c", <<-SCRIPT
          set -e
          data=/var/lib/mysql/cluster
          [ -d "$data/mysql" ] && exit 0
          exec mariadb-install-db --no-defaults --datadir="$data" --auth-root-authentication-method=socket --auth-root-socket-user=root --skip-test-db
        SCRIPT
        ]
      }

      resources {
        cpu    = 100
        memory = 300
      }
    }

    task "mariadbd" {
      driver      = "raw_exec"
      user        = "mysql"
      kill_signal = "SIGTERM"

      config {
        command = "/usr/sbin/mariadbd"
        args = [
          "--no-defaults", "--datadir=/var/lib/mysql/cluster", "--socket=/run/mysqld/mysqld.sock", "--skip-networking",
          "--skip-name-resolve", "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=16M",
          "--innodb-lock-wait-timeout=900", "--performance-schema=OFF", "--skip-log-bin",
        ]
      }

      resources {
        cpu    = 200
        memory = 512
      }
    }

    task "ready" {
      driver = "raw_exec"

      lifecycle {
        hook = "poststart"
      }

      config {
        command = "/bin/sh"
        args = ["-c", <<-SCRIPT
          until mariadb --no-defaults --socket=/run/mysqld/mysqld.sock -u root -e 'select 1' >/dev/null 2>&1; do
            sleep 0.05
          done
        SCRIPT
        ]
      }

      resources {
        cpu    = 20
        memory = 64
      }
    }
  }
}
