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

      # The queue is on the disk always. One in memory that goes to the disk when it is full loses lines on the way
      # (rsyslog 8.2302, 2000 lines a second: one line in each eight restarts of the log; on the disk none in 32).
      # Its size is also counted in lines, 1000 unless it is told: then everything on the host that logs stands still
      # until the log answers again (measured: 1010 lines in 20 s). When the 256 MiB are full, new lines are dropped and
      # nobody waits. The queue's index is written with each line, so what is queued survives the death of rsyslogd.
      template {
        destination = "local/rsyslog.conf"
        data        = <<-CONF
          module(load="imuxsock")
          module(load="omrelp")
          global(workDirectory="/var/spool/rsyslog")
          action(type="omrelp" target="${local.log}" port="2514" timeout="5"
                 queue.type="Disk" queue.filename="to-log" queue.size="5000000" queue.maxDiskSpace="256m"
                 queue.timeoutEnqueue="0" queue.checkpointInterval="1"
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
