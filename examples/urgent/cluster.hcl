# A Slurm cluster of virtual machines in which urgent work goes first: when its partition has no room, machines of the
# other one sleep, with their Slurm jobs, and go on when the room is free again. docs/how-to/urgent-work-first.md says
# what happens.
#
# It is as small as such a cluster can be: one management host, one login host, two hosts with room for one machine each.
# There is no accounting (examples/slurm has it), and jobs are root's.

# slurmd and slurmctld must be root on their hosts, and so are their tasks: whoever applies this directory says so here.
namespace "default" {
  raw_exec_as_root = true
}

# Where the machines' root, kernel and initrd lie on the hosts of the pool "metal": machine/build makes them.
variable "images" {
  type    = string
  default = "/var/lib/machine-images/slurm-node"
}

cluster "ebb" {
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

  # Holds the machines of the two pools below: one on each, and the daemons of the cluster. Without cpu_total_compute its
  # nodes have all that this machine has, and on a large one nobody would have to sleep.
  pool "metal" {
    size              = 2
    hostname          = "m%d"
    bridges           = true
    cpu_total_compute = 700 # MHz
  }

  # Work that can wait. One machine is always there, another one while Slurm jobs wait.
  pool "batch" {
    provider = "qemu"
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
      cpu    = 500 # MHz
    }

    slurm {
      most     = 2
      join     = "cloud" # one job runs slurmd in both
      programs = ["/usr/sbin/slurmd"]
    }

    elastic {
      yields     = true # its hosts sleep for those of pools that are urgent
      keep_alive = "10s"
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
      cpu    = 500 # MHz
    }

    slurm {
      most     = 1
      join     = "cloud" # one job runs slurmd in both
      programs = ["/usr/sbin/slurmd"]
    }

    elastic {
      urgent     = true
      owner      = "physics" # whose jobs are urgent in whichever partition; others say it: sbatch -p urgent
      keep_alive = "10s"     # then its room is given back
      start_time = "60s"
    }
  }
}
