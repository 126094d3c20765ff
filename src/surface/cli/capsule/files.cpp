#include "cli/capsule/files.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/terminal.hpp"
#include "image/image_file.hpp"
#include "image/key.hpp"

namespace underway::cli {
namespace {

constexpr std::string_view kDriver = "capsule";
constexpr const char* kImage = "image";

/// Where images/build puts what it makes for `path`.
std::string built_for(const std::filesystem::path& path, const std::string& state) {
  return state + "/built" + std::filesystem::weakly_canonical(std::filesystem::absolute(path)).string();
}

/// The path of the file that `image` names; empty when it names something else.
std::string file_of(const std::string& image, const std::string& directory, const std::string& state) {
  if (image.empty() || image.front() == '/' || image.starts_with("sha256:") || image.find("${") != std::string::npos)
    return {};
  const auto path = std::filesystem::path(directory) / image;
  if (std::filesystem::is_regular_file(path)) return path.lexically_normal().string();
  // What a task has is only there when it runs.
  if (image.find('/') == std::string::npos || image.starts_with("local/")) return {};
  if (const auto built = built_for(path, state); std::filesystem::is_regular_file(built)) return built;
  Error error(Code::not_found, fmt::format("there is no image '{}'", path.lexically_normal().string()));
  error.because(fmt::format("nor '{}'", built_for(path, state)));
  const auto build = path.parent_path() / "build";
  error.advise(std::filesystem::exists(build) ? fmt::format("build it: {}", build.lexically_normal().string())
                                              : "build it: underway capsule build");
  throw error;
}

std::set<std::string> directories_of(const std::vector<CapsuleFile>& files) {
  std::set<std::string> out;
  for (const auto& file : files) out.insert(std::filesystem::path(file.path).parent_path().string());
  return out;
}

void trust_keys(sdk::Client& client, const std::vector<CapsuleFile>& files) {
  std::set<std::string> known;
  for (const auto& key : client.capsule_keys()) known.insert(key.id);
  for (const auto& directory : directories_of(files)) {
    for (const auto& key : image::read_trusted_keys(directory)) {
      if (!known.insert(key.id).second) continue;
      client.trust_capsule_key(image::to_record(key));
      say(fmt::format("images that '{}' ({}) signed are trusted now", key.name, key.id));
    }
  }
}

}  // namespace

std::vector<CapsuleFile> name_images_by_digest(wire::ClusterBody& body, const std::string& directory,
                                               const std::string& state) {
  std::map<std::string, std::string> digests;
  for (auto& job : body.jobs) {
    for (auto& group : job.job.groups) {
      for (auto& task : group.tasks) {
        auto* config = task.driver == kDriver ? task.config.if_object() : nullptr;
        auto* asked = config != nullptr ? config->if_contains(kImage) : nullptr;
        if (asked == nullptr || !asked->is_string()) continue;
        const std::string path = file_of(std::string(asked->get_string()), directory, state);
        if (path.empty()) continue;
        auto& digest = digests[path];
        if (digest.empty()) digest = image::ImageFile::open(path).digest();
        *asked = digest;
      }
    }
  }
  std::vector<CapsuleFile> files;
  for (const auto& [path, digest] : digests) files.push_back({path, digest});
  return files;
}

void push_capsule_files(sdk::Client& client, const std::vector<CapsuleFile>& files) {
  if (files.empty()) return;
  trust_keys(client, files);
  std::set<std::string> stored;
  for (const auto& image : client.images()) stored.insert(image.digest);
  for (const auto& file : files) {
    if (stored.contains(file.digest)) continue;
    const auto image = client.push_image(file.path);
    say(fmt::format("pushed {}:{}, {}", image.name, image.version,
                    human_bytes(static_cast<std::uint64_t>(image.size))));
  }
}

}  // namespace underway::cli
