image "mail" {
  version     = "{postfix}"
  description = "A mail relay with a queue"

  from image "base.capsule" {}
  packages = ["postfix", "perl-base"]

  repository "debian" {
    url        = "http://deb.debian.org/debian"
    suite      = "bookworm"
    components = ["main"]
  }

  directory "/var/mail" {
    group = "mail"
    mode  = "2775"
  }

  # The queue is in the overlay: what was accepted is sent, after a move too.
  file "/etc/postfix/main.cf" {
    content = <<-CONF
      compatibility_level = 3.6
      myhostname = mail.cluster
      mydestination = mail.cluster, cluster, localhost
      mynetworks = 127.0.0.0/8, 10.78.0.0/24
      inet_interfaces = all
      inet_protocols = ipv4
      local_recipient_maps =
      luser_relay = postmaster
      alias_maps = inline:{ { postmaster = root } }
      alias_database =
      mail_spool_directory = /var/mail
      maillog_file = /var/log/mail.log
      smtpd_recipient_restrictions = permit_mynetworks, reject
    CONF
  }

  service "postfix" {
    command      = ["/usr/sbin/postfix", "start-fg"]
    ready        = ["/bin/sh", "-c", "ss -Hltn 'sport = :25' | grep -q ."]
    stop_timeout = "20s"
  }

  network "prov" {
    ports = ["25/tcp"]
  }

  writable = ["/var/spool/postfix", "/var/lib/postfix", "/var/mail", "/var/log"]
}
