# Every node's log. Nodes send by RELP, which knows what has arrived, and keep on their disk what has not: whether the
# capsule moves or dies, no line is lost. From here every line goes on to the site's central log host, if one is named.

variable "log_host" {
  type        = string
  default     = ""
  description = "The site's central log host, by address or name; empty: there is none."
}

variable "log_port" {
  type        = number
  default     = 2514
  description = "Where it listens."
}

variable "log_protocol" {
  type        = string
  default     = "relp"
  description = "`relp`, which confirms each line; or `tcp`, syslog over TCP, which does not."

  validation {
    condition     = contains(["relp", "tcp"], var.log_protocol)
    error_message = "The central log host is told by relp or by tcp."
  }
}

variable "log_limit" {
  type        = number
  default     = 256
  description = "How many MiB wait for it in the capsule's overlay while it is away; then the oldest lines are dropped."
}

job "log" {
  priority    = 85
  datacenters = [cluster.datacenter]
  node_pool   = "infra"
  type        = "service"

  group "log" {
    # `underway alloc checks` says what waits for the central log host. That host being away is no reason to hold anything up.
    service {
      name     = "log"
      provider = "nomad"
      task     = "log"

      check {
        name      = "forward"
        type      = "script"
        command   = "/usr/lib/capsule/log/forward"
        args      = ["check"]
        interval  = "30s"
        timeout   = "5s"
        on_update = "ignore"
      }
    }

    task "log" {
      driver       = "capsule"
      kill_timeout = "20s" # the forwarder waits for what is under way

      config {
        image    = "images/log.capsule"
        hostname = "log"

        network "prov" {
          addresses = ["${local.log}/24"]
          gateway   = local.gateway
        }
      }

      # Without a queue of its own a line is answered for when it is in the files, not before.
      template {
        destination = "local/rsyslog.conf"
        data        = <<-CONF
          main_queue(queue.type="Direct")
          module(load="imrelp")
          input(type="imrelp" port="2514")
          global(workDirectory="/var/spool/rsyslog")
          template(name="line" type="string" string="%timegenerated:::date-rfc3339% %hostname% %syslogtag%%msg:::sp-if-no-1st-sp%%msg%\n")
          action(type="omfile" file="/var/log/messages" template="line")
          %{if var.log_host != ""~}
          template(name="forward" type="string" string="<%pri%>%timereported:::date-rfc3339% %hostname% %syslogtag%%msg:::sp-if-no-1st-sp%%msg%\n")
          action(type="omfile" file="/var/spool/forward/lines" template="forward")
          %{endif~}
        CONF
      }

      template {
        destination = "local/forward.conf"
        data        = <<-CONF
          host = ${var.log_host}
          port = ${var.log_port}
          protocol = ${var.log_protocol}
          limit = ${var.log_limit * 1048576}
        CONF
      }

      resources {
        cpu    = 50
        memory = 128
      }
    }
  }
}
