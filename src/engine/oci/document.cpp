#include "oci/document.hpp"

#include <sys/utsname.h>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"

namespace underway::oci {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<Platform>) {
  static const Structure s = Builder<Platform>("platform", "What an image runs on.")
                                 .wire<&Platform::architecture>("architecture", "As Go calls it.")
                                 .wire<&Platform::os>("os", "The system.")
                                 .wire<&Platform::variant>("variant", "Of the architecture.")
                                 .done();
  return s;
}

const Structure& description(Tag<Descriptor>) {
  static const Structure s = Builder<Descriptor>("descriptor", "A reference to a blob.")
                                 .wire<&Descriptor::media_type>("mediaType", "What it is.")
                                 .wire<&Descriptor::digest>("digest", "Its digest.")
                                 .wire<&Descriptor::size>("size", "Its bytes.")
                                 .wire<&Descriptor::platform>("platform", "What it runs on.")
                                 .wire<&Descriptor::annotations>("annotations", "Its tag, among others.")
                                 .done();
  return s;
}

const Structure& description(Tag<Document>) {
  static const Structure s = Builder<Document>("document", "An index or a manifest.")
                                 .wire<&Document::schema_version>("schemaVersion", "2.")
                                 .wire<&Document::media_type>("mediaType", "What it is.")
                                 .wire<&Document::manifests>("manifests", "Of an index.")
                                 .wire<&Document::config>("config", "Of a manifest.")
                                 .wire<&Document::layers>("layers", "Of a manifest.")
                                 .done();
  return s;
}

namespace {

constexpr const char* kTag = "org.opencontainers.image.ref.name";
constexpr std::size_t kLayerLimit = 1000;

void check(const Descriptor& descriptor) {
  check_digest(descriptor.digest);
  if (descriptor.size < 0)
    throw Error(Code::invalid, fmt::format("the blob '{}' has a negative size", descriptor.digest));
}

std::string tag_of(const Descriptor& descriptor) {
  const auto found = descriptor.annotations.find(kTag);
  return found == descriptor.annotations.end() ? std::string() : found->second;
}

bool fits(const Platform& image, const Platform& machine) {
  return image.architecture == machine.architecture && image.os == machine.os &&
         (image.variant.empty() || machine.variant.empty() || image.variant <= machine.variant);
}

}  // namespace

bool is_digest(std::string_view text) {
  return text.size() == 71 && text.starts_with("sha256:") &&
         text.find_first_not_of("0123456789abcdef", 7) == std::string_view::npos;
}

void check_digest(std::string_view digest) {
  if (!is_digest(digest))
    throw Error(Code::invalid, fmt::format("'{}' is no digest", digest.substr(0, 100)))
        .because("only sha256: and 64 hexadecimal digits are");
}

std::string digest_of(std::string_view bytes) { return "sha256:" + hex(crypto::sha256(bytes)); }

Document parse_document(std::string_view text) {
  auto document = json::decode_text<Document>(text);
  if (document.schema_version == 1)
    throw Error(Code::unsupported, "the manifest is of Docker's schema 1")
        .because("its layers have no digests of their own, and registries gave it up in 2019")
        .advise("push the image again with a newer program");
  if (document.layers.size() > kLayerLimit || document.manifests.size() > kLayerLimit)
    throw Error(Code::invalid,
                fmt::format("the manifest has {} layers", std::max(document.layers.size(), document.manifests.size())));
  for (const auto& each : document.manifests) check(each);
  for (const auto& each : document.layers) check(each);
  if (!document.config.digest.empty()) check(document.config);
  return document;
}

std::string go_architecture(const std::string& debian) {
  static const std::map<std::string, std::string> kNames = {
      {"armhf", "arm"}, {"i386", "386"}, {"ppc64el", "ppc64le"}, {"mips64el", "mips64le"}};
  const auto found = kNames.find(debian);
  return found == kNames.end() ? debian : found->second;
}

Platform this_platform() {
  struct Name {
    std::string_view machine;  // uname(2)
    Platform platform;
  };
  static const Name kNames[] = {{"x86_64", {"amd64", "linux", ""}},       {"aarch64", {"arm64", "linux", "v8"}},
                                {"armv7l", {"arm", "linux", "v7"}},       {"armv6l", {"arm", "linux", "v6"}},
                                {"i686", {"386", "linux", ""}},           {"ppc64le", {"ppc64le", "linux", ""}},
                                {"loongarch64", {"loong64", "linux", ""}}};
  utsname name{};
  ::uname(&name);
  for (const auto& each : kNames)
    if (each.machine == name.machine) return each.platform;
  return {name.machine, "linux", ""};
}

const Descriptor& choose(const Document& index, const std::string& tag, const std::string& architecture) {
  std::vector<const Descriptor*> fit;
  std::vector<std::string> tags;
  for (const auto& each : index.manifests) {
    const std::string called = tag_of(each);
    if (!called.empty()) tags.push_back(called);
    if (!tag.empty() && called != tag && called.substr(called.rfind(':') + 1) != tag) continue;
    const auto& platform = each.platform;
    if (!platform.architecture.empty() && platform.architecture != architecture) continue;
    if (!platform.os.empty() && platform.os != "linux") continue;
    fit.push_back(&each);
  }
  if (fit.size() == 1) return *fit.front();
  const std::string known = tags.empty() ? "none of its images has a tag" : "its tags are " + join(tags, ", ");
  if (fit.empty())
    throw Error(Code::not_found, tag.empty() ? fmt::format("the layout has no image for {}", architecture)
                                             : fmt::format("the layout has no image '{}' for {}", tag, architecture))
        .because(known);
  throw Error(Code::invalid, fmt::format("the layout has {} images that could be meant", fit.size()))
      .because(known)
      .advise("say which: tag = \"…\"");
}

const Descriptor& choose_platform(const Document& index, const Platform& platform) {
  const Descriptor* found = nullptr;
  std::vector<std::string> known;
  for (const auto& each : index.manifests) {
    if (fits(each.platform, platform) && (found == nullptr || each.platform.variant == platform.variant)) found = &each;
    if (!each.platform.architecture.empty() && each.platform.architecture != "unknown")
      known.push_back(fmt::format("{}/{}{}{}", each.platform.os, each.platform.architecture,
                                  each.platform.variant.empty() ? "" : "/", each.platform.variant));
  }
  if (found != nullptr) return *found;
  throw Error(Code::not_found, fmt::format("there is no image for {}/{}", platform.os, platform.architecture))
      .because(known.empty() ? "it says of no image what it runs on" : "there are images for " + join(known, ", "));
}

std::string blob_path(const Descriptor& descriptor) { return "blobs/sha256/" + descriptor.digest.substr(7); }

}  // namespace underway::oci
