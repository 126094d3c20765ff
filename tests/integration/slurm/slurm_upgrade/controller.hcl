# munge and slurmctld of one release of Debian.
image "slurm-controller" {
  version     = "RELEASE"
  description = "Slurm's controller"

  from directory "root" {}
  remove = ["/etc/munge/munge.k*"]

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
  directory "/home" {}

  dynamic "file" {
    for_each = ["munge", "before-revert"]
    labels   = ["/usr/lib/capsule/slurm/${file.value}"]
    content {
      source = "files/slurm/${file.value}"
      mode   = "0755"
    }
  }
  file "/usr/lib/capsule/slurm/slurmctld" {
    source = "slurmctld"
    mode   = "0755"
  }
  link "/etc/slurm/slurm.conf" {
    target = "/local/slurm.conf"
  }
  link "/etc/slurm/cgroup.conf" {
    target = "/local/cgroup.conf"
  }

  service "munge" {
    command = ["/usr/lib/capsule/slurm/munge"]
    ready   = ["/bin/sh", "-c", "munge -n | unmunge >/dev/null"]
  }
  service "slurmctld" {
    command      = ["/usr/lib/capsule/slurm/slurmctld", "RELEASE"]
    depends_on   = ["munge"]
    ready        = ["/bin/sh", "-c", "ss -Hltn 'sport = :6817' | grep -q ."]
    stop_timeout = "30s"
  }

  step "check" {
    command = ["/bin/sh", "-c", "scontrol ping | grep -q UP"]
  }
  step "before_revert" {
    command = ["/usr/lib/capsule/slurm/before-revert"]
  }

  network "prov" {
    ports = ["6817/tcp"]
  }
  writable = ["/var/lib/slurm/slurmctld", "/var/log"]
}
