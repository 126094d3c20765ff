#pragma once
/// @file
/// What a control plane holds as files: jobs, namespaces, policies … as a Nomad reads them, a script that makes them
/// there, and a page that lists what cannot be said to it. Pure, but for write_files.

#include "migrate/inventory.hpp"

namespace underway::migrate {

struct OutFile {
  std::string path;  ///< below the directory: no part of it begins with a dot
  std::string text;
  bool secret = false;  ///< for its owner only
  bool executable = false;
};

/// Something that the other side cannot be told, or is told otherwise.
struct Inexpressible {
  std::string object;    ///< "job 'slurmctld' (hpc)"
  std::string file;      ///< empty: it is in none
  std::size_t line = 0;  ///< 0: the whole file
  std::string what;      ///< "group 'g': depends_on"
  std::string why;
};

enum class Format : std::uint8_t { hcl, json };

struct FilesOptions {
  Format format = Format::hcl;  ///< of jobs
  bool with_secrets = false;    ///< variables, and what auth methods hold
  bool for_nomad = true;        ///< else for us: nothing is left out, and there is no script
  std::vector<Gap> gaps = {};   ///< to be listed besides those of the inventory
};

struct Files {
  std::vector<OutFile> files;  ///< each path once; README.md among them
  std::vector<Inexpressible> inexpressible;
};

Files make_files(const Inventory& inventory, const FilesOptions& options);

/// Writes into `directory`, which is made, or must be empty: conflict otherwise.
void write_files(const Files& files, const std::string& directory);

}  // namespace underway::migrate
