#include "files/trust.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"

namespace underway::files {

using model::FileKeyAction;
using model::FileKeyStep;

namespace {

/// What is signed. It begins as nothing else that these keys sign does.
std::string text_of(const FileKeyStep& step) {
  return fmt::format("underway file key 1\n{}\n{}\n{}\n{}\n", step.serial, describe::spell(step.action), step.from,
                     step.to);
}

bool is_signed(const FileKeyStep& step, const std::string& key, const std::string& signature) {
  try {
    const crypto::VerifyingKey verifying{base64_decode(key)};
    return verifying.bytes.size() == 32 && crypto::verify(verifying, text_of(step), base64_decode(signature));
  } catch (const Error&) {  // no base64
    return false;
  }
}

Error refused(const FileKeyStep& step, std::string_view why) {
  return Error(Code::denied, fmt::format("step {} of the keys that sign manifests is not taken", step.serial))
      .because(std::string(why))
      .advise("if the server was made anew, remove files/server.key in the agent's data directory on this node");
}

void take(Trust& trust, const FileKeyStep& step) {
  if (step.from == step.to || !trust.believes(step.from))
    throw refused(step, "it is of a key that is not believed here");
  if (!is_signed(step, step.to, step.by_to)) throw refused(step, "the signature of the new key does not fit");
  if (step.action == FileKeyAction::introduce) {
    if (!is_signed(step, step.from, step.by_from)) throw refused(step, "the signature of the old key does not fit");
    if (trust.has_withdrawn(step.to)) throw refused(step, "the new key was withdrawn before");
    if (!trust.believes(step.to)) trust.trusted.push_back(step.to);
  } else {
    if (!trust.believes(step.to)) throw refused(step, "the new key is not believed here");
    std::erase(trust.trusted, step.from);
    trust.withdrawn.push_back(step.from);
  }
  trust.serial = step.serial;
}

}  // namespace

bool Trust::believes(const std::string& key) const { return std::ranges::find(trusted, key) != trusted.end(); }
bool Trust::has_withdrawn(const std::string& key) const { return std::ranges::find(withdrawn, key) != withdrawn.end(); }

FileKeyStep introduce_key(std::int64_t serial, const crypto::SigningKey& from, const crypto::SigningKey& to) {
  FileKeyStep step{
      serial, FileKeyAction::introduce, base64_encode(from.verifying().bytes), base64_encode(to.verifying().bytes), "",
      ""};
  step.by_from = base64_encode(from.sign(text_of(step)));
  step.by_to = base64_encode(to.sign(text_of(step)));
  return step;
}

FileKeyStep withdraw_key(std::int64_t serial, const std::string& from, const crypto::SigningKey& to) {
  FileKeyStep step{serial, FileKeyAction::withdraw, from, base64_encode(to.verifying().bytes), "", ""};
  step.by_to = base64_encode(to.sign(text_of(step)));
  return step;
}

Trust take_steps(Trust trust, const std::vector<FileKeyStep>& steps) {
  for (const auto& step : steps) {
    if (step.serial <= trust.serial) continue;
    if (step.serial != trust.serial + 1)
      throw Error(Code::conflict, fmt::format("step {} of the keys that sign manifests is missing", trust.serial + 1))
          .because(fmt::format("the server sent step {}", step.serial));
    take(trust, step);
  }
  return trust;
}

Trust parse_trust(std::string_view text) {
  const auto plain = trim(text);
  if (!plain.starts_with('{'))
    return {0, plain.empty() ? std::vector<std::string>() : std::vector{std::string(plain)}, {}};
  return json::decode_text<Trust>(plain, "keys that sign manifests");
}

const describe::Structure& description(describe::Tag<Trust>) {
  static const describe::Structure s =
      describe::Builder<Trust>("trust", "Keys that are believed.")
          .wire<&Trust::serial>("Serial", "Of the newest step that was taken; 0: none.")
          .wire<&Trust::trusted>(
              "Trusted",
              "Public halves of the keys that are believed, base64; none: whichever signs the first manifest.")
          .wire<&Trust::withdrawn>("Withdrawn", "Public halves of keys that are never believed again, base64.")
          .done();
  return s;
}

}  // namespace underway::files
