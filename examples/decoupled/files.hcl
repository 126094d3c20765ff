# Files over NFS 4. What is exported lies on a file system that both infrastructure hosts see, and has the same identity
# on each: file handles that clients hold stay good. Who has files open is in the overlay, so after a move they reclaim
# them; others wait for that to be over (Grace_Period).
job "files" {
  priority    = 85
  datacenters = [cluster.datacenter]
  node_pool   = "infra"
  type        = "service"

  group "files" {
    task "files" {
      driver = "capsule"

      config {
        image    = "images/files.capsule"
        hostname = "files"
        cap_add  = ["dac_read_search"] # it opens files by their handles

        network "prov" {
          addresses = ["${local.files}/24"]
        }

        bind "/srv/export" {}
      }

      template {
        destination = "local/ganesha.conf"
        data        = <<-CONF
          NFS_CORE_PARAM {
            Protocols = 4;
            Enable_NLM = false;
            Enable_RQUOTA = false;
            # From 5 on it asks for a right that only helps an export on this very machine (PR_SET_IO_FLUSHER), and ends
            # without it. 4.3 does not know this line, says so, and goes on.
            Allow_Set_Io_Flusher_Fail = true;
          }
          NFSv4 {
            Grace_Period = 15;
            Lease_Lifetime = 10;
            RecoveryBackend = fs;
            RecoveryRoot = /var/lib/nfs/ganesha;
            Only_Numeric_Owners = true;
          }
          NFS_KRB5 {
            Active_krb5 = false;
          }
          EXPORT {
            Export_Id = 1;
            Filesystem_Id = 10.78;
            Path = /srv/export;
            Pseudo = /export;
            SecType = sys;
            Access_Type = None;
            CLIENT {
              Clients = ${cluster.networks.prov.cidr};
              Access_Type = RW;
              Squash = None;
            }
            FSAL {
              Name = VFS;
            }
          }
          LOG {
            COMPONENTS {
              ALL = EVENT;
            }
          }
        CONF
      }

      resources {
        cpu    = 100
        memory = 256
      }
    }
  }
}
