# One of several: they share an address on each side, and each knows the connections of the others.
image "gateway" {
  version     = "{keepalived}"
  description = "A router to the outside"

  from image "base.capsule" {}
  packages = ["nftables", "keepalived", "conntrackd", "netbase"]

  repository "debian" {
    url        = "http://deb.debian.org/debian"
    suite      = "bookworm"
    components = ["main"]
  }

  service "rules" {
    command = ["/usr/sbin/nft", "-f", "/local/rules.nft"]
    restart = "never"
  }

  service "conntrackd" {
    command    = ["/usr/sbin/conntrackd", "-C", "/local/conntrackd.conf"]
    depends_on = ["rules"]
    ready      = ["/usr/sbin/conntrackd", "-C", "/local/conntrackd.conf", "-s"]
  }

  service "keepalived" {
    command    = ["/usr/sbin/keepalived", "-n", "-l", "-P", "-f", "/local/keepalived.conf", "-p", "/run/keepalived.pid", "-r", "/run/vrrp.pid"]
    depends_on = ["conntrackd"]
  }

  network "prov" {
    ports = ["3780/udp"]
  }
  network "public" {}
}
