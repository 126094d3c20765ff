#include "files/masters/key_decisions.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/sign.hpp"

namespace underway::files {

using model::FileKey;
using model::FileKeyStep;
using model::FileReport;
using model::FileSettings;
using server::Context;
using server::Decision;
using server::Nothing;
using tables::Tables;

namespace {

std::string thumbprint(const std::string& key) { return crypto::VerifyingKey{base64_decode(key)}.id(); }

bool is_alive(const model::Node& node) {
  return node.status == model::NodeStatus::ready || node.status == model::NodeStatus::initializing;
}

std::int64_t serial_of(const FileSettings& settings) {
  return settings.steps.empty() ? 0 : settings.steps.back().serial;
}

/// The newest step that each node says it follows. Who has said nothing yet is not waited for: it gets the steps with
/// whatever it asks for next.
std::map<std::string, std::int64_t> followed(const Tables& tables) {
  std::map<std::string, std::int64_t> out;
  for (const auto& report : tables::records<FileReport>(tables)) {
    auto& serial = out[report.node_id];
    serial = std::max(serial, report.key_serial);
  }
  return out;
}

}  // namespace

std::optional<FileKeyState> key_state(const Tables& tables) {
  const auto settings = tables::find_record<FileSettings>(tables, "settings");
  if (!settings || settings->key.empty()) return std::nullopt;
  FileKeyState out;
  out.key = thumbprint(settings->key);
  out.since = settings->key_since;
  out.serial = serial_of(*settings);
  if (settings->next) {
    out.next = thumbprint(settings->next->key);
    out.next_since = settings->next->since;
  }
  if (out.serial == 0) return out;
  for (const auto& [id, serial] : followed(tables)) {
    const auto node = tables.find_node(id);
    if (!node || serial >= out.serial) continue;
    (is_alive(*node) ? out.waiting : out.behind).push_back(node->name);
  }
  std::ranges::sort(out.waiting);
  std::ranges::sort(out.behind);
  return out;
}

Decision<Nothing> decide(const Tables& tables, const IntroduceKey& request, const Context& context) {
  const auto& [next, step] = request;
  auto settings = tables::find_record<FileSettings>(tables, "settings");
  if (!settings || settings->key.empty()) throw Error(Code::unavailable, "files are not synchronised yet");
  if (settings->next) {
    const auto state = key_state(tables);
    Error error(Code::conflict, "the key that signs manifests is being rotated already");
    if (!state->waiting.empty()) error.because(fmt::format("it waits for {}", join(state->waiting, ", ")));
    throw error.advise("`-force` ends it now, and withdraws the old key");
  }
  if (step.from != settings->key || step.serial != serial_of(*settings) + 1)
    throw Error(Code::conflict, "the key that signs manifests is another meanwhile").advise("try it again");
  settings->next = next;
  settings->next->since = unix_nanos(context.now);
  settings->steps.push_back(step);
  Decision<Nothing> decision;
  decision.changes.push_back(tables::put_record(*settings));
  return decision;
}

Decision<bool> decide(const Tables& tables, const WithdrawKey& request, const Context& context) {
  const auto& [step, force] = request;
  Decision<bool> decision;
  auto settings = tables::find_record<FileSettings>(tables, "settings");
  if (!settings || !settings->next || step.to != settings->next->key || step.from != settings->key ||
      step.serial != serial_of(*settings) + 1)
    return decision;
  if (!force && !key_state(tables)->waiting.empty()) return decision;
  settings->key = settings->next->key;
  settings->key_id = settings->next->key_id;
  settings->seed = settings->next->seed;
  settings->key_since = unix_nanos(context.now);
  settings->next.reset();
  settings->steps.push_back(step);
  decision.changes.push_back(tables::put_record(*settings));
  decision.result = true;
  return decision;
}

}  // namespace underway::files
