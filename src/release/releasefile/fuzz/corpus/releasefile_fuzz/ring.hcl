tier "a" { from = "b" }
tier "b" { from = "a" }
