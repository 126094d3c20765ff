image "chrony" {
  version     = "{chrony}"
  description = "Time for the cluster"

  from image "base.capsule" {}
  packages = ["chrony"]

  repository "debian" {
    url        = "http://deb.debian.org/debian"
    suite      = "bookworm"
    components = ["main"]
  }

  # -x: local hosts share the machine's clock, so it serves time and never sets it. On machines of your own leave it out,
  # and give the capsule cap_add = ["sys_time"].
  service "chronyd" {
    command = ["/usr/sbin/chronyd", "-x", "-d", "-f", "/local/chrony.conf"]
    ready   = ["/bin/sh", "-c", "ss -Hlun 'sport = :123' | grep -q ."]
  }

  network "prov" {
    ports = ["123/udp"]
  }

  writable = ["/var/lib/chrony"]
}
