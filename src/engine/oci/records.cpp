#include "oci/records.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"

namespace underway::oci {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<LayerRecord>) {
  static const Structure s = Builder<LayerRecord>("layer", "An unpacked layer.")
                                 .wire<&LayerRecord::diff_id>("DiffID", "Of its archive.")
                                 .wire<&LayerRecord::bytes>("Bytes", "Of its files.")
                                 .wire<&LayerRecord::entries>("Entries", "Files, directories, links.")
                                 .wire<&LayerRecord::boot>("Boot", "When it was unpacked.")
                                 .wire<&LayerRecord::durable>("Durable", "It was flushed to disk.")
                                 .wire<&LayerRecord::implied>("Implied", "Directories without an entry.")
                                 .done();
  return s;
}

const Structure& description(Tag<ImageRecord>) {
  static const Structure s = Builder<ImageRecord>("image", "An image that is here.")
                                 .wire<&ImageRecord::reference>("Reference", "What it was asked for by.")
                                 .wire<&ImageRecord::digest>("Digest", "Of its manifest.")
                                 .wire<&ImageRecord::config>("Config", "Digest.")
                                 .wire<&ImageRecord::layers>("Layers", "Lowest first.")
                                 .done();
  return s;
}

const Structure& description(Tag<LeaseRecord>) {
  static const Structure s = Builder<LeaseRecord>("lease", "Who uses an image.")
                                 .wire<&LeaseRecord::name>("Name", "Of the user.")
                                 .wire<&LeaseRecord::reference>("Reference", "The image.")
                                 .wire<&LeaseRecord::digest>("Digest", "Of its manifest.")
                                 .wire<&LeaseRecord::config>("Config", "Digest.")
                                 .wire<&LeaseRecord::layers>("Layers", "Lowest first.")
                                 .done();
  return s;
}

namespace {

/// A record, unless it is not there or damaged: then what it tells of has to be fetched anew.
template <class T>
std::optional<T> find_record(const std::string& path) {
  try {
    if (const auto text = os::find_file(path)) return json::decode_text<T>(*text);
  } catch (const Error& error) {
    if (error.code() != Code::invalid && error.code() != Code::too_large) throw;
  }
  return {};
}

template <class T>
void write_record(const std::string& path, const T& record) {
  os::write_file(path, json::encode(record, json::Encoding::compact), 0600, {}, os::Durability::cached);
}

std::string hex_of(const std::string& digest) {
  check_digest(digest);
  return digest.substr(7);
}

}  // namespace

os::Fd lock_file(const std::string& path, int operation) {
  while (true) {
    os::Fd file = os::open_file(path, O_RDWR | O_CREAT, 0600);
    if (::flock(file.get(), operation) != 0) {
      if (errno == EWOULDBLOCK) return {};
      if (errno == EINTR) continue;
      throw errno_error(errno, fmt::format("cannot lock '{}'", path));
    }
    // Whoever had it may have removed it: then others have another file of that name.
    struct stat ours{}, there{};
    if (::fstat(file.get(), &ours) == 0 && ::stat(path.c_str(), &there) == 0 && ours.st_ino == there.st_ino)
      return file;
  }
}

Records::Records(std::string directory) : directory_(std::move(directory)) {
  os::make_directories(directory_, 0711);
  for (const char* name : {"blobs/sha256", "incoming", "layers", "unpacking", "images", "leases", "locks", "trash"})
    os::make_directories(directory_ + "/" + name, 0700);
  boot_ = trim(os::read_file("/proc/sys/kernel/random/boot_id"));
}

std::string Records::blob(const std::string& digest) const { return directory_ + "/blobs/sha256/" + hex_of(digest); }
std::string Records::part(const std::string& digest) const { return directory_ + "/incoming/" + hex_of(digest); }

os::Fd Records::share() const { return lock_file(directory_ + "/lock", LOCK_SH); }
os::Fd Records::alone() const { return lock_file(directory_ + "/lock", LOCK_EX); }
os::Fd Records::turn(const std::string& name) const { return lock_file(directory_ + "/locks/" + name, LOCK_EX); }

std::optional<LayerRecord> Records::find_layer(const std::string& name) const {
  auto record = find_record<LayerRecord>(layer(name) + ".json");
  if (!record || (!record->durable && record->boot != boot_) || !os::exists(layer(name))) return {};
  return record;
}

void Records::publish_layer(const std::string& name, const LayerRecord& record) const {
  // Of a record that a crash took, or that does not count any more.
  throw_away(layer(name));
  if (::rename(unpacking(name).c_str(), layer(name).c_str()) != 0)
    throw errno_error(errno, fmt::format("cannot make the layer '{}'", name));
  LayerRecord written = record;
  written.boot = boot_;
  write_record(layer(name) + ".json", written);
}

void Records::make_durable() const {
  std::vector<std::pair<std::string, LayerRecord>> fresh;
  for (const auto& entry : os::list_directory(directory_ + "/layers")) {
    if (!entry.name.ends_with(".json")) continue;
    const std::string name = entry.name.substr(0, entry.name.size() - 5);
    if (auto record = find_layer(name); record && !record->durable) fresh.emplace_back(name, *std::move(record));
  }
  if (fresh.empty()) return;
  const os::Fd directory = os::open_directory(directory_);
  if (::syncfs(directory.get()) != 0) throw errno_error(errno, fmt::format("cannot flush '{}' to disk", directory_));
  for (auto& [name, record] : fresh) {
    record.durable = true;
    write_record(layer(name) + ".json", record);
  }
}

std::string Records::image_path(const std::string& reference) const {
  return fmt::format("{}/images/{}.json", directory_, hex(crypto::sha256(reference)));
}

std::optional<ImageRecord> Records::find_image(const std::string& reference) const {
  auto record = find_record<ImageRecord>(image_path(reference));
  if (!record || record->reference != reference || !is_digest(record->digest) || !is_digest(record->config)) return {};
  for (const auto& name : record->layers)
    if (!find_layer(name)) return {};
  return record;
}

void Records::write_image(const ImageRecord& record) const { write_record(image_path(record.reference), record); }

void Records::touch_image(const std::string& reference) const {
  // It may have been removed; then nobody asks when it was used.
  static_cast<void>(::utimensat(AT_FDCWD, image_path(reference).c_str(), nullptr, 0));
}

std::vector<Records::KeptImage> Records::images() const {
  std::vector<KeptImage> out;
  for (const auto& entry : os::list_directory(directory_ + "/images")) {
    const std::string path = directory_ + "/images/" + entry.name;
    struct stat st{};
    if (::stat(path.c_str(), &st) != 0) continue;
    out.push_back({find_record<ImageRecord>(path).value_or(ImageRecord{}), path,
                   from_unix_nanos(st.st_mtim.tv_sec * 1'000'000'000 + st.st_mtim.tv_nsec)});
  }
  return out;
}

std::optional<LeaseRecord> Records::find_lease(const std::string& id) const {
  return find_record<LeaseRecord>(lease(id));
}

void Records::write_lease(const std::string& id, const LeaseRecord& record) const { write_record(lease(id), record); }

std::map<std::string, LeaseRecord> Records::leases() const {
  std::map<std::string, LeaseRecord> out;
  for (const auto& entry : os::list_directory(directory_ + "/leases")) {
    if (!entry.name.ends_with(".json")) continue;
    const std::string id = entry.name.substr(0, entry.name.size() - 5);
    auto record = find_lease(id);
    if (!record || record->name.empty()) {
      // Its holder has the lock from before the record appears.
      if (const os::Fd lock = lock_file(lease_lock(id), LOCK_EX | LOCK_NB)) {
        ::unlink(lease(id).c_str());
        ::unlink(lease_lock(id).c_str());
        continue;
      }
    }
    if (record) out.emplace(id, *std::move(record));
  }
  return out;
}

std::optional<std::string> Records::find_document(const std::string& digest) const {
  auto text = os::find_file(blob(digest), static_cast<std::size_t>(kDocumentLimit));
  if (text && digest_of(*text) != digest) text.reset();
  return text;
}

void Records::write_document(const std::string& digest, std::string_view bytes) const {
  os::write_file(blob(digest), bytes, 0600, {}, os::Durability::cached);
}

void Records::throw_away(const std::string& path) const {
  const std::string trash = fmt::format("{}/trash/{}", directory_, hex(random_bytes(12)));
  if (::rename(path.c_str(), trash.c_str()) != 0 && errno != ENOENT)
    throw errno_error(errno, fmt::format("cannot remove '{}'", path));
  os::remove_tree(trash);
}

void Records::empty_trash() const {
  for (const auto& entry : os::list_directory(directory_ + "/trash"))
    os::remove_tree(directory_ + "/trash/" + entry.name);
}

}  // namespace underway::oci
