#pragma once
/// @file
/// The bodies of `/v1/underway/capsule/…`.

#include "model/capsule/capsule.hpp"

namespace underway::wire {

struct MoveCapsule {
  std::string node;  ///< id
  bool without_overlay = false;
  bool dry_run = false;
};

struct MovedCapsule {
  std::string move_id;  ///< empty: a rehearsal
};

struct UpgradeCapsule {
  std::string image;
  std::vector<model::RehearsalScript> scripts;
  bool rehearse_only = false;
  bool revert = false;  ///< image, scripts and rehearse_only are without effect then
  bool any_slurm_version = false;
  bool loses = false;  ///< of a way back
};

struct UpgradedCapsule {
  std::string upgrade_id;
};

struct CapsuleStandby {
  std::string node;  ///< id; empty: none
  Duration every{0};
  Duration rpo{0};  ///< 0: as it was
};

const describe::Structure& description(describe::Tag<MoveCapsule>);
const describe::Structure& description(describe::Tag<MovedCapsule>);
const describe::Structure& description(describe::Tag<UpgradeCapsule>);
const describe::Structure& description(describe::Tag<UpgradedCapsule>);
const describe::Structure& description(describe::Tag<CapsuleStandby>);

}  // namespace underway::wire
