#pragma once
/// @file
/// How far Slurm is with hosts (model/slurm_member.hpp): a row for each host of a pool that joins it.

#include "model/slurm_member.hpp"
#include "tables/records.hpp"

namespace underway::tables {

template <>
struct RecordOf<model::SlurmMember> {
  static constexpr std::string_view kind = "slurm-member";
  static std::string name(const model::SlurmMember& member) { return member.cluster + "/" + member.host; }
};

}  // namespace underway::tables
