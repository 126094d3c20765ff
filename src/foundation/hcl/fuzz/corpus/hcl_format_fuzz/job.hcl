variable "n" {
  type    = object({ a = optional(number, 1), b = list(string) })
  default = { b = ["x"] }
  validation {
    condition     = length(var.n.b) > 0
    error_message = "no"
  }
}
locals { a = local.b.0, }
locals {
  b = [for k, v in var.n : "${k}=${v}" if k != "a"]
  c = { for s in ["a", "b"] : s => upper(s)... }
}
job "x" {
  # comment
  env = { A = "${attr.unique.hostname}", "B" : 1e3 }
  dynamic "port" {
    for_each = toset(["a"])
    labels   = [port.value]
    content { at = port.key }
  }
  data = <<-EOT
    %{ for v in local.b ~}
      ${~ v } $${x} %%{y}
    %{ endfor }
  EOT
  t = true ? var.n[*].a : try(bad, [1, 2]...)
  u = format("%05.2f|%-3s|%q", 1.5, "a", "b") == "" && !false || -1 % 2 >= 0
}
