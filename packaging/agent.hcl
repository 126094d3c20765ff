# Configuration of `underway agent`. The keys are Nomad's; all of them, with their defaults, are in
# /usr/share/doc/underway-cli/docs/reference/agent-configuration.md. The agent is started with
#     systemctl enable --now underway            # or, where no jobs shall run: underway-server

# Everything that must survive a restart.
data_dir = "/var/lib/underway"

# The HTTP API on TCP. Programs on this machine reach it through the socket run/agent.sock in data_dir as well;
# with addresses { http = "none" } through that alone.
bind_addr = "127.0.0.1"
ports {
  http = 4646
}

# Names that jobs are constrained by.
datacenter = "dc1"
# name     = "mgmt1"        # this machine's hostname when not given

# The server role: the state of the cluster, the scheduler, the API. One agent of a cluster has it.
server {
  enabled = true
}

# The node role: jobs run on this machine. A machine that is a node only names its server:
#     server { enabled = false }
#     client { enabled = true  servers = ["https://mgmt1:4646"]  join_token_file = "/etc/underway/join-token" }
client {
  enabled = true

  # Kept back from jobs.
  reserved {
    cpu            = 200   # MHz
    memory         = 512   # MiB
    reserved_ports = "22"
  }
}

# Hosts of `local` pools, made of namespaces on this machine (needs root and the server role).
hosts {
  enabled = false
}

# raw_exec runs tasks as plain processes of the machine, without isolation: batch daemons such as slurmd need that.
# plugin "raw_exec" {
#   config {
#     enabled = true
#   }
# }
