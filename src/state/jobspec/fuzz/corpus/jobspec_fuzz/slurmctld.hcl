job "slurm-ctl" {
  priority = 95
  datacenters = ["${var.datacenter}"]
  type = "service"
  group "slurm-ctl" {
    task "slurmctld" {
      driver = "raw_exec"
      user = "root"
      config {
       command = "/usr/sbin/slurmctld"
       args = ["-D"]
      }
    }
    network {
     port "slurmctl" {
       static = 6817 # host linked port to TCP 6817
      } } }
  constraint {
    attribute = "${attr.unique.hostname}"
    value = "${var.slurm-ctld-host}"
  } }
