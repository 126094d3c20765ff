#pragma once
/// @file
/// Which package a file is of, from dpkg's own files (dpkg-query(1), "/var/lib/dpkg/info"). A machine that has rpm
/// instead answers nothing: its database is not text.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "inspection/detail/root_view.hpp"

namespace underway::inspection::detail {

struct Package {
  std::string name;
  std::string version;
  std::vector<std::string> configuration;  ///< its files below /etc that a person may change
};

/// The packages of these files (absolute, as in the machine). /usr/sbin/x and /sbin/x are the same file, as on every
/// machine whose /usr is merged. Blocks: yes (disk).
std::map<std::string, Package> packages_of(const RootView& root, const std::set<std::string>& files,
                                           std::vector<std::string>& gaps);

}  // namespace underway::inspection::detail
