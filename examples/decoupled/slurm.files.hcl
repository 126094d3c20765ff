# What is the same on all hosts, or on all of a kind, for Slurm: docs/how-to/keep-files-the-same.md.

# The users of this machine, as whose the daemons run that its packages brought, and those of the cluster (cluster.hcl).
# That is right where all hosts are made of this machine's files, as here. On a host that is installed by itself system
# users have other numbers: there this would give the files of munge or slurm to somebody else. A site with such hosts
# takes neither whole: it looks at `getent passwd munge slurm` on each, gives these the same number everywhere before any
# daemon has run, and lets users come from a directory (LDAP, sssd) or adds just their lines.
file "users" {
  path    = "/etc/passwd"
  content = join("", concat([file("/etc/passwd")], [for name, uid in local.users : "${name}:x:${uid}:${uid}::/home/${name}:/bin/bash\n"]))
}
file "groups" {
  path    = "/etc/group"
  content = join("", concat([file("/etc/group")], [for name, uid in local.users : "${name}:x:${uid}:\n"]))
}

# sinfo, srun and sbatch where no slurmd is; on the compute hosts slurmd fetches it from the controller.
file "slurm.conf of clients" {
  path    = "/etc/slurm/slurm.conf"
  content = templatefile("slurm.conf", { controller = local.slurm, slurm = slurm, held = false })
  targets {
    pools = ["login"]
  }
}

# HealthCheckProgram of slurm.conf.
file "/usr/local/sbin/node-health" {
  source = "nodes/health"
  mode   = "0755"
  targets {
    pools = ["compute"]
  }
}
