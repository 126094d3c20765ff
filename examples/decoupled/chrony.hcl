# Time for the cluster. It writes nothing that would be missed, so it moves in milliseconds.
job "chrony" {
  priority    = 80
  datacenters = [cluster.datacenter]
  node_pool   = "infra"
  type        = "service"

  group "chrony" {
    task "chrony" {
      driver = "capsule"

      config {
        image    = "images/chrony.capsule"
        hostname = "time"

        # All that chronyd uses before it becomes _chrony.
        capabilities = ["chown", "setgid", "setuid", "net_bind_service"]

        network "prov" {
          addresses = ["${local.time}/24"]
        }
      }

      template {
        destination = "local/chrony.conf"
        data        = <<-CONF
          local stratum 3
          allow ${cluster.networks.prov.cidr}
          driftfile /var/lib/chrony/chrony.drift
          cmdport 0
          pidfile /run/chronyd.pid
        CONF
      }

      resources {
        cpu    = 20
        memory = 64
      }
    }
  }
}
