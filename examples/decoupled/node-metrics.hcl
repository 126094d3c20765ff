# The nodes' health, as lines of the log and as metrics: what Ganglia's daemons were for.
job "node-metrics" {
  priority    = 50
  datacenters = [cluster.datacenter]
  node_pool   = "all"
  type        = "system"

  constraint {
    attribute = "${node.pool}"
    operator  = "set_contains_any"
    value     = "compute,login,infra"
  }

  depends_on {
    job   = "node-log"
    scope = "node"
  }

  group "node-metrics" {
    task "observe" {
      driver = "raw_exec"
      user   = "root"

      config {
        command = "/bin/sh"
        args    = ["${NOMAD_TASK_DIR}/observe"]
      }

      template {
        destination = "local/observe"
        data        = file("nodes/observe")
      }

      resources {
        cpu    = 10
        memory = 16
      }
    }
  }
}
