#include "imagebuild/oci.hpp"

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace underway::imagebuild::oci {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<Platform>) {
  static const Structure s = Builder<Platform>("platform", "What an image runs on.")
                                 .wire<&Platform::architecture>("architecture", "As Go calls it.")
                                 .wire<&Platform::os>("os", "The system.")
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
                                 .wire<&Document::media_type>("mediaType", "What it is.")
                                 .wire<&Document::manifests>("manifests", "Of an index.")
                                 .wire<&Document::layers>("layers", "Of a manifest.")
                                 .done();
  return s;
}

namespace {

constexpr const char* kTag = "org.opencontainers.image.ref.name";
constexpr std::size_t kLayerLimit = 1000;

void check(const Descriptor& descriptor) {
  const std::string& digest = descriptor.digest;
  if (!digest.starts_with("sha256:") || digest.size() != 71 ||
      digest.find_first_not_of("0123456789abcdef", 7) != std::string::npos)
    throw Error(Code::invalid, fmt::format("'{}' is no digest", digest.substr(0, 100)))
        .because("only sha256: and 64 hexadecimal digits are");
  if (descriptor.size < 0) throw Error(Code::invalid, fmt::format("the blob '{}' has a negative size", digest));
}

std::string tag_of(const Descriptor& descriptor) {
  const auto found = descriptor.annotations.find(kTag);
  return found == descriptor.annotations.end() ? std::string() : found->second;
}

/// Debian's names of architectures that Go calls otherwise.
std::string go_architecture(const std::string& debian) {
  static const std::map<std::string, std::string> kNames = {
      {"armhf", "arm"}, {"i386", "386"}, {"ppc64el", "ppc64le"}, {"mips64el", "mips64le"}};
  const auto found = kNames.find(debian);
  return found == kNames.end() ? debian : found->second;
}

}  // namespace

Document parse_document(std::string_view text) {
  auto document = json::decode_text<Document>(text);
  if (document.layers.size() > kLayerLimit)
    throw Error(Code::invalid, fmt::format("the manifest has {} layers", document.layers.size()));
  for (const auto& each : document.manifests) check(each);
  for (const auto& each : document.layers) check(each);
  return document;
}

const Descriptor& choose(const Document& index, const std::string& tag, const std::string& architecture) {
  std::vector<const Descriptor*> fit;
  std::vector<std::string> tags;
  for (const auto& each : index.manifests) {
    const std::string called = tag_of(each);
    if (!called.empty()) tags.push_back(called);
    if (!tag.empty() && called != tag && called.substr(called.rfind(':') + 1) != tag) continue;
    const auto& platform = each.platform;
    if (!platform.architecture.empty() && platform.architecture != go_architecture(architecture)) continue;
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

std::string blob_path(const Descriptor& descriptor) { return "blobs/sha256/" + descriptor.digest.substr(7); }

}  // namespace underway::imagebuild::oci
