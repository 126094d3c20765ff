mirror "debian" {
  url    = "https://deb.debian.org/debian"
  suites = ["bookworm", "bookworm-updates"]
  keys   = ["/usr/share/keyrings/debian-archive-keyring.gpg"]
  filter = "Priority (required)"
  leave  = ["Name (% linux-image-*)"]
}
mirror "rocky" {
  format = "rpm"
  url = "file:///srv/rocky/BaseOS"
  keys = ["rocky.asc"]
  architectures = ["x86_64"]
}
repository "site" {
  priority = 700
}
tier "build" {
  sources = ["debian", "site"]
}
tier "test" {
  from = "build"
  pools = ["test"]
}
