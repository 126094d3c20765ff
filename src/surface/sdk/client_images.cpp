// Capsule images and the keys that are trusted.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/json/json.hpp"
#include "base/text.hpp"
#include "image/verified.hpp"
#include "os/file.hpp"
#include "sdk/client.hpp"

namespace underway::sdk {
namespace {

constexpr std::size_t kPart = 4U << 20;

std::int64_t offset_in(const http::Response& response) {
  const auto value = json::parse(response.body);
  const auto* offset = value.is_object() ? value.get_object().if_contains("Offset") : nullptr;
  if (offset == nullptr || !offset->is_int64())
    throw Error(Code::internal, "the server did not say how much of the image has arrived");
  return offset->get_int64();
}

std::string read_part(const os::Fd& file, std::int64_t offset, const std::string& name) {
  std::string part(kPart, '\0');
  const ssize_t got = ::pread(file.get(), part.data(), part.size(), offset);
  if (got <= 0) throw errno_error(got < 0 ? errno : EIO, fmt::format("cannot read '{}'", name));
  part.resize(static_cast<std::size_t>(got));
  return part;
}

std::int64_t size_of(const std::string& path) {
  const os::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file ? ::lseek(file.get(), 0, SEEK_END) : 0;
}

}  // namespace

std::vector<image::StoredImage> Client::images() {
  return json::decode_text<std::vector<image::StoredImage>>(send("GET", "/v1/underway/images").body, "answer");
}

std::vector<image::StoredImage> Client::prune_images(const std::string& older, bool dry) {
  http::Query query;
  if (!older.empty()) query.add("older", older);
  if (dry) query.add("dry", "true");
  const auto answer = send("POST", "/v1/underway/images/prune", std::move(query));
  return json::decode_text<std::vector<image::StoredImage>>(answer.body, "answer");
}

image::StoredImage Client::image(const std::string& reference) {
  return json::decode<image::StoredImage>(image_info(reference), "answer");
}

boost::json::value Client::image_info(const std::string& reference) {
  return json::parse(send("GET", "/v1/underway/image/" + http::percent_encode(reference)).body);
}

wire::SlurmVersions Client::slurm_versions(const SlurmServices& services, const std::string& ns,
                                           const std::string& capsule) {
  http::Query query;
  query.add("namespace", ns);
  query.add("capsule", capsule);
  if (services.slurmctld) query.add("slurmctld", *services.slurmctld);
  if (services.slurmdbd) query.add("slurmdbd", *services.slurmdbd);
  const auto answer = send("GET", "/v1/underway/slurm/versions", std::move(query));
  return json::decode_text<wire::SlurmVersions>(answer.body, "answer");
}

wire::SlurmVersions Client::slurmd_versions(const std::string& path, const std::string& ns) {
  http::Query query;
  query.add("namespace", ns);
  query.add("slurmd", path);
  const auto answer = send("GET", "/v1/underway/slurm/versions", std::move(query));
  return json::decode_text<wire::SlurmVersions>(answer.body, "answer");
}

void Client::remove_image(const std::string& reference, bool force) {
  http::Query query;
  if (force) query.add("force", "true");
  send("DELETE", "/v1/underway/image/" + http::percent_encode(reference), std::move(query));
}

image::StoredImage Client::push_image(const std::string& path, const Transferred& progress) {
  const auto image = image::ImageFile::open(path);
  const std::int64_t size = image.layout().file();
  const std::string where = "/v1/underway/incoming-image/" + http::percent_encode(image.digest());
  const http::Query sized{{"size", std::to_string(size)}};
  // What an earlier try brought there is not sent again.
  std::int64_t offset = offset_in(send("GET", where, sized));
  while (offset < size) {
    if (progress) progress(offset, size);
    http::Query query = sized;
    query.add("offset", std::to_string(offset));
    offset = offset_in(send("PUT", where, std::move(query), read_part(image.file(), offset, path)));
  }
  if (progress) progress(size, size);
  return json::decode_text<image::StoredImage>(send("PUT", where + "/finish", sized).body, "answer");
}

image::StoredImage Client::pull_image(const std::string& reference, const std::string& out, TimePoint now,
                                      const Transferred& progress) {
  const auto wanted = image(reference);
  const std::string path = out.empty() ? fmt::format("{}-{}.capsule", wanted.name, wanted.version) : out;
  const std::string part = path + ".part";
  std::vector<image::TrustedKey> keys;
  for (const auto& key : capsule_keys()) keys.push_back(image::to_trusted(key));
  std::int64_t offset = std::min(size_of(part), wanted.size);
  {
    const os::Fd file = os::open_file(part, O_WRONLY | O_CREAT | O_NOFOLLOW, 0644);
    if (::ftruncate(file.get(), offset) != 0 || ::lseek(file.get(), offset, SEEK_SET) < 0)
      throw errno_error(errno, fmt::format("cannot write '{}'", part));
    stream("/v1/underway/image/" + http::percent_encode(wanted.digest) + "/content",
           {{"offset", std::to_string(offset)}}, [&](std::string_view bytes) {
             os::write_all(file, bytes, fmt::format("'{}'", part));
             offset += static_cast<std::int64_t>(bytes.size());
             if (progress) progress(offset, wanted.size);
             return offset <= wanted.size;
           });
    if (::fsync(file.get()) != 0) throw errno_error(errno, fmt::format("cannot flush '{}' to disk", part));
  }
  try {
    const auto image = image::open_verified(part, keys, now);
    if (image.digest() != wanted.digest)
      throw Error(Code::denied, fmt::format("what came as '{}' is another image", wanted.digest));
  } catch (const Error&) {
    // The next try is to begin anew.
    ::unlink(part.c_str());
    throw;
  }
  if (::rename(part.c_str(), path.c_str()) != 0) throw errno_error(errno, fmt::format("cannot make '{}'", path));
  return wanted;
}

boost::json::value Client::capsule_changes(const std::string& allocation) {
  return json::parse(
      send("GET", fmt::format("/v1/underway/allocation/{}/capsule/changes", http::percent_encode(allocation))).body);
}

boost::json::value Client::capsule_services(const std::string& allocation) {
  return json::parse(
      send("GET", fmt::format("/v1/underway/allocation/{}/capsule/services", http::percent_encode(allocation))).body);
}

std::vector<image::KeyRecord> Client::capsule_keys() {
  return json::decode_text<std::vector<image::KeyRecord>>(send("GET", "/v1/underway/capsule-keys").body, "answer");
}

void Client::trust_capsule_key(const image::KeyRecord& key) {
  send("PUT", "/v1/underway/capsule-keys", {}, json::encode(key));
}

void Client::revoke_capsule_key(const std::string& id, const std::string& reason) {
  send("PUT", "/v1/underway/capsule-key/" + http::percent_encode(id) + "/revoke", {},
       boost::json::serialize(boost::json::object{{"Reason", reason}}));
}

}  // namespace underway::sdk
