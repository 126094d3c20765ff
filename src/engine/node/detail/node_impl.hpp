#pragma once
/// @file
/// The node's insides: what it holds, and what it does about orders and requests.

#include <map>
#include <set>

#include "async/control_loop.hpp"
#include "async/group.hpp"
#include "base/clock.hpp"
#include "base/random.hpp"
#include "driver/driver.hpp"
#include "link/dialler.hpp"
#include "node/allocation/allocation_runner.hpp"
#include "node/extension.hpp"
#include "node/fingerprint/dynamic_meta.hpp"
#include "node/fingerprint/fingerprint.hpp"
#include "node/fingerprint/host_stats.hpp"
#include "node/kernel_runtime.hpp"
#include "node/node.hpp"
#include "node/streams/log_reader.hpp"
#include "node/task/driver_adapter.hpp"
#include "node/task/task_stats.hpp"
#include "node/template/template_data.hpp"
#include "node/volume/host_volumes.hpp"
#include "os/file.hpp"
#include "trust/membership.hpp"

namespace underway::node {

class Node::Impl : private Predecessors {
 public:
  Impl(Options options, std::vector<std::unique_ptr<driver::Driver>> drivers, async::Loop& loop, async::Pool& pool,
       const Clock& clock);

  awaitable<void> start();
  awaitable<void> stop();
  awaitable<void> stop_everything();

  const model::Node& self() const { return self_; }
  NodeStats stats() const;
  awaitable<protocol::ClientMetrics> measure();  // client_metrics.cpp
  std::vector<model::AllocationUpdate> allocations() const;
  async::LoopRegistry& loops() { return loops_; }

 private:
  // node.cpp: allocations
  void restore(StoredAllocation stored);
  void obey(const protocol::AllocationsMessage& message);
  void obey(const protocol::AllocationOrder& order, const protocol::AllocationsMessage& message);
  std::shared_ptr<const model::Job> job_of(const protocol::AllocationOrder& order,
                                           const protocol::AllocationsMessage& message) const;
  AllocationRunner& add(StoredOrder order, AllocationState state);
  void destroy(const std::string& id);
  awaitable<void> remove_when_dead(std::string id);
  void collect_garbage();
  async::LoopPlan collection_loop();
  awaitable<void> collect();
  bool has_heir(const std::string& id) const;
  void reported(const std::string& id);
  AllocationRunner& get(const std::string& id) const;
  async::LoopPlan leftovers_loop();
  awaitable<void> wait_for_leavings();
  awaitable<void> reap_leftovers();

  // template_sources.cpp
  void open_sources();

  // link_session.cpp: the conversation with the server
  link::Handlers handlers();
  awaitable<void> session(std::shared_ptr<link::Connection> connection);
  awaitable<protocol::RegisterReply> present(link::Connection& connection);
  async::LoopPlan attributes_loop();
  awaitable<void> look_again();
  std::vector<model::NodeDeviceGroup> find_devices();
  awaitable<void> send_updates(link::Connection& connection);
  bool has_news() const;
  bool has_urgent_news() const;
  void open_membership();

  // orphans.cpp: what the server does not know, and has no say in
  void sort_out_unwanted(const std::set<std::string>& wanted, const protocol::AllocationsMessage& message,
                         std::vector<std::string>& gone);
  std::vector<protocol::OrderedAllocation> ordered() const;
  boost::json::value answer_about_orphans(const std::string& method);

  // predecessors.cpp
  awaitable<std::optional<std::string>> wait_for_directory(std::string allocation) override;
  awaitable<void> fetch_disk(std::string allocation, std::string to) override;
  awaitable<std::vector<protocol::KeptMachine>> describe_machines(std::string allocation) override;
  awaitable<void> fetch_machine(std::string allocation, std::string task, std::string to) override;
  bool has_namesake(const std::string& allocation) const override;
  awaitable<void> serve_machine(protocol::FileRequest request, std::shared_ptr<link::Stream> stream);
  awaitable<std::shared_ptr<link::Connection>> linked();
  // move/carry.cpp: while they run
  awaitable<protocol::Departure> receive_machine(std::string allocation, std::string task) override;
  awaitable<void> carry(protocol::MachineStream header, os::Fd socket) override;
  awaitable<protocol::MoveFate> fate_of(std::string allocation, std::string to) override;
  awaitable<void> serve_departure(protocol::MachineStream request, std::shared_ptr<link::Stream> stream);
  awaitable<void> serve_entrance(protocol::MachineStream request, std::shared_ptr<link::Stream> stream);
  awaitable<void> unpack_from(std::shared_ptr<link::Stream> stream, const std::string& to);
  awaitable<void> pack_into(std::vector<std::string> command, std::shared_ptr<link::Stream> stream);
  awaitable<void> serve_disk(protocol::FileRequest request, std::shared_ptr<link::Stream> stream);

  // link_loss.cpp: what is stopped while no server is heard of
  async::LoopPlan link_loss_loop();
  awaitable<void> wait_for_link_loss();
  awaitable<void> stop_overdue();
  void stop_without_order(AllocationRunner& runner, Duration silence);

  // link_handlers.cpp: what the server asks
  Extension* extension_for(std::string_view method) const;
  awaitable<void> start_extensions();
  awaitable<boost::json::value> answer(std::string method, boost::json::value body);
  awaitable<boost::json::value> list_files(protocol::FileRequest request);
  awaitable<boost::json::value> stat_file(protocol::FileRequest request);
  awaitable<boost::json::value> remove_now(protocol::TaskRequest request);

  // volume_handlers.cpp
  awaitable<void> open_volumes();
  awaitable<boost::json::value> answer_for_volumes(std::string method, boost::json::value body);

  // self_handlers.cpp: what the server asks about the node itself
  awaitable<boost::json::value> answer_for_self(std::string method, boost::json::value body);
  awaitable<boost::json::value> apply_metadata(protocol::MetadataRequest request);
  awaitable<void> serve_monitor(protocol::MonitorRequest request, std::shared_ptr<link::Stream> stream);

  // streams.cpp
  awaitable<void> serve(std::string method, boost::json::value header, std::shared_ptr<link::Stream> stream);
  awaitable<void> serve_log(protocol::LogRequest request, std::shared_ptr<link::Stream> stream);
  awaitable<void> serve_file(std::string method, protocol::FileRequest request, std::shared_ptr<link::Stream> stream);
  awaitable<void> serve_exec(std::shared_ptr<ExecSession> session, std::shared_ptr<link::Stream> stream);

  Options options_;
  const std::string boot_ = boot_mark();
  async::Loop& loop_;
  async::Pool& pool_;
  const Clock& clock_;
  async::LoopRegistry loops_{clock_};
  KernelRuntime runtime_;
  DriverAdapter drivers_;
  SystemIds ids_;
  std::optional<os::FileLock> lock_;
  NodeIdentity identity_;
  model::Node self_;
  /// As options_.more_attributes found them last. Kept apart: tasks read self_, on other threads too.
  model::StringMap more_attributes_;
  DynamicMeta metadata_;  ///< kept apart as well
  std::optional<HostVolumes> volumes_;
  std::map<std::string, model::NodeVolume> lent_;  ///< dynamic ones, by name
  std::set<std::string> volumes_busy_;             ///< ids and names of those that are being made or deleted
  async::Event volume_done_;
  bool applying_metadata_ = false;
  async::Event metadata_applied_;
  HostSampler host_sampler_;
  HostSampler metrics_host_;  ///< of /v1/metrics: each tells rates since it was asked itself
  UsageSamples metrics_samples_;
  /// Asked when it starts, and every minute; null: there is no such library.
  std::unique_ptr<Nvidia> nvidia_;
  bool unpresented_ = false;  ///< they have changed since the server was told
  model::StringMap host_environment_;
  NodeStats stats_;
  ServerData server_data_;
  std::unique_ptr<sources::Sources> sources_;  ///< null: there are none
  TemplateData template_data_{server_data_};
  std::optional<TaskApi> task_api_;
  std::unique_ptr<network::AllocationNetworks> networks_;  ///< null: this agent may make none
  std::optional<RunnerContext> context_;
  std::optional<StateFiles> files_;
  std::map<std::string, std::unique_ptr<AllocationRunner>> runners_;
  std::set<std::string> removing_;
  std::map<std::string, protocol::Origin> origins_;  ///< of the newest order of each
  std::set<std::string> orphans_;                    ///< as the newest full message left them
  /// Answers about allocations that we cannot have or no longer have, until the server has them.
  std::map<std::string, model::AllocationUpdate> notices_;
  UsageSamples samples_;
  async::Event news_;  ///< something for the server
  std::optional<async::SteadyTime> unlinked_since_;
  async::Event link_changed_;                        ///< a link was lost
  async::Event tasks_changed_;                       ///< something for those who follow logs
  std::uint64_t leavings_ = 0;                       ///< ends of tasks that left processes running
  std::uint64_t leavings_seen_ = ~std::uint64_t{0};  ///< at first there may be some of an earlier agent
  bool leftovers_ = false;                           ///< some of them run on
  std::optional<async::SteadyTime> stop_next_;  ///< when the next allocation outlives the link; absent: not looked yet
  async::Event leaving_;
  std::weak_ptr<link::Connection> connection_;
  std::unique_ptr<trust::Membership> membership_;
  std::unique_ptr<link::Dialler> dialler_;
  async::TaskGroup work_;
  async::TaskGroup link_work_;
};

}  // namespace underway::node
