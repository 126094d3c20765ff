# A Slurm cluster on this machine: one management host, one login host, four compute hosts.
# Every host is a set of namespaces with its own root, network and address; each becomes a node of the cluster.

variable "compute_nodes" {
  type        = number
  default     = 4
  description = "How many compute hosts the cluster has."
}

variable "compute_cpus" {
  type        = number
  default     = 0
  description = "Processors that each compute host tells Slurm of; 0: those of this machine. More than it has is for demonstrations only: nothing is bound to cores then."
}

# Who uses the cluster, with their numbers: on every host (site.files.hcl), and in the accounting (slurmdbd.hcl).
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

cluster "demo" {
  datacenter = "dc1"

  network "cluster" {
    cidr = "10.77.0.0/24"
  }

  # Made when they are missing, and never changed by `up`: `underway var get nomad/jobs/munge`.
  secret "nomad/jobs/munge" {
    generate "key" {
      bytes = 128
    }
  }
  secret "nomad/jobs/slurmdbd" {
    generate "password" {
      encoding = "hex"
    }
  }

  # Seen by all hosts, as a site's home directories are.
  share "/home" {}

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
    size     = var.compute_nodes
    hostname = "c%d"
    cpus     = var.compute_cpus # local hosts share the machine's processors and its memory: each declares all of them
  }
}
