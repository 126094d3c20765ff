# Files that people change, on the management host. Nodes get each change within seconds. While that host is off they keep
# what they have, and changes wait.
file "/etc/motd" {
  from   = "mgmt"
  source = "/srv/masters/motd"
  targets {
    pools = ["compute", "login"]
  }
}
