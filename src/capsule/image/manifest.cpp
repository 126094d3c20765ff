#include "image/manifest.hpp"

#include <functional>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"

namespace underway::image {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

const Enumeration& description(Tag<Restart>) {
  static const Enumeration e = describe::enumeration<Restart>("restart");
  return e;
}

const Enumeration& description(Tag<Moment>) {
  static const Enumeration e = describe::enumeration<Moment>("moment");
  return e;
}

const Structure& description(Tag<Service>) {
  static const Structure s =
      Builder<Service>("service", "A program that the capsule's init keeps running.")
          .label<&Service::name>("name", "Name", "Name of the service.")
          .attribute<&Service::command>("command", "Command", "The program, as an absolute path, and its arguments.")
          .attribute<&Service::user>("user", "User", "Who it runs as; root when not given.")
          .block_or_attribute<&Service::environment>("environment", "Environment", "Its environment variables.")
          .attribute<&Service::depends_on>("depends_on", "DependsOn",
                                           "Services that must be ready before this one is started.")
          .attribute<&Service::ready>("ready", "Ready",
                                      "A command that exits 0 once the service can be used; without one it is ready "
                                      "when it runs.")
          .attribute<&Service::ready_timeout>("ready_timeout", "ReadyTimeout", "How long it may take to be ready.")
          .attribute<&Service::restart>("restart", "Restart", "`always`, `on_failure` or `never`.")
          .attribute<&Service::stop_signal>("stop_signal", "StopSignal", "The signal that asks it to end.")
          .attribute<&Service::stop_timeout>("stop_timeout", "StopTimeout", "After which it is killed.")
          .done();
  return s;
}

const Structure& description(Tag<Step>) {
  static const Structure s =
      Builder<Step>("step", "A command that is run inside the capsule at a moment of its life.")
          .label<&Step::moment>("moment", "Moment",
                                "`before_stop`, `after_start`, `probe` (before the services may act), `check`, "
                                "`quiesce` (before a snapshot), `unquiesce`, or `before_revert` (before an upgrade is "
                                "taken back: fails, and "
                                "says what, if that would lose something).")
          .attribute<&Step::command>("command", "Command", "The program, as an absolute path, and its arguments.")
          .attribute<&Step::user>("user", "User", "Who it runs as; root when not given.")
          .attribute<&Step::timeout>("timeout", "Timeout", "After which it counts as failed.")
          .done();
  return s;
}

const Structure& description(Tag<Network>) {
  static const Structure s =
      Builder<Network>("network", "A network that the capsule wants to join; its addresses stand in the job file.")
          .label<&Network::name>("name", "Name", "Name of the network.")
          .attribute<&Network::ports>("ports", "Ports", "What it serves there, for people: `6817/tcp`.")
          .done();
  return s;
}

const Structure& description(Tag<Package>) {
  static const Structure s = Builder<Package>("package", "A package in the image.")
                                 .wire<&Package::name>("Name", "Its name.")
                                 .wire<&Package::version>("Version", "Its version.")
                                 .wire<&Package::architecture>("Architecture", "Its architecture.")
                                 .done();
  return s;
}

const Structure& description(Tag<Payload>) {
  static const Structure s = Builder<Payload>("payload", "The file system image.")
                                 .wire<&Payload::size>("Size", "Bytes.")
                                 .wire<&Payload::chunk_size>("ChunkSize", "Bytes of a chunk; the last may be shorter.")
                                 .wire<&Payload::root>("Root", "SHA-256 of the digests of the chunks.")
                                 .wire<&Payload::uuid>("UUID", "UUID of the erofs.")
                                 .wire<&Payload::chunks>("Chunks", "SHA-256 of each chunk.")
                                 .done();
  return s;
}

const Structure& description(Tag<FileListing>) {
  static const Structure s = Builder<FileListing>("files", "The list of files, which lies apart.")
                                 .wire<&FileListing::count>("Count", "Files, directories and links.")
                                 .wire<&FileListing::size>("Size", "Bytes of the list.")
                                 .wire<&FileListing::digest>("Digest", "SHA-256 of the list.")
                                 .done();
  return s;
}

const Structure& description(Tag<Manifest>) {
  static const Structure s = Builder<Manifest>("manifest", "What a capsule image says of itself.")
                                 .wire<&Manifest::format>("Format", "Version of this format: 1.")
                                 .wire<&Manifest::name>("Name", "Name of the image.")
                                 .wire<&Manifest::version>("Version", "Version of the image.")
                                 .wire<&Manifest::architecture>("Architecture", "As Debian calls it.")
                                 .wire<&Manifest::description>("Description", "For people.")
                                 .wire<&Manifest::created>("Created", "The date that its files have.")
                                 .time()
                                 .wire<&Manifest::source>("Source", "Of what it was made.")
                                 .wire<&Manifest::packages>("Packages", "The packages in it.")
                                 .wire<&Manifest::services>("Services", "What runs in it.")
                                 .wire<&Manifest::steps>("Steps", "What is run at moments of its life.")
                                 .wire<&Manifest::networks>("Networks", "Networks that it wants to join.")
                                 .wire<&Manifest::writable>("Writable", "Paths that services write to.")
                                 .wire<&Manifest::payload>("Payload", "The file system image.")
                                 .wire<&Manifest::files>("Files", "The list of files.")
                                 .done();
  return s;
}

namespace {

constexpr std::size_t kNameLimit = 63;
constexpr std::size_t kVersionLimit = 128;

bool is_small_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool is_clean_absolute(std::string_view path) {
  if (path.empty() || path.front() != '/' || path.find('\0') != std::string_view::npos) return false;
  if (path == "/") return true;
  const auto parts = split(path.substr(1), '/');
  return std::none_of(parts.begin(), parts.end(),
                      [](const auto& part) { return part.empty() || part == "." || part == ".."; });
}

void add_command_problems(std::vector<std::string>& out, const std::string& what,
                          const std::vector<std::string>& command) {
  if (command.empty())
    out.push_back(what + " has no command");
  else if (command.front().empty() || command.front().front() != '/')
    out.push_back(fmt::format("{}: the program '{}' is no absolute path", what, command.front()));
}

/// Names the services of a circle of depends_on, or nothing.
std::string circle(const std::vector<Service>& services) {
  std::map<std::string, const Service*> by_name;
  for (const auto& service : services) by_name.emplace(service.name, &service);
  std::set<std::string> done;
  std::vector<std::string> path;
  std::string found;
  const std::function<void(const std::string&)> visit = [&](const std::string& name) {
    if (!found.empty() || done.contains(name) || !by_name.contains(name)) return;
    if (const auto at = std::find(path.begin(), path.end(), name); at != path.end()) {
      std::vector<std::string> ring(at, path.end());
      ring.push_back(name);
      found = join(ring, " → ");
      return;
    }
    path.push_back(name);
    for (const auto& needed : by_name.at(name)->depends_on) visit(needed);
    path.pop_back();
    done.insert(name);
  };
  for (const auto& service : services) visit(service.name);
  return found;
}

}  // namespace

bool is_image_name(std::string_view text) {
  return !text.empty() && text.size() <= kNameLimit && is_small_letter_or_digit(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_small_letter_or_digit(c) || c == '.' || c == '_' || c == '-'; });
}

bool is_image_version(std::string_view text) {
  const auto allowed = [](char c) {
    return is_small_letter_or_digit(c) || (c >= 'A' && c <= 'Z') || c == '.' || c == '+' || c == '~' || c == '_' ||
           c == '-';
  };
  return !text.empty() && text.size() <= kVersionLimit && text.front() != '.' && text.front() != '-' &&
         std::all_of(text.begin(), text.end(), allowed);
}

std::vector<std::string> problems(const std::vector<Service>& services) {
  std::vector<std::string> out;
  std::set<std::string> names;
  for (const auto& service : services) {
    if (!is_image_name(service.name)) out.push_back(fmt::format("'{}' is no name of a service", service.name));
    if (!names.insert(service.name).second)
      out.push_back(fmt::format("service '{}' is there more than once", service.name));
  }
  for (const auto& service : services) {
    const std::string what = fmt::format("service '{}'", service.name);
    add_command_problems(out, what, service.command);
    for (const auto& needed : service.depends_on)
      if (!names.contains(needed))
        out.push_back(fmt::format("{} depends on '{}', which is none of the services", what, needed));
    if (service.stop_timeout < Duration::zero() || service.ready_timeout <= Duration::zero())
      out.push_back(what + " has a time limit that is not positive");
  }
  if (const auto ring = circle(services); !ring.empty())
    out.push_back("services depend on each other in a circle: " + ring);
  return out;
}

std::vector<std::string> problems(const Manifest& manifest) {
  std::vector<std::string> out;
  if (manifest.format != 1)
    out.push_back(fmt::format("its format is {}; this program knows format 1", manifest.format));
  if (!is_image_name(manifest.name))
    out.push_back(fmt::format("'{}' is no name of an image: at most 63 of a-z, 0-9, '.', '_', '-'", manifest.name));
  if (!is_image_version(manifest.version))
    out.push_back(fmt::format("'{}' is no version: at most 128 letters, digits and . + ~ _ -", manifest.version));
  for (const auto& problem : problems(manifest.services)) out.push_back(problem);
  for (const auto& step : manifest.steps)
    add_command_problems(out, fmt::format("step '{}'", describe::spell(step.moment)), step.command);
  for (const auto& path : manifest.writable)
    if (!is_clean_absolute(path)) out.push_back(fmt::format("writable '{}' is no absolute path", path));
  return out;
}

std::string root_of(const std::vector<std::string>& chunks) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string binary;
  binary.reserve(chunks.size() * 32);
  for (const auto& chunk : chunks) {
    if (chunk.size() != 64 || chunk.find_first_not_of(kDigits) != std::string::npos)
      throw Error(Code::invalid, fmt::format("'{}' is no SHA-256 digest", chunk.substr(0, 80)));
    for (std::size_t i = 0; i < chunk.size(); i += 2)
      binary += static_cast<char>(kDigits.find(chunk[i]) << 4 | kDigits.find(chunk[i + 1]));
  }
  return hex(crypto::sha256(binary));
}

std::string uuid_for(const std::string& name, const std::string& version) {
  std::string bytes = crypto::sha256("underway capsule " + name + ":" + version).substr(0, 16);
  // RFC 9562, version 8: made by rules of our own.
  bytes[6] = static_cast<char>((static_cast<unsigned char>(bytes[6]) & 0x0fU) | 0x80U);
  bytes[8] = static_cast<char>((static_cast<unsigned char>(bytes[8]) & 0x3fU) | 0x80U);
  const std::string text = hex(bytes);
  return fmt::format("{}-{}-{}-{}-{}", text.substr(0, 8), text.substr(8, 4), text.substr(12, 4), text.substr(16, 4),
                     text.substr(20));
}

}  // namespace underway::image
