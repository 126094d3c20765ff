#pragma once
/// @file
/// Whose images a command that works on files trusts.

#include "cli/command.hpp"
#include "image/key.hpp"

namespace underway::cli {

/// Where public keys are looked for when -trust is not given.
inline constexpr const char* kTrustedKeysDirectory = "/etc/underway/capsule-keys.d";

/// The flag -trust.
Flag trust_flag();
/// Keys that -trust names (directories of *.pub files, or such files), or those of kTrustedKeysDirectory.
std::vector<image::TrustedKey> trusted_keys(const Arguments& arguments);

}  // namespace underway::cli
