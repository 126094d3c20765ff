#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>
#include <map>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "oci/layout.hpp"
#include "oci/pull/source.hpp"
#include "oci/unpack.hpp"

namespace underway::oci::pull {
namespace {

/// An image of a docker-archive's manifest.json (docker-save(1)).
struct Saved {
  std::string config;
  std::vector<std::string> tags, layers;
};
const describe::Structure& description(describe::Tag<Saved>) {
  static const describe::Structure s = describe::Builder<Saved>("image", "Of a docker-archive.")
                                           .wire<&Saved::config>("Config", "Its file.")
                                           .wire<&Saved::tags>("RepoTags", "Its names.")
                                           .wire<&Saved::layers>("Layers", "Their files.")
                                           .done();
  return s;
}

void unpack_archive(const PullRequest& request, const std::string& path, const std::string& scratch) {
  Allowance allowance{.bytes = request.limits.unpacked_bytes, .entries = request.limits.entries};
  os::make_directories(scratch, 0700);
  unpack(os::open_file(path, O_RDONLY), path, Root(scratch), {.owners = false}, allowance);
}

class LayoutSource final : public Source {
 public:
  LayoutSource(const std::string& directory, const Reference& reference) : layout_(directory), tag_(reference.tag) {}

  std::string manifest(Http&) override { return layout_.read(layout_.find(tag_, this_platform())); }
  std::string document(Http&, const Descriptor& blob) override { return layout_.read(blob); }
  Layer layer(Http&, const Descriptor& blob, const Arrived& arrived) override {
    os::Fd file = layout_.open(blob);
    arrived(blob.size);
    return {std::move(file), false};
  }
  void forget(const Descriptor&) override {}

 private:
  Layout layout_;
  std::string tag_;
};

/// Has no manifest as others have: one is made, as pushing the image to a registry would.
class SavedSource final : public Source {
 public:
  SavedSource(const std::string& directory, const Reference& reference, const PullLimits& limits)
      : root_(directory), tag_(reference.tag), limits_(limits) {}

  std::string manifest(Http&) override {
    const Saved image = find();
    config_ = read(image.config);
    Document document{.media_type = "application/vnd.oci.image.manifest.v1+json"};
    document.config = {.media_type = "application/vnd.oci.image.config.v1+json",
                       .digest = digest_of(config_),
                       .size = static_cast<std::int64_t>(config_.size())};
    if (static_cast<std::int64_t>(image.layers.size()) > limits_.layers)
      throw Error(Code::too_large, "the image has too many layers").because(fmt::format("{}", image.layers.size()));
    for (const auto& path : image.layers) {
      const os::Fd file = open(path);
      struct stat st{};
      if (::fstat(file.get(), &st) != 0) throw errno_error(errno, fmt::format("cannot examine '{}'", path));
      const std::string digest = digest_of(file, path);
      files_[digest] = path;
      document.layers.push_back(
          {.media_type = "application/vnd.oci.image.layer.v1.tar", .digest = digest, .size = st.st_size});
    }
    return json::encode(document, json::Encoding::compact);
  }
  std::string document(Http&, const Descriptor&) override { return config_; }
  Layer layer(Http&, const Descriptor& blob, const Arrived& arrived) override {
    arrived(blob.size);
    return {open(files_.at(blob.digest)), false};
  }
  void forget(const Descriptor&) override {}

 private:
  Saved find() const {
    const std::string text = read("manifest.json");
    const auto images = json::decode_text<std::vector<Saved>>(text, "manifest.json");
    std::vector<std::string> names;
    const Saved* found = nullptr;
    for (const auto& image : images) {
      bool meant = tag_.empty() && images.size() == 1;
      for (const auto& name : image.tags) {
        names.push_back(name);
        const Reference known = parse_reference(name);
        meant |= !tag_.empty() && fmt::format("{}/{}:{}", known.registry, known.repository, known.tag) == tag_;
      }
      if (meant) found = &image;
    }
    if (found != nullptr) return *found;
    std::string known;
    for (const auto& name : names) known += (known.empty() ? "" : ", ") + name;
    throw Error(Code::not_found, tag_.empty() ? "the archive has several images, or none"
                                              : fmt::format("the archive has no image '{}'", tag_))
        .because(known.empty() ? "none of its images has a name" : "there are " + known);
  }

  /// Links in the archive name layers that it holds once (docker-save(1)); they do not lead out of it.
  os::Fd open(const std::string& path) const {
    os::Fd file = root_.open(path);
    struct stat st{};
    if (::fstat(file.get(), &st) != 0 || !S_ISREG(st.st_mode))
      throw Error(Code::invalid, fmt::format("'{}' of the archive is no file", path));
    return file;
  }
  std::string read(const std::string& path) const {
    return os::read_all(open(path), static_cast<std::size_t>(limits_.document_bytes), path);
  }

  Root root_;
  std::string tag_;
  const PullLimits& limits_;
  std::string config_;
  std::map<std::string, std::string> files_;
};

}  // namespace

std::unique_ptr<Source> open_local(const PullRequest& request, const Reference& reference, const std::string& scratch) {
  if (reference.transport == Transport::layout) return std::make_unique<LayoutSource>(reference.path, reference);
  unpack_archive(request, reference.path, scratch);
  if (reference.transport == Transport::oci_archive) return std::make_unique<LayoutSource>(scratch, reference);
  return std::make_unique<SavedSource>(scratch, reference, request.limits);
}

}  // namespace underway::oci::pull
