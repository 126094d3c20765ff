# What every job depends on, in one capsule: munge, the database, slurmdbd and slurmctld move together. `underway capsule
# move slurm-services --to infra2` is one command that no Slurm job notices.
job "slurm-services" {
  priority    = 95
  datacenters = [cluster.datacenter]
  node_pool   = "infra"
  type        = "service"

  group "slurm-services" {
    # Should it die as a whole, it starts again at once, and as often as it takes: nobody else may.
    restart {
      attempts = 10
      delay    = "1s"
      interval = "5m"
      mode     = "delay"
    }

    task "slurm-services" {
      driver       = "capsule"
      kill_timeout = "60s" # slurmctld saves its state, MariaDB closes its files

      config {
        image    = "images/slurm-services.capsule"
        hostname = "ctl"

        network "prov" {
          addresses = ["${local.slurm}/24"]
        }

        # The controller finds its nodes by name.
        dns {
          hosts = { for host in concat(cluster.pools.compute.hosts, cluster.pools.login.hosts) : host.name => host.addresses.prov }
        }

        # All as in the image. Named here, it is known to the server, which compares it with the nodes when it starts.
        service "slurmctld" {}
      }

      # In memory only. The services copy them to files of their own users (images/files/slurm).
      template {
        destination = "secrets/munge.key"
        perms       = "0400"
        data        = "{{ with nomadVar \"nomad/jobs\" }}{{ .munge_key }}{{ end }}"
      }
      template {
        destination = "secrets/account.sql"
        perms       = "0400"
        data        = file("account.sql")
      }
      template {
        destination = "secrets/slurmdbd.conf"
        perms       = "0400"
        data        = file("slurmdbd.conf")
      }

      # slurm.conf holds the site's settings; the nodes and partitions come from the pools of cluster.hcl. The capsule's
      # /etc/slurm/slurm.conf is a link to it.
      template {
        destination = "local/slurm.conf"
        data        = templatefile("slurm.conf", { controller = local.slurm, slurm = slurm, held = true })
      }
      template {
        destination = "local/cgroup.conf"
        data        = templatefile("cgroup.conf", { slurm = slurm })
      }
      # Of the users of the cluster, beside those of the image: who may run jobs.
      template {
        destination = "local/users"
        data        = join("", [for name, uid in local.users : "${name}:x:${uid}:${uid}::/home/${name}:/bin/sh\n"])
      }
      template {
        destination = "local/mail.conf"
        data        = "host ${local.mail}\nfrom slurm@cluster\n"
      }

      resources {
        cpu    = 500
        memory = 1024
      }
    }
  }
}
