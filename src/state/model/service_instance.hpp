#pragma once
/// @file
/// One entry of the catalogue: a service as one allocation provides it. Entries are computed from the allocation, never
/// stored, so they cannot outlive what they stand for. The index of who provides what is in tables/services.hpp.

#include "model/allocation.hpp"
#include "model/node/node.hpp"

namespace underway::model {

/// A service and whose it is.
struct DeclaredService {
  const Service* service = nullptr;
  const Task* task = nullptr;  ///< null: the group's
};

/// As Nomad's ServiceRegistration.
struct ServiceInstance {
  std::string id;
  std::string service_name;
  std::string ns;
  std::string node_id;
  std::string datacenter;
  std::string job_id;
  std::string alloc_id;
  std::vector<std::string> tags;  ///< of canaries: canary_tags, if there are any
  StringMap meta;
  std::string address;
  std::int64_t port = 0;
  bool ready = false;  ///< ours: its allocation's checks pass and its tasks run
  Revision create_index = 0;
  Revision modify_index = 0;
};

/// Those of the allocation's group, then those of its tasks. Points into allocation.job.
std::vector<DeclaredService> declared_services(const Allocation& allocation);

/// What a port's label means for an allocation.
struct PortAddress {
  std::string ip;  ///< of the node's network that the port is on
  std::int64_t port = 0;
  std::int64_t to = 0;  ///< as the task sees it
};
/// `label` may be a number. Empty: the address without a port. Nothing when the allocation has no such port. Without a
/// node, ports that name no address of their own have none.
/// Where a service, or a check of it, is reached: `port` is a label or a number, `mode` its `address_mode`. The
/// allocation's own address where it is asked for and there is one ("alloc", and "driver", whose tasks have none
/// besides), else the node's.
std::optional<PortAddress> find_service_address(const Allocation& allocation, const std::string& port,
                                                const std::string& mode, const Node* node);
std::optional<PortAddress> find_port(const Allocation& allocation, const std::string& label, const Node* node);

/// NOMAD_ADDR_<label> and its kin, of the allocation's ports, and NOMAD_ADDR_<task>_<label> of all its tasks.
/// Source: Nomad's client/taskenv/env.go.
StringMap port_variables(const Allocation& allocation, const Node* node);
/// "http-port" becomes "http_port": what may stand in a variable's name.
std::string variable_name(std::string_view label);

/// What `${…}` stands for in a service: NOMAD_* of the allocation and its ports, and attr.*, meta.* and node.* of the
/// node, if it is given; Nomad's old BASE, JOB, TASKGROUP and TASK.
std::string interpolate(std::string_view text, const Allocation& allocation, const Task* task, const Node* node);

/// Its name with everything filled in; "<job>-<group>-<task>" when the job gives none. Independent of the node.
std::string service_name(const Allocation& allocation, const DeclaredService& declared);

/// Whether it is to be found now: wanted, running, and its task runs. What is not heard of for a while is still listed;
/// what is to be stopped is not, from the moment on that this is decided.
bool is_provided(const Allocation& allocation, const DeclaredService& declared);

/// `node`: the allocation's; null when it is not known (its datacenter and address are then empty).
ServiceInstance service_instance(const Allocation& allocation, const DeclaredService& declared, const Node* node);

const describe::Structure& description(describe::Tag<ServiceInstance>);

}  // namespace underway::model
