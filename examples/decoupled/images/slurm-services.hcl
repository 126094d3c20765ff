# slurmctld, slurmdbd, MariaDB and munge: what every node talks to, and what these talk to.
image "slurm-services" {
  version     = "{slurmctld}"
  description = "Slurm's controller with accounting, database and authentication"

  from image "base.capsule" {}
  packages = ["slurmctld", "slurmdbd", "slurm-client", "mariadb-server", "munge", "iputils-ping", "msmtp", "libslurm-perl"]

  repository "debian" {
    url        = "http://deb.debian.org/debian"
    suite      = "bookworm"
    components = ["main"]
  }

  # The packages make a key and an empty database when they are installed. Neither belongs into an image.
  remove = ["/etc/munge/munge.k*", "/var/lib/mysql/*"]

  directory "/var/lib/slurm/slurmctld" {
    user = "slurm"
    mode = "0750"
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

  dynamic "file" {
    for_each = ["munge", "mariadb", "mariadb-upgrade", "slurmdbd", "accounts", "hold", "slurmctld", "mail", "reach-nodes",
    "after-start", "before-revert", "enter-end"]
    labels   = ["/usr/lib/capsule/slurm/${file.value}"]
    content {
      source = "files/slurm/${file.value}"
      mode   = "0755"
    }
  }

  # What the job file gives the capsule.
  link "/etc/slurm/slurm.conf" {
    target = "/local/slurm.conf"
  }
  link "/etc/slurm/cgroup.conf" {
    target = "/local/cgroup.conf"
  }
  # What holds slurmctld until it was compared with the nodes.
  link "/etc/slurm/underway-hold.conf" {
    target = "/local/underway-hold.conf"
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

  # It saves its state before it ends. It does not wait for slurmdbd, and keeps for it what there is to tell: nodes miss
  # the controller, and the accounts are needed by nobody in a hurry.
  service "slurmctld" {
    command      = ["/usr/lib/capsule/slurm/slurmctld"]
    depends_on   = ["munge"]
    ready        = ["/bin/sh", "-c", "ss -Hltn 'sport = :6817' | grep -q ."]
    stop_timeout = "30s"
  }

  step "probe" {
    command = ["/usr/lib/capsule/slurm/reach-nodes"]
    timeout = "60s"
  }
  step "after_start" {
    command = ["/usr/lib/capsule/slurm/after-start"]
  }
  step "before_revert" {
    command = ["/usr/lib/capsule/slurm/before-revert"]
  }
  step "check" {
    command = ["/bin/sh", "-c", "scontrol ping | grep -q UP && sacctmgr -n list cluster >/dev/null"]
  }

  network "prov" {
    ports = ["6817/tcp", "6819/tcp"]
  }

  writable = ["/var/lib/slurm/slurmctld", "/var/lib/mysql", "/var/log"]
}
