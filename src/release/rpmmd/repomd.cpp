#include "rpmmd/repomd.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "rpmmd/compressed.hpp"
#include "rpmmd/detail/xml.hpp"

namespace underway::rpmmd {
namespace {

using detail::Attributes;

template <class T>
T number_of(const std::string& text, std::string_view what) {
  const auto number = parse_number<T>(trim(text));
  if (!number) throw Error(Code::invalid, fmt::format("'{}' is no {}", text.substr(0, 64), what));
  return *number;
}

class RepomdReader final : public detail::Handler {
 public:
  Repomd take() && { return std::move(repomd_); }

  void begin(unsigned depth, std::string_view name, const Attributes& attributes, std::size_t /*offset*/) override {
    if (depth == 1 && name != "repomd") throw Error(Code::invalid, "it is no repomd.xml");
    text_.clear();
    collect(&text_);
    if (depth == 2) {
      in_data_ = name == "data";
      in_tags_ = name == "tags";
      if (in_data_) repomd_.data.push_back({.type = attributes.get("type")});
    } else if (depth == 3 && in_tags_) {
      repomd_.tags.push_back({.kind = std::string(name), .cpeid = attributes.get("cpeid"), .text = {}});
    } else if (depth == 3 && in_data_) {
      type_ = attributes.get("type");
      if (name == "location") {
        if (attributes.find("xml:base"))
          throw Error(Code::invalid, "a file lies outside of the repository").because("its location has an xml:base");
        data().location = attributes.get("href");
      }
    }
  }

  void end(unsigned depth, std::string_view name, std::size_t /*offset*/) override {
    if (depth == 2 && name == "revision") repomd_.revision = std::string(trim(text_));
    if (depth == 3 && in_tags_) repomd_.tags.back().text = text_;
    if (depth == 3 && in_data_) take_member(name);
    if (depth == 2 && in_data_) check();
    if (depth <= 2) in_data_ = in_tags_ = false;
    text_.clear();
  }

 private:
  Data& data() { return repomd_.data.back(); }

  void take_member(std::string_view name) {
    if (name == "checksum") data().checksum = {type_, lower(trim(text_))};
    if (name == "open-checksum") data().open_checksum = Checksum{type_, lower(trim(text_))};
    // Written with a fraction by createrepo of Python.
    if (name == "timestamp") data().timestamp = number_of<std::int64_t>(text_.substr(0, text_.find('.')), "timestamp");
    if (name == "size") data().size = number_of<std::uint64_t>(text_, "size");
    if (name == "open-size") data().open_size = number_of<std::uint64_t>(text_, "size");
    if (name == "database_version") data().database_version = std::string(trim(text_));
  }

  void check() const {
    const Data& it = repomd_.data.back();
    check_word(it.type, "the type of a file");
    check_location(it.location);
    check_checksum(it.checksum, it.type);
    if (it.open_checksum) check_checksum(*it.open_checksum, it.type);
    if (repomd_.find(it.type) != &it)
      throw Error(Code::invalid, fmt::format("the repository has two files of type '{}'", it.type));
  }

  Repomd repomd_;
  std::string text_, type_;
  bool in_data_ = false, in_tags_ = false;
};

void write_checksum(std::string& out, std::string_view name, const Checksum& checksum) {
  out += fmt::format("    <{0} type=\"{1}\">{2}</{0}>\n", name, detail::escape_attribute(checksum.type),
                     detail::escape(checksum.hex));
}

std::string write_tag(const Tag& tag) {
  const std::string cpeid = tag.cpeid.empty() ? "" : fmt::format(" cpeid=\"{}\"", detail::escape_attribute(tag.cpeid));
  return fmt::format("    <{0}{1}>{2}</{0}>\n", tag.kind, cpeid, detail::escape(tag.text));
}

std::string write_data(const Data& data) {
  std::string out = fmt::format("  <data type=\"{}\">\n", detail::escape_attribute(data.type));
  write_checksum(out, "checksum", data.checksum);
  if (data.open_checksum) write_checksum(out, "open-checksum", *data.open_checksum);
  out += fmt::format("    <location href=\"{}\"/>\n", detail::escape_attribute(data.location));
  if (data.timestamp) out += fmt::format("    <timestamp>{}</timestamp>\n", *data.timestamp);
  if (data.size) out += fmt::format("    <size>{}</size>\n", *data.size);
  if (data.open_size) out += fmt::format("    <open-size>{}</open-size>\n", *data.open_size);
  if (data.database_version)
    out += fmt::format("    <database_version>{}</database_version>\n", detail::escape(*data.database_version));
  return out + "  </data>\n";
}

std::string digest_of(std::string_view bytes, const std::string& type) {
  const EVP_MD* const kind = type == "sha256"   ? EVP_sha256()
                             : type == "sha384" ? EVP_sha384()
                             : type == "sha512" ? EVP_sha512()
                                                : nullptr;
  if (kind == nullptr)
    throw Error(Code::unsupported, fmt::format("a checksum of type '{}' vouches for nothing", type))
        .advise("mirror a repository whose metadata have SHA-256 or better");
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, kind, nullptr) != 1)
    throw Error(Code::internal, "cannot compute a digest");
  return hex(std::string_view(reinterpret_cast<const char*>(digest.data()), size));
}

}  // namespace

const Data* Repomd::find(std::string_view type) const {
  const auto it = std::find_if(data.begin(), data.end(), [&](const Data& d) { return d.type == type; });
  return it == data.end() ? nullptr : &*it;
}

Repomd parse_repomd(std::string_view text) {
  RepomdReader reader;
  detail::read_xml(text, "repomd.xml", reader);
  return std::move(reader).take();
}

std::string write_repomd(const Repomd& repomd) {
  std::string out =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<repomd xmlns=\"http://linux.duke.edu/metadata/repo\" xmlns:rpm=\"http://linux.duke.edu/metadata/rpm\">\n";
  if (!repomd.revision.empty()) out += fmt::format("  <revision>{}</revision>\n", detail::escape(repomd.revision));
  if (!repomd.tags.empty()) {
    out += "  <tags>\n";
    for (const Tag& tag : repomd.tags) out += write_tag(tag);
    out += "  </tags>\n";
  }
  for (const Data& data : repomd.data) out += write_data(data);
  return out + "</repomd>\n";
}

bool is_derived(std::string_view type) {
  return type.ends_with("_db") || type.ends_with("_zck") || type.ends_with("_gz") || type == "prestodelta" ||
         type == "deltainfo";
}

std::string plain_name(std::string_view location) {
  location = location.substr(location.rfind('/') + 1);
  for (const std::string_view end : {".gz", ".zst", ".xz", ".bz2"})
    if (location.ends_with(end)) location.remove_suffix(end.size());
  constexpr std::size_t kShortestDigest = 32;
  const auto dash = location.find('-');
  if (dash != std::string_view::npos && dash >= kShortestDigest && dash + 1 < location.size()) {
    const auto front = location.substr(0, dash);
    if (front.find_first_not_of("0123456789abcdef") == std::string_view::npos) location.remove_prefix(dash + 1);
  }
  return std::string(location);
}

void check_data(const Data& data, std::string_view bytes) {
  if (data.size && *data.size != bytes.size())
    throw Error(Code::invalid, fmt::format("'{}' is not what repomd.xml names", data.location))
        .because(fmt::format("it has {} bytes, not {}", bytes.size(), *data.size));
  const std::string digest = digest_of(bytes, data.checksum.type);
  if (digest != data.checksum.hex)
    throw Error(Code::invalid, fmt::format("'{}' is not what repomd.xml names", data.location))
        .because(fmt::format("its {} is {}, not {}", data.checksum.type, digest, data.checksum.hex))
        .advise("mirror once more: the repository may have changed in between");
}

}  // namespace underway::rpmmd
