#pragma once
/// @file
/// Manifests as values: their digest, their signature, and what a node checks before it believes one.

#include "files/messages.hpp"
#include "files/trust.hpp"

namespace underway::files {

/// SHA-256 of what it asks for, hexadecimal: two manifests that differ in their revision only have the same. By it a
/// node says what it has.
std::string digest_of(const Manifest& manifest);

SignedManifest sign(const Manifest& manifest, const crypto::SigningKey& key);

/// What a manifest must fit to be believed.
struct Expectation {
  std::string node_id;
  std::string capsule;
  Trust trust;
  std::int64_t epoch = 0;  ///< of the newest that was ever believed, with the next
  model::Revision revision = 0;
};

/// The manifest, when it is genuine, for this target, not older than what was believed before, and sound.
/// Errors: denied (another key, one that was withdrawn, a signature that does not fit, another target), conflict
/// (older), invalid (no manifest, or one that asks for what cannot be), each saying which.
Manifest open_manifest(const SignedManifest& from, const Expectation& expected);

/// All that is wrong with what it asks for; empty when it is sound.
std::vector<std::string> problems(const Manifest& manifest);

}  // namespace underway::files
