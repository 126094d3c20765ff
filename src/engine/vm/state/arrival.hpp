#pragma once
/// @file
/// Machines that come from another node. What travels is the machine's directory; what its disks are layers over does
/// not: both nodes have to have the same images, which is found out before the machine is put to sleep.

#include <string>
#include <vector>

#include "driver/driver.hpp"
#include "vm/layout.hpp"

namespace underway::vm {

/// What the disks in a machine's directory are layers over, as it is on this node. Errors: not_found (an image that is
/// gone). Blocks: reads the images.
std::vector<driver::KeptBase> find_bases(const std::string& directory);
/// Why disks cannot be layers over these here; empty: they can. Blocks: reads the images.
std::string why_not_on(const std::vector<driver::KeptBase>& bases);

/// Puts what has arrived in `arrived` in the place of the machine's directory, on the same file system, and its disks
/// over this node's images. Nothing happens when nothing is there: an agent before us was that far. Errors: conflict
/// (the machine runs here).
void settle_arrival(const std::string& arrived, const Layout& layout);

}  // namespace underway::vm
