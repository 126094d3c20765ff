#include "traffic/flow/flow_table.hpp"

namespace underway::traffic {
namespace {

std::uint64_t hash_of(const Flow& flow) {
  Frame frame;
  frame.source = flow.address[0];
  frame.destination = flow.address[1];
  frame.source_port = flow.port[0];
  frame.destination_port = flow.port[1];
  frame.vlan = flow.vlan;
  frame.number = flow.number;
  frame.protocol = flow.protocol;
  frame.kind = flow.kind;
  return FlowTable::hash_of(frame);
}

}  // namespace

std::uint32_t FlowTable::insert(std::uint64_t hash, const Flow& flow) {
  std::uint32_t at;
  if (free_.empty()) {
    at = static_cast<std::uint32_t>(flows_.size());
    flows_.push_back(flow);
  } else {
    at = free_.back();
    free_.pop_back();
    flows_[at] = flow;
  }
  flows_[at].used = true;
  index_.insert(hash, at);
  return at;
}

void FlowTable::erase(std::uint32_t at) {
  index_.erase(traffic::hash_of(flows_[at]), at);
  flows_[at].used = false;
  free_.push_back(at);
}

std::uint32_t FlowTable::step() {
  if (flows_.empty()) return kNone;
  if (++hand_ >= flows_.size()) hand_ = 0;
  return hand_;
}

std::uint32_t FlowTable::choose_victim() {
  constexpr int kLooks = 16;
  std::uint32_t victim = kNone;
  for (int look = 0; look < kLooks; ++look) {
    const std::uint32_t at = step();
    if (flows_[at].used && (victim == kNone || flows_[at].last < flows_[victim].last)) victim = at;
  }
  return victim;
}

}  // namespace underway::traffic
