# The daemon of the compute nodes, configless: it fetches its configuration from the capsule's address, wherever that is.
job "slurmd" {
  priority    = 95
  datacenters = [cluster.datacenter]
  node_pool   = "compute"
  type        = "system"

  depends_on {
    job   = "munge"
    scope = "node"
  }
  depends_on {
    job = "slurm-services"
  }

  group "slurmd" {
    network {
      port "slurmd" {
        static = 6818
      }
    }

    # What a host needs before its first job. On cgroup v2 Slurm has its groups below system.slice, which gets all
    # controllers: with systemd as first process that is systemd's work.
    task "prepare" {
      driver = "raw_exec"
      user   = "root"

      lifecycle {
        hook = "prestart"
      }

      config {
        command = "/bin/sh"
        args = ["-c", <<-SCRIPT
          while IFS=: read -r name _ uid gid rest; do
            [ -d "/home/$name" ] || install -d -m 0700 -o "$uid" -g "$gid" "/home/$name"
          done <"$NOMAD_TASK_DIR/users"
          # slurmd gives up after some seconds when nobody gives it its configuration.
          until timeout 1 bash -c '</dev/tcp/${local.slurm}/6817' 2>/dev/null; do sleep 0.3; done
          # Nor does it bear one that comes as it registers: 22.05 has died of that. A hold ends with one, for all nodes.
          export SLURM_CONF=$NOMAD_TASK_DIR/slurm.conf # who asks needs no more than this
          held() { timeout 2 scontrol show config 2>/dev/null | grep -q '^SlurmdTimeout .* 65533 '; }
          for try in $(seq 60); do held || break; sleep 0.3; done
          [ -e /sys/fs/cgroup/cgroup.controllers ] || exit 0
          mkdir -p /sys/fs/cgroup/system.slice
          for controller in $(cat /sys/fs/cgroup/system.slice/cgroup.controllers); do
            echo "+$controller" >/sys/fs/cgroup/system.slice/cgroup.subtree_control
          done
        SCRIPT
        ]
      }

      template {
        destination = "local/slurm.conf"
        data        = "ClusterName=apart\nSlurmctldHost=ctl(${local.slurm})\nAuthType=auth/munge\n"
      }
      template {
        destination = "local/users"
        data        = join("", [for name, uid in local.users : "${name}:x:${uid}:${uid}::/home/${name}:/bin/bash\n"])
      }

      resources {
        cpu    = 10
        memory = 16
      }
    }

    task "slurmd" {
      driver      = "raw_exec"
      user        = "root"
      kill_signal = "SIGTERM"

      config {
        command   = "/usr/sbin/slurmd"
        args      = ["-D", "-N", "${attr.unique.hostname}", "--conf-server", "${local.slurm}:6817"]

        # As in Debian's slurmd.service (examples/slurm/slurmd.hcl says more).
        kill_mode = "process" # Slurm jobs outlive it, and the next slurmd takes them over
        delegate  = true
        ulimits {
          nofile  = "131072"
          memlock = "unlimited"
          stack   = "unlimited"
        }
      }

      resources {
        cpu    = 50
        memory = 128
      }
    }

    # Healthy means that the controller has heard of the node and is held no more (images/files/slurm/hold), so that
    # Slurm's commands work here too: one that comes while slurmctld is reconfigured may find its connection closed.
    task "ready" {
      driver = "raw_exec"
      user   = "nobody"

      lifecycle {
        hook = "poststart"
      }

      config {
        command = "/bin/sh"
        args    = ["-c", "until scontrol show node $1 2>/dev/null | grep State= | grep -qv -e UNKNOWN -e NOT_RESP && scontrol show config 2>/dev/null | grep '^SlurmdTimeout ' | grep -qv ' 65533 '; do sleep 0.3; done", "sh", "${attr.unique.hostname}"]
      }

      resources {
        cpu    = 10
        memory = 16
      }
    }
  }
}
