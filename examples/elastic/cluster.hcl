# A Slurm cluster that grows on demand, on this machine: one management host, one login host, and compute hosts, two of
# them always and up to six while Slurm jobs wait. docs/how-to/grow-on-demand.md says what happens.
#
# It is as small as such a cluster can be, and has no accounting: sacct says nothing, and who may run jobs is said by
# AllowGroups in slurm.conf. How a cluster has accounting: examples/slurm.

# Who uses the cluster, with their numbers: on every host (site.files.hcl), and in slurm.conf, which lets nobody else in.
locals {
  users = {
    alice = 5000
  }
}

# slurmd and slurmctld must be root on their hosts, and so are their tasks. That is nothing that a namespace allows by
# itself: whoever applies this directory says so here, and needs management rights to do it (root on this machine has
# them).
namespace "default" {
  raw_exec_as_root = true
}

cluster "tide" {
  datacenter = "dc1"

  network "cluster" {
    cidr = "10.79.0.0/24"
  }

  # Made when it is missing, and never changed by `up`: `underway var get nomad/jobs/munge`.
  secret "nomad/jobs/munge" {
    generate "key" {
      bytes = 128
    }
  }

  # Seen by all hosts, as a site's home directories are.
  share "/home" {}

  # Where munged keeps its socket.
  directory "/run/munge" {
    owner = "munge"
    group = "munge"
  }

  # When its pools grow and shrink. With nothing in it, or without it, a single Slurm job that waits has hosts made, no
  # pool has more than its own `most`, and nothing is made before a job asks for it.
  elastic {
    # One job is not worth a host? Then so many must have waited for so long; of several such blocks one suffices.
    # threshold {
    #   jobs    = 5
    #   minutes = 2
    # }

    # Hosts that cost something (`cost_per_hour` of a pool) have no limit but their number before one stands here. When
    # it is reached none is made, and none is taken from a job.
    # budget {
    #   day   = "20"
    #   month = "300"
    # }

    # Of all pools together, those that are always there too.
    # max_nodes = 6

    # A Slurm job of several hosts has all of them by then, or gives them back for others.
    gang_deadline = "2m"
  }

  pool "management" {
    hostname = "mgmt"
  }

  pool "login" {
    hostname = "login"
  }

  pool "compute" {
    size     = 2 # hosts that it always has
    hostname = "c%d"

    # What one host has, known before there is any. Local hosts share this machine's processors and memory: little, so
    # that six of them fit on a small one.
    cpus   = 1
    memory = 1000 # MiB

    # Its hosts become nodes of Slurm when they are ready, and leave it, empty, before they go.
    slurm {
      most     = 6 # hosts that it will ever have
      mounts   = ["/home"]
      programs = ["/usr/sbin/slurmd"]
    }

    # Without this block the pool has `size` hosts, whoever waits.
    elastic {
      keep_alive   = "20s" # that a host without a job stays; of one that is slow to start, or paid by the hour: longer
      start_time   = "5s"  # from asking for a host until Slurm has it, as a rule; a virtual machine: "90s"
      boot_timeout = "1m"  # then something is wrong with it, and another one is tried
      # cost_per_hour = "0.40"
    }
  }
}
