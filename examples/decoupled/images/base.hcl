# What all capsules of this directory stand on: a small Debian with the tools that their steps use.
image "base" {
  version     = "{base-files}"
  description = "Debian, and nothing that runs"

  from debian "bookworm" {
    mirrors = ["http://deb.debian.org/debian"]
  }
  packages = ["iproute2", "procps", "util-linux"]

  link "/etc/mtab" {
    target = "/proc/self/mounts"
  }
}
