# A Slurm cluster of virtual machines in which urgent work goes first: when its partition has no room, machines of the
# other one sleep, with their Slurm jobs, and go on when the room is free again. docs/how-to/urgent-work-first.md says
# what happens.
#
# It is as small as such a cluster can be: one management host, one login host, one host that holds machines. There is
# no accounting (examples/slurm has it), and jobs are root's.

# slurmd and slurmctld must be root on their hosts, and so are their tasks: whoever applies this directory says so here.
namespace "default" {
  raw_exec_as_root = true
}

# Where the machines' root, kernel and initrd lie on the hosts of the pool "metal": packaging/node-image makes them,
# with the packages slurmd, slurm-client and munge.
variable "images" {
  type    = string
  default = "/var/lib/machine-images/slurm-node"
}

cluster "urgent" {
  datacenter = "dc1"

  network "cluster" {
    cidr = "10.93.0.0/24"
    nat  = true
  }

  # Made when it is missing, and never changed by `up`: `underway var get nomad/jobs/munge`.
  secret "nomad/jobs/munge" {
    generate "key" {
      bytes = 128
    }
  }

  elastic {
    # What those are promised who sleep for others.
    promises {
      max_suspensions = 3    # of one machine
      max_asleep      = "4h" # in all
    }
  }

  pool "management" {
    hostname = "mgmt"
  }

  pool "login" {
    hostname = "login"
  }

  # Holds the machines of the two pools below; several of them in a cluster that is no example.
  pool "metal" {
    hostname = "m%d"
    bridges  = true
  }

  # Work that can wait. Two machines are always there: while one of them sleeps the other answers for it in Slurm.
  pool "batch" {
    provider = "qemu"
    size     = 2
    hostname = "b%d"
    cpus     = 1
    memory   = 512 # MiB

    machine {
      on     = "metal"
      image  = "${var.images}/root.erofs"
      kernel = "${var.images}/vmlinuz"
      initrd = "${var.images}/initrd"
      append = "console=ttyS0 panic=-1 quiet"
      disk   = "2G"
      cpu    = var.machine_mhz
    }

    slurm {
      most     = 3
      join     = "cloud" # one job runs slurmd in both
      programs = ["/usr/sbin/slurmd"]
    }

    elastic {
      yields     = true # its hosts sleep for those of pools that are urgent
      start_time = "60s"
    }
  }

  # Work that cannot. None is there until somebody submits it.
  pool "urgent" {
    provider = "qemu"
    size     = 0
    hostname = "u%d"
    cpus     = 1
    memory   = 512 # MiB

    machine {
      on     = "metal"
      image  = "${var.images}/root.erofs"
      kernel = "${var.images}/vmlinuz"
      initrd = "${var.images}/initrd"
      append = "console=ttyS0 panic=-1 quiet"
      disk   = "2G"
      cpu    = var.machine_mhz
    }

    slurm {
      most     = 1
      join     = "cloud" # one job runs slurmd in both
      programs = ["/usr/sbin/slurmd"]
    }

    elastic {
      urgent     = true
      keep_alive = "10s" # then its room is given back
      start_time = "60s"
    }
  }
}

# What a machine takes of the processors of its host, in MHz; 0: 500 for each of its own. With two fifths of what
# `underway node status -verbose` tells of m1 there is room for two machines, which shows what this is about.
variable "machine_mhz" {
  type    = number
  default = 0
}
