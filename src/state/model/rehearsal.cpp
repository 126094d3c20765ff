#include "model/rehearsal.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace underway::model {

using describe::Builder;
using describe::Structure;
using describe::Tag;

bool Rehearsal::passed() const {
  return !findings.empty() && std::all_of(findings.begin(), findings.end(), [](const auto& one) { return one.passed; });
}

std::string Rehearsal::problem() const {
  if (findings.empty()) return "nothing was tried";
  const auto failed = std::find_if(findings.begin(), findings.end(), [](const auto& one) { return !one.passed; });
  if (failed == findings.end()) return "";
  return failed->output.empty() ? fmt::format("{} failed ({})", failed->name, failed->result)
                                : fmt::format("{} failed ({}): {}", failed->name, failed->result, trim(failed->output));
}

const Structure& description(Tag<RehearsalScript>) {
  static const Structure s = Builder<RehearsalScript>("rehearsal script", "")
                                 .wire<&RehearsalScript::name>("Name", "")
                                 .wire<&RehearsalScript::content>("Content", "")
                                 .done();
  return s;
}

const Structure& description(Tag<RehearsalFinding>) {
  static const Structure s = Builder<RehearsalFinding>("rehearsal finding", "")
                                 .wire<&RehearsalFinding::name>("Name", "")
                                 .wire<&RehearsalFinding::passed>("Passed", "")
                                 .wire<&RehearsalFinding::result>("Result", "")
                                 .wire<&RehearsalFinding::output>("Output", "")
                                 .wire<&RehearsalFinding::took>("Took", "")
                                 .done();
  return s;
}

const Structure& description(Tag<Rehearsal>) {
  static const Structure s = Builder<Rehearsal>("rehearsal", "")
                                 .wire<&Rehearsal::image>("Image", "")
                                 .wire<&Rehearsal::digest>("Digest", "")
                                 .wire<&Rehearsal::snapshot>("Snapshot", "")
                                 .wire<&Rehearsal::at>("At", "")
                                 .wire<&Rehearsal::findings>("Findings", "")
                                 .done();
  return s;
}

}  // namespace underway::model
