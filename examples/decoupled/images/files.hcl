image "files" {
  version     = "{nfs-ganesha}"
  description = "An NFS server"

  from image "base.capsule" {}
  packages = ["nfs-ganesha", "nfs-ganesha-vfs"]

  repository "debian" {
    url        = "http://deb.debian.org/debian"
    suite      = "bookworm"
    components = ["main"]
  }

  directory "/srv/export" {}
  directory "/var/lib/nfs/ganesha" {}

  service "ganesha" {
    command = ["/usr/bin/ganesha.nfsd", "-F", "-L", "STDOUT", "-f", "/local/ganesha.conf", "-p", "/run/ganesha.pid"]
    ready   = ["/bin/sh", "-c", "ss -Hltn 'sport = :2049' | grep -q ."]
  }

  network "prov" {
    ports = ["2049/tcp"]
  }

  writable = ["/var/lib/nfs/ganesha"]
}
