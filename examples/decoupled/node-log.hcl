# On every host: what it logs goes to the log capsule, over the host's disk when that does not answer.
job "node-log" {
  priority    = 85
  datacenters = [cluster.datacenter]
  node_pool   = "all"
  type        = "system"

  constraint {
    attribute = "${node.pool}"
    operator  = "!="
    value     = "outside"
  }

  group "node-log" {
    task "rsyslogd" {
      driver = "raw_exec"
      user   = "root"

      config {
        command = "/usr/sbin/rsyslogd"
        args    = ["-n", "-f", "${NOMAD_TASK_DIR}/rsyslog.conf", "-i", "/run/rsyslogd.pid"]
      }

      template {
        destination = "local/rsyslog.conf"
        data        = <<-CONF
          module(load="imuxsock")
          module(load="omrelp")
          global(workDirectory="/var/spool/rsyslog")
          action(type="omrelp" target="${local.log}" port="2514" timeout="5"
                 queue.type="LinkedList" queue.filename="to-log" queue.maxDiskSpace="256m" queue.saveOnShutdown="on"
                 action.resumeRetryCount="-1" action.resumeInterval="1")
        CONF
      }

      resources {
        cpu    = 20
        memory = 64
      }
    }
  }
}
