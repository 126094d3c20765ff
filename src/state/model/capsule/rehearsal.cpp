#include "model/capsule/rehearsal.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace underway::model {

using describe::Builder;
using describe::Structure;
using describe::Tag;

bool Rehearsal::passed() const {
  return !findings.empty() &&
         std::all_of(findings.begin(), findings.end(), [](const auto& finding) { return finding.passed; });
}

std::string Rehearsal::problem() const {
  if (findings.empty()) return "nothing was tried";
  const auto failed =
      std::find_if(findings.begin(), findings.end(), [](const auto& finding) { return !finding.passed; });
  if (failed == findings.end()) return "";
  return failed->output.empty() ? fmt::format("{} failed ({})", failed->name, failed->result)
                                : fmt::format("{} failed ({}): {}", failed->name, failed->result, trim(failed->output));
}

const Structure& description(Tag<RehearsalScript>) {
  static const Structure s =
      Builder<RehearsalScript>("rehearsal script", "A program of the site's that is run in a clone of a capsule.")
          .wire<&RehearsalScript::name>("Name", "Names it in what was found.")
          .wire<&RehearsalScript::content>("Content", "Its text, with its `#!` line; at most 1 MiB.")
          .done();
  return s;
}

const Structure& description(Tag<RehearsalFinding>) {
  static const Structure s =
      Builder<RehearsalFinding>("rehearsal finding", "One thing that was tried with a clone.")
          .wire<&RehearsalFinding::name>("Name", "`start`, `check`, or the name of a script.")
          .wire<&RehearsalFinding::passed>("Passed", "Whether it worked.")
          .wire<&RehearsalFinding::result>("Result", "Exit code; 128 and a signal's number; 124: it took too long.")
          .wire<&RehearsalFinding::output>("Output", "The end of what it said, at most 4 KiB.")
          .wire<&RehearsalFinding::took>("Took", "How long it took, in nanoseconds.")
          .done();
  return s;
}

const Structure& description(Tag<Rehearsal>) {
  static const Structure s =
      Builder<Rehearsal>("rehearsal", "What became of a clone of a capsule that was started apart from everything.")
          .wire<&Rehearsal::image>("Image", "The image that was tried: `<name>:<version>`.")
          .wire<&Rehearsal::digest>("Digest", "Digest of that image.")
          .wire<&Rehearsal::snapshot>("Snapshot", "The snapshot whose data it had; of a backup its ID.")
          .wire<&Rehearsal::at>("At", "Unix time in nanoseconds at which it ended.")
          .wire<&Rehearsal::findings>("Findings", "What was tried, in order.")
          .done();
  return s;
}

}  // namespace underway::model
