# Packages: one deb for control, node and cli each.
