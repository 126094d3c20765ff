variable "n" { default = 2 }
locals { x = [for i in range(var.n) : "a${i}"] }
job "j" {
  meta = { "a.b" = "1" }
  group "g" {
    count = var.n
    restart { attempts = 1 }
    network {
      dynamic "port" {
        for_each = local.x
        labels = [port.value]
        content { to = 80 }
      }
    }
    depends_on { job = "munge" }
    task "t" {
      driver = "exec"
      lifecycle { hook = "prestart" }
      artifact { source = "file:///x" }
      template {
        destination = "local/x"
        data = <<-EOT
          a ${NOMAD_PORT_a}
          $${b}
        EOT
        change_mode = "script"
        change_script { command = "x" }
      }
      env { A = "%%{x}" }
      config { a { b = [1, null, "c"] } }
    }
  }
}
