#include "publish/deb.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "control/stanza.hpp"
#include "crypto/digest.hpp"
#include "rpmmd/compressed.hpp"

namespace underway::publish {
namespace {

/// The stanza as upstream wrote it, but for where the file lies.
void append_stanza(std::string& out, const package::Package& package) {
  const auto text = package.description;
  const auto file = control::Stanza{.text = text}.find("Filename");
  if (!file || package.format != package::Format::deb)
    throw Error(Code::invalid, fmt::format("'{}' cannot be published", package.reference()))
        .because("it is no package of deb's");
  const auto begin = static_cast<std::size_t>(file->data() - text.data());
  out += text.substr(0, begin);
  out += path_of(package);
  out += text.substr(begin + file->size());
  if (!out.ends_with('\n')) out += '\n';
  out += '\n';
}

class DebPublication {
 public:
  DebPublication(DebSuite suite, const Keep& keep) : suite_(std::move(suite)), keep_(keep) {
    root_ = "dists/" + (suite_.head.codename.empty() ? suite_.head.suite : suite_.head.codename) + "/";
  }

  std::vector<File> run(const DebSigner& signer) {
    auto& head = suite_.head;
    head.files.clear();
    head.components.clear();
    head.architectures.clear();
    head.acquire_by_hash = true;
    std::set<std::pair<std::string, std::string>> known;
    for (const auto& part : suite_.parts) {
      if (!known.emplace(part.component, part.architecture).second)
        throw Error(Code::invalid, fmt::format("'{}' for '{}' is there twice", part.component, part.architecture));
      add_once(head.components, part.component);
      add_once(head.architectures, part.architecture);
      add_part(part);
    }
    std::ranges::sort(head.files, {}, &suite::IndexFile::path);
    const auto text = suite::write_release(head);
    add("Release", text);
    add("Release.gpg", signer.sign(text));
    add("InRelease", signer.clearsign(text));
    return std::move(files_);
  }

 private:
  static void add_once(std::vector<std::string>& all, const std::string& word) {
    if (std::ranges::find(all, word) == all.end()) all.push_back(word);
  }

  void add_part(const DebPart& part) {
    const auto directory = fmt::format("{}/binary-{}/", part.component, part.architecture);
    std::string text;
    std::size_t size = 0;
    for (const auto& package : part.packages.packages()) size += package.description.size() + 100;
    text.reserve(size);
    for (const auto& package : part.packages.packages()) append_stanza(text, package);
    add_index(directory, "Packages", text);
    add_index(directory, "Packages.gz", rpmmd::pack(text, rpmmd::Compression::gzip));
    add_index(directory, "Packages.zst", rpmmd::pack(text, rpmmd::Compression::zstd));
  }

  void add_index(const std::string& directory, const std::string& name, std::string_view bytes) {
    const auto file = add(directory + name, bytes);
    const auto digest = package::hex_digest(file.digest);
    suite_.head.files.push_back({directory + name, file.size, digest});
    // The same bytes under the name that apt asks for; kept once.
    files_.push_back({root_ + directory + "by-hash/SHA256/" + digest, file.size, file.digest});
  }

  File add(const std::string& path, std::string_view bytes) {
    File file{.path = root_ + path, .size = bytes.size()};
    const auto digest = crypto::sha256(bytes);
    std::memcpy(file.digest.data(), digest.data(), file.digest.size());
    keep_(file, bytes);
    files_.push_back(file);
    return file;
  }

  DebSuite suite_;
  const Keep& keep_;
  std::string root_;
  std::vector<File> files_;
};

}  // namespace

std::string path_of(const package::Package& package) {
  const auto digest = package::hex_digest(package.digest);
  const auto slash = package.file.rfind('/');
  const auto name = slash == std::string::npos ? package.file : package.file.substr(slash + 1);
  return fmt::format("pool/{}/{}/{}", digest.substr(0, 2), digest, name);
}

std::vector<File> publish_deb(DebSuite suite, const DebSigner& signer, const Keep& keep) {
  return DebPublication(std::move(suite), keep).run(signer);
}

}  // namespace underway::publish
