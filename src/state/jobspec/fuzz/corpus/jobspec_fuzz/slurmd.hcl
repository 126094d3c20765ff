job "slurm-cn" {
  priority = 95
  datacenters = ["${var.datacenter}"]
  type = "system"
  group "slurmd-cn" {
    # Each task is scheduled on a different node
    constraint {
     operator = "distinct_hosts"
     value = "true"
    }
    task "slurmd" {
      driver = "raw_exec"
      user = "root"
      config {
       command = "/usr/sbin/slurmd"
       args = ["-D", "-Z", "--conf-server", "${var.slurm-ctld-host}", "--conf", "Feature=compute"]
      }
    }
    network {
     port "slurmd" {
       static = 6818 # host linked port to TCP 6818
 } } } }
