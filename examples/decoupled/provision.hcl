# What can wait: addresses and boot files for nodes that are being installed. It runs on the management host and is gone
# while that is off, as the masters of the files are that people change (site.files.hcl).
job "provision" {
  priority    = 40
  datacenters = [cluster.datacenter]
  node_pool   = "management"
  type        = "service"

  # That it is away is no outage.
  meta {
    deferrable = "true"
  }

  group "provision" {
    task "dnsmasq" {
      driver = "raw_exec"
      user   = "root"

      config {
        command = "/usr/sbin/dnsmasq"
        args    = ["--keep-in-foreground", "--conf-file=${NOMAD_TASK_DIR}/dnsmasq.conf"]
      }

      template {
        destination = "local/dnsmasq.conf"
        data        = <<-CONF
          port=0
          user=root
          log-dhcp
          no-ping
          log-facility=-
          dhcp-range=10.78.0.200,10.78.0.250,10m
          dhcp-leasefile=/var/lib/misc/dnsmasq.leases
          dhcp-option=option:router,${local.gateway}
          dhcp-option=option:ntp-server,${local.time}
          dhcp-boot=pxelinux.0
          enable-tftp
          tftp-root=/srv/tftp
          # Of 50, dnsmasq's own limit, a rack that boots at once leaves the rest without an answer.
          tftp-max=500
        CONF
      }

      resources {
        cpu    = 20
        memory = 64
      }
    }

    task "boot-files" {
      driver = "raw_exec"
      user   = "root"

      lifecycle {
        hook = "prestart"
      }

      config {
        command = "/bin/sh"
        args    = ["-c", "mkdir -p /srv/tftp && echo 'the boot loader of a node' > /srv/tftp/pxelinux.0; [ -e /srv/masters/motd ] || echo 'Welcome to apart.' > /srv/masters/motd"]
      }

      resources {
        cpu    = 10
        memory = 16
      }
    }
  }
}
