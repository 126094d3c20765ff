# Compute hosts have one network. Whatever is not on it, they reach through the gateways.
job "node-route" {
  priority    = 60
  datacenters = [cluster.datacenter]
  node_pool   = "compute"
  type        = "system"

  group "node-route" {
    task "route" {
      driver = "raw_exec"
      user   = "root"

      config {
        command = "/bin/sh"
        args    = ["-c", "ip route replace default via ${local.gateway} && exec sleep infinity"]
      }

      resources {
        cpu    = 5
        memory = 16
      }
    }
  }
}
