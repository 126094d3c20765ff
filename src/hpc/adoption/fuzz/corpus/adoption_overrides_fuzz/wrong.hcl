service "a" { verdict = "x" doors = ["tcp/99999"] }
