x = f([{
a = !b ? -1 : c[0].d.*.e
}], [for k,v in m : k => v if (v)]...)
y = <<-EOT
  as ${ is }
  EOT
