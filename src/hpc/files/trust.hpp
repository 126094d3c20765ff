#pragma once
/// @file
/// The keys that a node believes when they sign manifests, and how it comes to believe another: step by step, each
/// signed by a key that it believes already. Pure.

#include "crypto/sign.hpp"
#include "model/file.hpp"

namespace underway::files {

struct Trust {
  std::int64_t serial = 0;             ///< of the newest step that was taken
  std::vector<std::string> trusted;    ///< base64; none: whichever signs the first manifest
  std::vector<std::string> withdrawn;  ///< base64; never believed again

  bool believes(const std::string& key) const;
  bool has_withdrawn(const std::string& key) const;
};

/// `to` is believed beside `from`. By both: who believes `from` has its word, and `to` is in the hands of who signed.
model::FileKeyStep introduce_key(std::int64_t serial, const crypto::SigningKey& from, const crypto::SigningKey& to);
/// `from` is believed no more. By `to` alone: the word of a key that leaked counts for nothing.
model::FileKeyStep withdraw_key(std::int64_t serial, const std::string& from, const crypto::SigningKey& to);

/// What is believed after the steps; those that were taken already are passed over.
/// Errors: denied (a signature that does not fit, a key that is not believed), conflict (a step is missing).
Trust take_steps(Trust trust, const std::vector<model::FileKeyStep>& steps);

/// What a node keeps: JSON, or a key alone as agents wrote it before there were steps. Throws invalid.
Trust parse_trust(std::string_view text);

const describe::Structure& description(describe::Tag<Trust>);

}  // namespace underway::files
