# munge, MariaDB and slurmdbd of one release of Debian.
image "slurm-accounting" {
  version     = "RELEASE"
  description = "Slurm's accounting"

  from directory "root" {}
  remove = ["/etc/munge/munge.k*", "/var/lib/mysql/*"]

  directory "/var/lib/slurm" {
    user = "slurm"
  }
  directory "/var/log/slurm" {
    user = "slurm"
  }
  directory "/var/log/munge" {
    user = "munge"
    mode = "0700"
  }
  directory "/var/lib/munge" {
    user = "munge"
    mode = "0711"
  }
  directory "/home" {}

  dynamic "file" {
    for_each = ["munge", "mariadb", "mariadb-upgrade", "slurmdbd", "before-revert"]
    labels   = ["/usr/lib/capsule/slurm/${file.value}"]
    content {
      source = "files/slurm/${file.value}"
      mode   = "0755"
    }
  }
  link "/etc/slurm/slurm.conf" {
    target = "/local/slurm.conf"
  }

  service "munge" {
    command = ["/usr/lib/capsule/slurm/munge"]
    ready   = ["/bin/sh", "-c", "munge -n | unmunge >/dev/null"]
  }
  service "mariadb" {
    command      = ["/usr/lib/capsule/slurm/mariadb"]
    ready        = ["/bin/sh", "-c", "mariadb --no-defaults --socket=/run/mysqld/mysqld.sock -u root -e 'select 1' >/dev/null"]
    stop_timeout = "60s"
  }
  service "mariadb-upgrade" {
    command    = ["/usr/lib/capsule/slurm/mariadb-upgrade"]
    depends_on = ["mariadb"]
    restart    = "never"
  }
  service "slurmdbd" {
    command    = ["/usr/lib/capsule/slurm/slurmdbd"]
    depends_on = ["munge", "mariadb-upgrade"]
    ready      = ["/bin/sh", "-c", "ss -Hltn 'sport = :6819' | grep -q ."]
  }

  step "check" {
    command = ["/bin/sh", "-c", "sacctmgr -n list cluster >/dev/null"]
  }
  step "before_revert" {
    command = ["/usr/lib/capsule/slurm/before-revert"]
  }

  network "prov" {
    ports = ["6819/tcp"]
  }
  writable = ["/var/lib/mysql", "/var/log"]
}
