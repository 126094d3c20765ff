#include "node/artifact/fetch_request.hpp"

namespace underway::node {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<FetchRequest>) {
  static const Structure structure =
      Builder<FetchRequest>("fetch", "What underway-fetch is to fetch.")
          .wire<&FetchRequest::source>("Source", "Path or URL.")
          .wire<&FetchRequest::allocation_root>("AllocationRoot", "Nothing is written outside of it.")
          .wire<&FetchRequest::destination>("Destination", "Below the root.")
          .wire<&FetchRequest::staging>("Staging", "Below the root, private.")
          .wire<&FetchRequest::mode>("Mode", "any, file or dir.")
          .wire<&FetchRequest::checksum>("Checksum", "kind:hexadecimal.")
          .wire<&FetchRequest::archive>("Archive", "How it is packed.")
          .wire<&FetchRequest::filename>("Filename", "Name in a directory.")
          .wire<&FetchRequest::headers>("Headers", "Sent to the server.")
          .wire<&FetchRequest::insecure>("Insecure", "Trust any server.")
          .wire<&FetchRequest::chown>("Chown", "Give it to the user.")
          .wire<&FetchRequest::uid>("Uid", "The task's user.")
          .wire<&FetchRequest::gid>("Gid", "The task's group.")
          .wire<&FetchRequest::max_bytes>("MaxBytes", "Of the download.")
          .wire<&FetchRequest::max_unpacked_bytes>("MaxUnpackedBytes", "Of all files of an archive.")
          .wire<&FetchRequest::max_files>("MaxFiles", "Of an archive.")
          .wire<&FetchRequest::disk_bytes>("DiskBytes", "Of the allocation.")
          .done();
  return structure;
}

std::string archive_kind(std::string_view name) {
  static const std::pair<std::string_view, std::string_view> endings[] = {
      {".tar.gz", "tar.gz"},   {".tgz", "tar.gz"},   {".tar.xz", "tar.xz"},   {".txz", "tar.xz"},
      {".tar.zst", "tar.zst"}, {".tzst", "tar.zst"}, {".tar.bz2", "tar.bz2"}, {".tbz2", "tar.bz2"},
      {".tar", "tar"},         {".zip", "zip"},      {".gz", "gz"},           {".xz", "xz"},
      {".zst", "zst"},         {".bz2", "bz2"}};
  for (const auto& [ending, kind] : endings)
    if (name.ends_with(ending)) return std::string(kind);
  return {};
}

}  // namespace underway::node
