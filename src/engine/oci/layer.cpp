#include "oci/layer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "crypto/hasher.hpp"
#include "oci/detail/layer_stream.hpp"

namespace underway::oci {
namespace {

/// Headers, padding and long names of a tar archive come on top of its files.
constexpr std::int64_t kTarSlack = std::int64_t{1} << 30;

void adopt(const Root& root, const std::string& path, const DirectoryAttributes& looks) {
  const auto at = root.find_place(path);
  if (!at) return;
  if (::fchownat(at->directory(), at->leaf().c_str(), static_cast<uid_t>(looks.uid), static_cast<gid_t>(looks.gid),
                 AT_SYMLINK_NOFOLLOW) != 0 ||
      ::fchmodat(at->directory(), at->leaf().c_str(), static_cast<mode_t>(looks.mode), 0) != 0)
    throw errno_error(errno, fmt::format("cannot set the owner or mode of '{}'", path));
}

enum class Found { here, not_here, hidden };

/// Looks for a directory in one layer, without following links: those of the layer stand for others in the whole image.
Found find_in(const Root& layer, const std::string& path, DirectoryAttributes& looks) {
  std::string walked;
  bool opaque = false;
  for (const auto& part : split(path, '/')) {
    walked += (walked.empty() ? "" : "/") + part;
    const auto at = layer.find_place(walked);
    struct stat st{};
    if (!at || ::fstatat(at->directory(), at->leaf().c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0)
      return opaque ? Found::hidden : Found::not_here;
    if (!S_ISDIR(st.st_mode)) return Found::hidden;
    opaque |= ::lgetxattr(at->path().c_str(), "trusted.overlay.opaque", nullptr, 0) > 0;
    looks = {static_cast<std::int64_t>(st.st_mode & 07777), static_cast<std::int64_t>(st.st_uid),
             static_cast<std::int64_t>(st.st_gid)};
  }
  return Found::here;
}

}  // namespace

LayerRecord unpack_layer(const PackedLayer& layer, const std::string& directory, const AdoptedLooks& adopted,
                         const PullLimits& limits, Allowance& allowance) {
  check_digest(layer.diff_id);
  if (::mkdir(directory.c_str(), 0755) != 0) throw errno_error(errno, fmt::format("cannot make '{}'", directory));
  const Allowance before = allowance;
  LayerRecord record{.diff_id = layer.diff_id};
  const Root root(directory);
  const bool is_root = ::geteuid() == 0;
  LayerStream stream(layer.file, layer.name, layer.digest,
                     {.bytes = allowance.bytes + kTarSlack, .ratio = limits.ratio, .ratio_from = limits.ratio_from});
  crypto::Hasher hasher;
  const auto next = [&] {
    const std::string_view piece = stream.next();
    hasher.add(piece);
    return piece;
  };
  unpack(next, layer.name, root,
         {.whiteouts = Whiteouts::overlay,
          .owners = is_root,
          .times = true,
          .container = true,
          .implied = &record.implied},
         allowance);
  // Archives are padded; the digest covers that too.
  while (!next().empty()) continue;
  if (const std::string digest = "sha256:" + hex(hasher.finish()); digest != layer.diff_id)
    throw Error(Code::denied, fmt::format("the layer '{}' is not what the image says", layer.name))
        .because(fmt::format("it unpacks to {}, not {}", digest, layer.diff_id));
  for (const auto& [path, looks] : adopted) adopt(root, path, looks);
  record.bytes = before.bytes - allowance.bytes;
  record.entries = before.entries - allowance.entries;
  return record;
}

AdoptedLooks adopted_looks(const std::vector<std::string>& implied, const std::vector<std::string>& below) {
  AdoptedLooks out;
  if (implied.empty()) return out;
  std::vector<Root> layers;
  for (const auto& each : below) layers.emplace_back(each);
  for (const auto& path : implied) {
    DirectoryAttributes looks;
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
      const Found found = find_in(*layer, path, looks);
      if (found == Found::not_here) continue;
      if (found == Found::here && looks != DirectoryAttributes{}) out.emplace(path, looks);
      break;
    }
  }
  return out;
}

std::string layer_name(const std::string& diff_id, const AdoptedLooks& adopted) {
  check_digest(diff_id);
  if (adopted.empty()) return diff_id.substr(7);
  std::string text = diff_id;
  for (const auto& [path, looks] : adopted)
    text += fmt::format("\n{:o} {} {} {}", looks.mode, looks.uid, looks.gid, path);
  return hex(crypto::sha256(text));
}

}  // namespace underway::oci
