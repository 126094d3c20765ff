# Every node's log. Nodes send by RELP, which knows what has arrived, and keep on their disk what has not: whether the
# capsule moves or dies, no line is lost.
job "log" {
  priority    = 85
  datacenters = [cluster.datacenter]
  node_pool   = "infra"
  type        = "service"

  group "log" {
    task "log" {
      driver = "capsule"

      config {
        image    = "images/log.capsule"
        hostname = "log"

        network "prov" {
          addresses = ["${local.log}/24"]
        }
      }

      # Without a queue of its own a line is answered for when it is in the file, not before.
      template {
        destination = "local/rsyslog.conf"
        data        = <<-CONF
          main_queue(queue.type="Direct")
          module(load="imrelp")
          input(type="imrelp" port="2514")
          global(workDirectory="/var/spool/rsyslog")
          template(name="line" type="string" string="%timegenerated:::date-rfc3339% %hostname% %syslogtag%%msg:::sp-if-no-1st-sp%%msg%\n")
          action(type="omfile" file="/var/log/messages" template="line")
        CONF
      }

      resources {
        cpu    = 50
        memory = 128
      }
    }
  }
}
