# Time for the cluster. Local hosts share the machine's clock, so it serves time and never sets it (-x).
job "chronyd" {
  priority    = 80
  datacenters = [cluster.datacenter]
  node_pool   = "management"
  type        = "service"

  group "chronyd" {
    network {
      port "ntp" {
        static = 123
      }
    }

    task "chronyd" {
      driver      = "raw_exec"
      user        = "root"
      kill_signal = "SIGTERM"

      config {
        command = "/usr/sbin/chronyd"
        args    = ["-x", "-d", "-f", "${NOMAD_TASK_DIR}/chrony.conf"]
      }

      template {
        destination = "local/chrony.conf"
        data        = <<-CONF
          local stratum 3
          allow ${cluster.networks.cluster.cidr}
          cmdport 0
          pidfile /run/chronyd.pid
        CONF
      }

      resources {
        cpu    = 20
        memory = 32
      }
    }
  }
}
