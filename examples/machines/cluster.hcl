# A Slurm cluster whose jobs may ask for virtual machines of their own: they are made on the nodes of a job when it
# starts, in a network that no other job sees, and are gone before the nodes are another job's.
# docs/how-to/give-a-slurm-job-virtual-machines.md says what happens.
#
# It is as small as such a cluster can be: one management host, one login host, two compute hosts. There is no accounting
# (examples/slurm has it), and jobs are root's.

# slurmd and slurmctld must be root on their hosts, and so are their tasks, and those that make the networks of jobs:
# whoever applies this directory says so here.
namespace "default" {
  raw_exec_as_root = true
}

# Where what the machines boot lies on the hosts of the pool "compute": machine/build makes it. It is a Debian without
# anything to log in to: what your users shall find there is yours to say.
variable "images" {
  type    = string
  default = "/var/lib/machine-images/node"
}

cluster "machines" {
  datacenter = "dc1"

  network "cluster" {
    cidr = "10.94.0.0/24"
  }

  # Made when it is missing, and never changed by `up`: `underway var get nomad/jobs/munge`.
  secret "nomad/jobs/munge" {
    generate "key" {
      bytes = 128
    }
  }

  # Where munged keeps its socket.
  directory "/run/munge" {
    owner = "munge"
    group = "munge"
  }

  pool "management" {
    hostname = "mgmt"
  }

  pool "login" {
    hostname = "login"
  }

  pool "compute" {
    size     = 2
    hostname = "c%d"
    cpus     = 4    # local hosts share this machine's processors: more than there are, so that two jobs fit on one
    memory   = 3000 # MiB
  }

  # sbatch -N2 -n2 --mem=1G --comment=machines:small job.sh
  machines "small" {
    image    = "${var.images}/root.erofs"
    kernel   = "${var.images}/vmlinuz"
    initrd   = "${var.images}/initrd"
    append   = "console=ttyS0 panic=-1 quiet"
    cpus     = 1
    memory   = 256 # MiB
    disk     = "1G"
    per_node = 1

    # Each job has a part of it. Nothing else may have these addresses.
    network = "10.200.0.0/16"

    # MiB that the machines of a job on one node share.
    shared_memory = 16
  }
}
