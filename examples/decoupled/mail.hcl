# Mail of the cluster's users and of Slurm. Here it ends in a mailbox of the capsule; at a site, `relayhost` sends it on.
job "mail" {
  priority    = 70
  datacenters = [cluster.datacenter]
  node_pool   = "infra"
  type        = "service"

  group "mail" {
    task "mail" {
      driver = "capsule"

      config {
        image    = "images/mail.capsule"
        hostname = "mail"

        network "prov" {
          addresses = ["${local.mail}/24"]
        }
      }

      resources {
        cpu    = 50
        memory = 128
      }
    }
  }
}
