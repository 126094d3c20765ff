#pragma once
/// @file
/// The manifest: what a capsule image says of itself. The signatures are over its bytes, and it holds the digests of
/// everything else in the file, so who trusts the manifest trusts the image.

#include "base/json/describe.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace underway::image {

/// When the capsule's init starts a service again.
enum class Restart : std::uint8_t { always, on_failure, never };

/// One program that the capsule's init keeps running. A job file adds to these and replaces them by name.
struct Service {
  std::string name;
  std::vector<std::string> command;  ///< the program, absolute, and its arguments
  std::string user;                  ///< empty: root
  std::map<std::string, std::string> environment;
  std::vector<std::string> depends_on;  ///< services that must be ready before this one starts
  std::vector<std::string> ready;       ///< a command that exits 0 when the service can be used; empty: at once
  Duration ready_timeout = std::chrono::seconds(60);
  Restart restart = Restart::always;
  std::string stop_signal = "SIGTERM";
  Duration stop_timeout = std::chrono::seconds(20);
};

/// At what moment of a capsule's life a step runs.
enum class Moment : std::uint8_t {
  before_stop,    ///< before its services are stopped: flush, drain
  after_start,    ///< after they are ready
  probe,          ///< may the services act? Run before they start to
  check,          ///< is it healthy?
  quiesce,        ///< before a snapshot
  unquiesce,      ///< after it
  before_revert,  ///< before an upgrade is taken back: fails, and says what, if that would lose something
};

/// A command that is run inside the capsule at a moment of its life.
struct Step {
  Moment moment = Moment::check;
  std::vector<std::string> command;
  std::string user;  ///< empty: root
  Duration timeout = std::chrono::seconds(30);
};

/// A network that the capsule wants to join; which addresses it has there is said in the job file.
struct Network {
  std::string name;
  std::vector<std::string> ports;  ///< what it serves there, for people: "6817/tcp"
};

struct Package {
  std::string name, version, architecture;
  bool operator==(const Package&) const = default;
};

/// The file system image: its digests, chunk by chunk, so that many threads verify it at once.
struct Payload {
  std::int64_t size = 0;  ///< bytes, a multiple of 4096
  std::int64_t chunk_size = 1 << 20;
  std::vector<std::string> chunks;  ///< SHA-256 of each, hexadecimal
  std::string root;                 ///< SHA-256 of the chunks' digests, in binary, one behind the other
  std::string uuid;                 ///< of the erofs; it follows from name and version
};

/// The list of files lies apart, since only `inspect` and `diff` want it.
struct FileListing {
  std::int64_t count = 0;
  std::int64_t size = 0;  ///< bytes of its JSON
  std::string digest;     ///< SHA-256 of its JSON, hexadecimal
};

struct Manifest {
  std::int64_t format = 1;
  std::string name;
  std::string version;
  std::string architecture;  ///< as Debian calls it: "amd64"
  std::string description;
  std::int64_t created = 0;  ///< nanoseconds since the epoch; SOURCE_DATE_EPOCH, never the clock
  std::string source;        ///< of what it was made, for people: "debian bookworm, 20241101T000000Z"
  std::vector<Package> packages;
  std::vector<Service> services;
  std::vector<Step> steps;
  std::vector<Network> networks;
  std::vector<std::string> writable;  ///< paths that services write to, for people and for `capsule changes`
  Payload payload;
  FileListing files;

  /// "name:version".
  std::string reference() const { return name + ":" + version; }
};

const describe::Enumeration& description(describe::Tag<Restart>);
const describe::Enumeration& description(describe::Tag<Moment>);
const describe::Structure& description(describe::Tag<Service>);
const describe::Structure& description(describe::Tag<Step>);
const describe::Structure& description(describe::Tag<Network>);
const describe::Structure& description(describe::Tag<Package>);
const describe::Structure& description(describe::Tag<Payload>);
const describe::Structure& description(describe::Tag<FileListing>);
const describe::Structure& description(describe::Tag<Manifest>);

/// Everything wrong with what people write: names, versions, commands, dependencies, paths.
std::vector<std::string> problems(const Manifest& manifest);
/// The same for services alone; `path` is put before each: "services".
std::vector<std::string> problems(const std::vector<Service>& services);
/// Whether `text` can be an image's name: "slurm-services"; at most 63 of a-z, 0-9, '.', '_', '-'.
bool is_image_name(std::string_view text);
/// Whether `text` can be an image's version: at most 128 of letters, digits and . + ~ _ -
bool is_image_version(std::string_view text);

/// SHA-256 over the binary digests, hexadecimal. Throws Error(invalid) when one is no digest.
std::string root_of(const std::vector<std::string>& chunks);
/// The UUID of the erofs of an image of this name and version.
std::string uuid_for(const std::string& name, const std::string& version);

}  // namespace underway::image
