nodes = ["10.1.0.0/16"]
service "licences" {
  doors   = ["tcp/27010"]
  verdict = "time_critical"
  reason  = "compilers ask at every start"
  needs   = ["dns"]
}
