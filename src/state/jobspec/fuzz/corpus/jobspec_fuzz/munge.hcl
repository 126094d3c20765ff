job "munge" {
  priority = 95
  datacenters = ["${var.datacenter}"]
  type = "system"
  group "munge" {
    task "munge" {
      driver = "raw_exec"
      user = "munge"

      config {
       command = "/usr/sbin/munged"
       args = ["--foreground", "--syslog"]
      }
    }
  }
}
