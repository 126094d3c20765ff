#include "files/manifest.hpp"

#include <algorithm>
#include <tuple>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"

namespace underway::files {
namespace {

constexpr std::size_t kMostEntries = 100'000;
constexpr std::int64_t kVersion = 1;
/// What is signed begins with it: no signature that this key makes for anything else fits a manifest.
constexpr std::string_view kPurpose = "underway file manifest 1\n";

std::string decoded(const std::string& text, std::string_view what) {
  try {
    return base64_decode(text);
  } catch (const Error&) {
    throw Error(Code::invalid, fmt::format("the {} of the manifest is no base64", what));
  }
}

bool is_digest(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void check_entry(const ManifestEntry& entry, std::vector<std::string>& out) {
  const auto say = [&](const std::string& what) { out.push_back(fmt::format("'{}': {}", entry.path, what)); };
  if (const auto wrong = model::file_path_problem(entry.path); !wrong.empty()) say(wrong);
  if (entry.mode < 0 || entry.mode > 07777) say(fmt::format("mode {:o} is none", entry.mode));
  if (entry.type == model::FileType::part) say("a part is for nobody");
  if (!entry.problem.empty()) return;
  if (entry.type == model::FileType::file && !is_digest(entry.digest)) say("its digest is none");
  if (entry.type == model::FileType::symlink && (entry.link.empty() || entry.link.find('\0') != std::string::npos))
    say("its link says nothing");
  if (entry.size < 0 || entry.size > static_cast<std::int64_t>(model::kFileBytes)) say("its size is none");
  for (const auto* hook : {&entry.before, &entry.after}) {
    if (*hook && (**hook).command.empty()) say("a hook has no command");
  }
}

}  // namespace

std::string digest_of(const Manifest& manifest) {
  Manifest plain = manifest;
  plain.revision = 0;
  return hex(crypto::sha256(json::encode(plain, json::Encoding::compact)));
}

SignedManifest sign(const Manifest& manifest, const crypto::SigningKey& key) {
  SignedManifest out;
  out.text = json::encode(manifest, json::Encoding::compact);
  out.key = base64_encode(key.verifying().bytes);
  out.signature = base64_encode(key.sign(std::string(kPurpose) + out.text));
  return out;
}

Manifest open_manifest(const SignedManifest& from, const Expectation& expected) {
  if (expected.trust.has_withdrawn(from.key))
    throw Error(Code::denied, "the manifest of files is signed by a key that was withdrawn")
        .because("it is an old one, or the server's store was restored from before the rotation")
        .advise(
            "if the server goes on from that store, remove files/server.key in the agent's data directory on this "
            "node");
  if (!expected.trust.trusted.empty() && !expected.trust.believes(from.key))
    throw Error(Code::denied, "the manifest of files is signed by a key that this node does not trust")
        .because("another server signed it, or this server lost its key")
        .advise("if the server was made anew, remove files/server.key in the agent's data directory on this node");
  const crypto::VerifyingKey key{decoded(from.key, "key")};
  const std::string signature = decoded(from.signature, "signature");
  if (key.bytes.size() != 32 || !crypto::verify(key, std::string(kPurpose) + from.text, signature))
    throw Error(Code::denied, "the manifest of files is not genuine").because("its signature does not fit");
  auto manifest = json::decode_text<Manifest>(from.text, "manifest");
  if (manifest.version != kVersion)
    throw Error(Code::unsupported, fmt::format("the manifest of files is of version {}", manifest.version))
        .because(fmt::format("this agent knows version {}", kVersion))
        .advise("upgrade the agent");
  if (manifest.node_id != expected.node_id || manifest.capsule != expected.capsule)
    throw Error(Code::denied, "the manifest of files is for another target")
        .because(fmt::format("it is for node '{}'{}", manifest.node_id,
                             manifest.capsule.empty() ? "" : fmt::format(", capsule '{}'", manifest.capsule)));
  if (std::tie(manifest.epoch, manifest.revision) < std::tie(expected.epoch, expected.revision))
    throw Error(Code::conflict, "the manifest of files is older than what was applied here")
        .because(
            fmt::format("it is of revision {}.{}, and {}.{} was applied: the server's store was restored, or it is "
                        "an old copy",
                        manifest.epoch, manifest.revision, expected.epoch, expected.revision))
        .advise("if the nodes shall follow the restored store, run `underway file sync -accept-restored`");
  if (const auto wrong = problems(manifest); !wrong.empty())
    throw Error(Code::invalid, "the manifest of files asks for what cannot be").because(wrong);
  return manifest;
}

std::vector<std::string> problems(const Manifest& manifest) {
  std::vector<std::string> out;
  if (manifest.entries.size() > kMostEntries) {
    out.push_back(fmt::format("{} entries are more than {}", manifest.entries.size(), kMostEntries));
    return out;
  }
  const std::string* last = nullptr;
  for (const auto& entry : manifest.entries) {
    check_entry(entry, out);
    if (last != nullptr && entry.path <= *last) out.push_back(fmt::format("'{}' stands twice or too late", entry.path));
    last = &entry.path;
  }
  return out;
}

}  // namespace underway::files
