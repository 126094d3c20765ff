{"service":{"a":{"verdict":"deferrable"}},"nodes":["10/8"]}
