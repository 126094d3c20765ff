# Authentication between all daemons of Slurm (listing 2 of the CSCS paper).
job "munge" {
  priority    = 95
  datacenters = [cluster.datacenter]
  node_pool   = "all"
  type        = "system"

  group "munge" {
    task "munge" {
      driver = "raw_exec"
      user   = "munge"

      config {
        command = "/usr/sbin/munged"
        args    = ["--foreground", "--num-threads=2", "--key-file=${NOMAD_SECRETS_DIR}/munge.key"]
      }

      # The same on every host: made once by the server (cluster.hcl), here in memory only. A changed key restarts munged.
      template {
        destination = "secrets/munge.key"
        perms       = "0400"
        data        = "{{ with nomadVar \"nomad/jobs/munge\" }}{{ .key }}{{ end }}"
      }

      resources {
        cpu    = 20
        memory = 32
      }
    }

    # Healthy means that a credential can be made and read, not just that a process runs.
    task "ready" {
      driver = "raw_exec"
      user   = "munge"

      lifecycle {
        hook = "poststart"
      }

      config {
        command = "/bin/sh"
        args    = ["-c", "until munge -n 2>/dev/null | unmunge >/dev/null 2>&1; do sleep 0.05; done"]
      }

      resources {
        cpu    = 10
        memory = 16
      }
    }
  }
}
