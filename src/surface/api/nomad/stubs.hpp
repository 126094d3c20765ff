#pragma once
/// @file
/// The shapes that only the API has: list stubs and summaries, under Nomad's names (api/*.go: JobListStub,
/// AllocationListStub, NodeListStub, JobSummary).

#include "tables/tables.hpp"
#include "wire/allocation/allocation_stub.hpp"
#include "wire/job/job_stub.hpp"
#include "wire/node/node_stub.hpp"

namespace underway::api {

wire::JobSummary summarize(const tables::Tables& tables, const model::Job& job);
wire::JobStub stub(const tables::Tables& tables, const model::Job& job);
wire::AllocationStub stub(const tables::Tables& tables, const model::Allocation& allocation);
/// What it waits for before it may start, in words: those that it depends on, or a capsule's record; nothing when it
/// may.
std::optional<std::string> waiting_for(const tables::Tables& tables, const model::Allocation& allocation);
wire::NodeStub stub(const model::Node& node, bool with_os, bool with_resources);

}  // namespace underway::api
