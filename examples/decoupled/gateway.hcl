# The way out. Each infrastructure host has a gateway; one of them holds the two shared addresses, and the other knows
# every connection and takes them over when it dies: connections go on. They stay where they are, nothing is moved.
#
# No node starves the others: each may use a part of the line, open so many connections a second and have so many, of
# whatever protocol. What a gateway remembers of connections is the scarcest: it has one table for all.
locals {
  gateways = { a = "10.78.0.2", b = "10.78.0.3" }
  outsides = { a = "192.0.2.2", b = "192.0.2.3" }
  other    = { a = "b", b = "a" }
}

job "gateway" {
  priority    = 90
  datacenters = [cluster.datacenter]
  node_pool   = "infra"
  type        = "service"

  # Never two on one host.
  constraint {
    operator = "distinct_hosts"
    value    = "true"
  }

  dynamic "group" {
    for_each = local.gateways
    iterator = gateway
    labels   = [gateway.key]

    content {
      task "gateway" {
        driver = "capsule"

        config {
          image    = "images/gateway.capsule"
          name     = "gateway-${gateway.key}"
          hostname = "gateway-${gateway.key}"

          capabilities = ["net_admin", "net_raw"]

          # What it knows of connections is the other one's, too. When its host dies it starts anew, with nothing.
          protect {
            keeps_nothing = true
          }

          network "prov" {
            interface = "prov"
            addresses = ["${gateway.value}/24"]
          }
          network "public" {
            interface = "public"
            addresses = ["${local.outsides[gateway.key]}/24"]
          }

          # Connections whose beginning a gateway has not seen itself are connections all the same.
          sysctl = {
            "net.ipv4.ip_forward"                        = "1"
            "net.netfilter.nf_conntrack_tcp_be_liberal" = "1"
          }
        }

        template {
          destination = "local/rules.nft"
          data        = <<-RULES
            flush ruleset

            table inet gateway {
              set busy {
                type ipv4_addr
                size 4096
                flags dynamic,timeout
                timeout 1m
              }
              set storm {
                type ipv4_addr
                size 4096
                flags dynamic,timeout
                timeout 1m
              }

              set held {
                type ipv4_addr
                size 4096
                flags dynamic
              }

              # The first packet of a connection: a datagram without an answer is one, and those that follow it are not.
              chain opening {
                update @storm { ip saddr limit rate over 200/second burst 400 packets } drop
                add @held { ip saddr ct count over 8192 } drop
              }

              chain forward {
                type filter hook forward priority filter; policy drop;
                iifname "prov" ct state new ct status ! confirmed jump opening
                iifname "prov" update @busy { ip saddr limit rate over 50 mbytes/second burst 25 mbytes } drop
                iifname "prov" oifname "public" accept
                iifname "public" oifname "prov" ct state established,related accept
              }

              chain postrouting {
                type nat hook postrouting priority srcnat; policy accept;
                oifname "public" ip saddr ${cluster.networks.prov.cidr} snat ip to ${local.outside}
              }
            }
          RULES
        }

        template {
          destination = "local/conntrackd.conf"
          data        = <<-CONF
            Sync {
              Mode FTFW {
                DisableExternalCache on
              }
              UDP {
                IPv4_address ${gateway.value}
                IPv4_Destination_Address ${local.gateways[local.other[gateway.key]]}
                Port 3780
                Interface prov
              }
            }
            General {
              HashSize 8192
              HashLimit 65535
              LockFile /run/conntrackd.lock
              UNIX {
                Path /run/conntrackd.ctl
              }
              Filter From Kernelspace {
                Protocol Accept {
                  TCP
                  UDP
                }
                Address Ignore {
                  IPv4_address 127.0.0.1
                }
              }
            }
          CONF
        }

        template {
          destination = "local/keepalived.conf"
          data        = <<-CONF
            global_defs {
              router_id ${gateway.key}
              vrrp_version 3
              vrrp_garp_master_repeat 2
            }
            vrrp_sync_group gateway {
              group {
                prov
                public
              }
            }
            %{for network, address in { prov = local.gateway, public = local.outside }~}
            vrrp_instance ${network} {
              state BACKUP
              interface ${network}
              virtual_router_id ${network == "prov" ? 51 : 52}
              priority ${gateway.key == "a" ? 110 : 100}
              advert_int 0.2
              nopreempt
              virtual_ipaddress {
                ${address}/24 dev ${network}
              }
            }
            %{endfor~}
          CONF
        }

        resources {
          cpu    = 50
          memory = 128
        }
      }
    }
  }
}
