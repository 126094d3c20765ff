#include "wire/node/node_stub.hpp"

namespace underway::wire {

using describe::Projection;
using describe::Projector;
using describe::Tag;

namespace {

std::string attribute(const model::Node& node, const char* name) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? std::string() : found->second;
}
std::string address_of(const model::Node& node) { return attribute(node, "unique.network.ip-address"); }
std::string version_of(const model::Node& node) { return attribute(node, "nomad.version"); }
bool is_draining(const model::Node& node) { return node.drain.has_value(); }

}  // namespace

const Projection<model::Node>& description(Tag<NodeStub>) {
  static const auto s =
      Projector<NodeStub, model::Node>("node stub", "A node in a list.")
          .from<&NodeStub::id, &model::Node::id>("ID", "ID of the node.")
          .from<&NodeStub::name, &model::Node::name>("Name", "Name of the node.")
          .from<&NodeStub::datacenter, &model::Node::datacenter>("Datacenter", "Its datacenter.")
          .from<&NodeStub::node_class, &model::Node::node_class>("NodeClass", "Its class; empty: none.")
          .from<&NodeStub::node_pool, &model::Node::node_pool>("NodePool", "The pool that it is in.")
          .from<&NodeStub::address, address_of>(
              "Address", "Its address, from its attribute unique.network.ip-address; empty: none was found.")
          .from<&NodeStub::version, version_of>("Version", "The version of Nomad whose job files run there unchanged.")
          .from<&NodeStub::host, &model::Node::host>("Host",
                                                     "The host that it is, where a provider made it; else empty.")
          .from<&NodeStub::cluster, &model::Node::cluster>("Cluster",
                                                           "The cluster that it belongs to; empty: it is in none.")
          .from<&NodeStub::drain, is_draining>("Drain", "Whether it is being drained.")
          .from<&NodeStub::eligibility, &model::Node::eligibility>(
              "SchedulingEligibility", "eligible, or ineligible: then nothing new is placed there.")
          .from<&NodeStub::status, &model::Node::status>("Status", "initializing, ready, down or disconnected.")
          .from<&NodeStub::status_description, &model::Node::status_description>(
              "StatusDescription", "Why it is so, for people; may be empty.")
          .from<&NodeStub::last_drain, &model::Node::last_drain>(
              "LastDrain", "Its newest drain, also when that is over; absent: it was never drained.")
          .from<&NodeStub::drivers, &model::Node::drivers>("Drivers", "Its task drivers and how they are, by name.")
          .wire<&NodeStub::attributes>("Attributes", "Those that begin with os., by name; only with ?os.")
          .wire<&NodeStub::resources>("NodeResources", "What it has; only with ?resources.")
          .wire<&NodeStub::reserved>("ReservedResources", "What is kept back of it; only with ?resources.")
          .from<&NodeStub::create_index, &model::Node::create_index>("CreateIndex", "Revision of its creation.")
          .from<&NodeStub::modify_index, &model::Node::modify_index>("ModifyIndex", "Revision of its last change.")
          .done();
  return s;
}

}  // namespace underway::wire
