#pragma once
/// @file
/// What an image is built from, as people write it:
///
///     image "slurm-services" {
///       version  = "{slurmctld}"                     # the version of a package in it
///       from debian "bookworm" { mirrors = ["https://deb.debian.org/debian"] }
///       packages = ["slurmctld", "munge"]
///       service "munge" { command = ["/usr/sbin/munged", "-F"]  user = "munge" }
///     }
///
/// `variable` and `locals` blocks stand before it as in job files. Paths are relative to the definition's directory.

#include "base/json/describe.hpp"
#include "hcl/diagnostic.hpp"
#include "hcl/module.hpp"
#include "image/manifest.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace underway::imagebuild {

/// What lies at the bottom.
enum class Base : std::uint8_t {
  debian,     ///< packages of Debian, by mmdebstrap
  rpm,        ///< packages of an RPM distribution, by dnf
  directory,  ///< a tree that is there already
  image,      ///< another capsule image
  oci,        ///< an image in OCI's layout, a directory or an archive
  tar,        ///< an archive
};

struct From {
  Base base = Base::directory;
  std::string source;  ///< suite, release, or path

  std::vector<std::string> mirrors;
  std::vector<std::string> components = {"main"};
  std::string snapshot;
  std::string keyring;
  bool trusted = false;
  std::string variant = "minbase";
  std::string digest;
  std::string tag;
  std::int64_t strip = 0;
};

/// A further source of packages.
struct Repository {
  std::string name;
  std::string url;
  std::string suite = "./";
  std::vector<std::string> components;
  std::string keyring;
  bool trusted = false;
};

struct File {
  std::string path;
  std::optional<std::string> content;
  std::string source;
  std::string mode;
  std::string user = "root";
  std::string group;
};

struct Directory {
  std::string path;
  std::string mode = "0755";
  std::string user = "root";
  std::string group;
};

struct Link {
  std::string path;
  std::string target;
};

struct Definition {
  std::string name;
  std::string version;
  std::string description;
  std::string architecture;
  std::string created;
  std::string size_limit;
  From from;
  std::vector<Repository> repositories;
  std::vector<std::string> packages;
  bool recommends = false;
  std::vector<Directory> directories;
  std::vector<File> files;
  std::vector<Link> links;
  std::vector<std::string> remove;
  std::vector<image::Service> services;
  std::vector<image::Step> steps;
  std::vector<image::Network> networks;
  std::vector<std::string> writable;

  std::filesystem::path directory;  ///< where relative paths start
};

const describe::Enumeration& description(describe::Tag<Base>);
const describe::Structure& description(describe::Tag<From>);
const describe::Structure& description(describe::Tag<Repository>);
const describe::Structure& description(describe::Tag<File>);
const describe::Structure& description(describe::Tag<Directory>);
const describe::Structure& description(describe::Tag<Link>);
const describe::Structure& description(describe::Tag<Definition>);

struct ParsedDefinition {
  std::optional<Definition> definition;  ///< present exactly when there was no error
  hcl::Diagnostics diagnostics;
};

/// Reads a definition; all that is wrong with it is in the diagnostics, each at its place. With `files` its expressions
/// may read files: only on the user's own machine.
ParsedDefinition parse_definition(const std::string& text, const std::string& name,
                                  const std::filesystem::path& directory, const hcl::Inputs& inputs = {},
                                  bool files = true);

/// "200M", "1.5GiB", "4096": bytes; K, M, G and T are powers of 1024. Nothing when it is no size.
std::optional<std::int64_t> parse_size(std::string_view text);
/// "0644": nothing when it is no octal mode.
std::optional<std::int64_t> parse_mode(std::string_view text);
/// Whether `path` is absolute and has no empty part, "." or "..".
bool is_plain_path(std::string_view path);

/// `text` with each {package} replaced. Throws Error(invalid) for a brace without its other, and what `version_of`
/// throws.
std::string expand_version(const std::string& text,
                           const std::function<std::string(const std::string& package)>& version_of);

/// Markdown of docs/reference/capsule-definition.md.
std::string definition_reference();

}  // namespace underway::imagebuild
