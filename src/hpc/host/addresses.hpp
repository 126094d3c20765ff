#pragma once
/// @file
/// Which host gets which address. A pure function: `underway plan` shows the addresses that `up` will give, and a
/// server that is started again computes the same ones.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "net/address.hpp"

namespace underway::host {

/// Gives each of `names`, in order, the lowest address of `network` that is not in `used`. Networks of 64 addresses and
/// more start at number 10, so that the first ones stay free for gateways and services; smaller ones start at 2.
/// Once the end is reached, the skipped beginning is used, without number 0, number 1 and the broadcast address.
/// Errors: exhausted, with the numbers.
std::map<std::string, net::Cidr> assign_addresses(const net::Cidr& network, const std::set<net::Ip>& used,
                                                  const std::vector<std::string>& names);

}  // namespace underway::host
