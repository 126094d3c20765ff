# A cluster whose management server was taken apart. Two infrastructure hosts carry the critical services as capsules;
# the management host keeps what can wait: provisioning, and the files that are changed by people. Switch it off for as
# long as you like (docs/tutorial-decoupling.md).

variable "compute_nodes" {
  type        = number
  default     = 4
  description = "How many compute hosts the cluster has."
}

variable "management_hosts" {
  type        = number
  default     = 1
  description = "0 switches the management host off: `underway apply -detach -var management_hosts=0 examples/decoupled`."
}

variable "compute_cpus" {
  type        = number
  default     = 0
  description = "Processors that each compute host tells Slurm of; 0: those of this machine. More than it has is for demonstrations only: nothing is bound to cores then."
}

# Where the capsules are, whatever host they run on. Hosts have the numbers from 10 on, these are below.
locals {
  gateway = "10.78.0.1" # held by one of the gateways at a time
  slurm   = "10.78.0.5"
  time    = "10.78.0.6"
  log     = "10.78.0.7"
  files   = "10.78.0.8"
  mail    = "10.78.0.9"
  outside = "192.0.2.1" # the address that the gateways have outside, one at a time

  # Who uses the cluster, with their numbers: on every host (slurm.files.hcl), and in the accounting (slurm-services.hcl).
  users = {
    alice = 5000
  }
}

# slurmd must be root on its hosts, and so is its task.
namespace "default" {
  raw_exec_as_root = true
}

cluster "apart" {
  datacenter = "dc1"

  network "prov" {
    cidr = "10.78.0.0/24"
  }

  network "public" {
    cidr = "192.0.2.0/24"
  }

  # Made when they are missing, and never changed by `up`. Capsules and nodes have the same munge key, so it lies where
  # every task may read it.
  secret "nomad/jobs" {
    generate "munge_key" {
      bytes = 128
    }
  }
  secret "nomad/jobs/slurm-services" {
    generate "password" {
      encoding = "hex"
    }
  }

  # Seen by all hosts, as a site's parallel file system is.
  share "/home" {}

  # What the file server exports: it must outlive a move, so both infrastructure hosts see it.
  share "/srv/export" {}

  # The management host's disk: local hosts lose their own when they go.
  share "/srv/masters" {}

  # Where munged keeps its socket.
  directory "/run/munge" {
    owner = "munge"
    group = "munge"
  }

  # Hosts for capsules: each network is a bridge on them.
  pool "infra" {
    size     = 2
    hostname = "infra%d"
    bridges  = true
  }

  pool "management" {
    size     = var.management_hosts
    hostname = "mgmt"
  }

  pool "login" {
    hostname = "login"
  }

  # One network: the way out is through the gateways.
  pool "compute" {
    size     = var.compute_nodes
    hostname = "c%d"
    networks = ["prov"]
    cpus     = var.compute_cpus # local hosts share the machine's processors and its memory: each declares all of them
  }

  # Stands for the rest of the world.
  pool "outside" {
    hostname = "outside"
    networks = ["public"]
  }
}
