image "log" {
  version     = "{rsyslog}"
  description = "Every node's log"

  from image "base.capsule" {}
  packages = ["rsyslog", "rsyslog-relp", "logrotate", "perl-base"]

  repository "debian" {
    url        = "http://deb.debian.org/debian"
    suite      = "bookworm"
    components = ["main"]
  }

  directory "/var/spool/rsyslog" {}
  directory "/var/spool/forward" {}
  directory "/var/lib/logrotate" {}

  file "/usr/lib/capsule/log/rotate" {
    source = "files/log/rotate"
    mode   = "0755"
  }

  file "/usr/lib/capsule/log/forward" {
    source = "files/log/forward"
    mode   = "0755"
  }

  # Compressed a rotation later: rsyslogd still writes to the file for a moment after it was told.
  file "/etc/logrotate.d/messages" {
    content = <<-CONF
      /var/log/messages {
        size 64M
        rotate 8
        compress
        delaycompress
        missingok
        postrotate
          kill -HUP $(cat /run/rsyslogd.pid)
        endscript
      }
    CONF
  }

  service "rsyslogd" {
    command = ["/usr/sbin/rsyslogd", "-n", "-f", "/local/rsyslog.conf", "-i", "/run/rsyslogd.pid"]
    ready   = ["/bin/sh", "-c", "ss -Hltn 'sport = :2514' | grep -q ."]
  }

  service "rotate" {
    command    = ["/usr/lib/capsule/log/rotate"]
    depends_on = ["rsyslogd"]
  }

  # It waits for what is under way to be confirmed.
  service "forward" {
    command      = ["/usr/lib/capsule/log/forward"]
    depends_on   = ["rsyslogd"]
    stop_timeout = "5s"
  }

  network "prov" {
    ports = ["2514/tcp"]
  }

  writable = ["/var/log", "/var/spool/rsyslog", "/var/spool/forward", "/var/lib/logrotate"]
}
