#include <fmt/format.h>

#include "base/error.hpp"
#include "package/list.hpp"
#include "rpmmd/index.hpp"

namespace underway::package {

namespace {

/// "bash" of "bash-5.1.8-9.el9.src.rpm"; what is written otherwise as it is.
std::string name_of_source_rpm(const std::string& file) {
  const std::size_t release = file.rfind('-');
  if (release == std::string::npos || release == 0) return file;
  const std::size_t version = file.rfind('-', release - 1);
  return version == std::string::npos ? file : file.substr(0, version);
}

Package of_rpm(const rpmmd::Package& one) {
  const auto refuse = [&](std::string why) {
    throw Error(Code::unsupported, fmt::format("the package '{}' is not taken", rpmmd::to_string(one.nevra())))
        .because(std::move(why));
  };
  if (one.checksum.type != "sha256")
    refuse(fmt::format("its checksum is of the type {}, and files are known by their SHA-256", one.checksum.type));
  if (!one.location_base.empty()) refuse(fmt::format("its file lies in another repository, '{}'", one.location_base));
  Package out;
  out.format = Format::rpm;
  out.name = one.name;
  out.version = fmt::format("{}:{}-{}", one.epoch, one.version, one.release);
  out.architecture = one.arch;
  out.source = one.source_rpm.empty() ? one.name : name_of_source_rpm(one.source_rpm);
  out.section = one.group;
  out.file = one.location;
  out.size = one.size;
  out.digest = parse_digest(one.checksum.hex);
  out.description = one.primary;
  return out;
}

}  // namespace

PackageList PackageList::of_rpm_index(const rpmmd::Index& index) {
  std::vector<Package> packages;
  packages.reserve(index.packages().size());
  for (const auto& one : index.packages()) packages.push_back(of_rpm(one));
  return of(std::move(packages), {index.documents().primary});
}

}  // namespace underway::package
