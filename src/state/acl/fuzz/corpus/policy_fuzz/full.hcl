namespace "default" {
  policy       = "read"
  capabilities = ["alloc-exec", "read-logs"]
  variables {
    path "nomad/jobs/*" { capabilities = ["read", "list"] }
  }
}
namespace "web-*" { policy = "write" }
namespace "secret" { policy = "deny" }
node_pool "gpu" { capabilities = ["read"] }
host_volume "*" { policy = "write" }
operator { capabilities = ["snapshot-save"] }
agent { policy = "read" }
