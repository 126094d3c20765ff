# What is the same on all hosts, or on all of a kind: docs/how-to/keep-files-the-same.md.

# The users of this machine, as whose the daemons run that its packages brought. That is right where all hosts are made of
# this machine's files, as here, and wrong on hosts that are installed by themselves: examples/slurm/site.files.hcl says
# why.
file "users" {
  path    = "/etc/passwd"
  content = file("/etc/passwd")
}
file "groups" {
  path    = "/etc/group"
  content = file("/etc/group")
}

# sinfo, srun and sbatch where no slurmd is; on the compute hosts slurmd fetches it from the controller.
file "slurm.conf of clients" {
  path    = "/etc/slurm/slurm.conf"
  content = templatefile("slurm.conf", { slurm = slurm })
  targets {
    pools = ["login", "management"]
  }
}

# What slurmd runs before and after each job.
file "/etc/slurm/machines/prolog" {
  source = "prolog"
  mode   = "0755"
  targets {
    pools = ["compute"]
  }
}
file "/etc/slurm/machines/epilog" {
  source = "epilog"
  mode   = "0755"
  targets {
    pools = ["compute"]
  }
}
file "/etc/slurm/machines/task-prolog" {
  source = "task-prolog"
  mode   = "0755"
  targets {
    pools = ["compute"]
  }
}
