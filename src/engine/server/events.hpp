#pragma once
/// @file
/// What happened, for whoever follows: the changes of the tables as Nomad's events, the newest of them kept. One buffer
/// with any number of readers. A client that reads more slowly than events come is told, once the next event that it
/// would get has left the buffer, and its stream ends: nothing is kept for one reader alone.

#include <deque>

#include "async/event.hpp"
#include "base/clock.hpp"
#include "model/access/auth_method.hpp"
#include "model/node/host_volume.hpp"
#include "model/node/node_pool.hpp"
#include "model/service_instance.hpp"
#include "tables/observer.hpp"

namespace underway::server {

using tables::Row;
using tables::Tables;

/// Spelled as Nomad does ("Job"); Host and Cluster are ours.
enum class EventTopic : std::uint8_t {
  job,
  allocation,
  evaluation,
  deployment,
  node,
  service,
  variable,
  node_pool,
  host_volume,
  acl_policy,
  acl_token,
  acl_role,
  auth_method,
  binding_rule,
  host,
  cluster
};

struct Event {
  EventTopic topic = EventTopic::job;
  std::string_view type;  ///< Nomad's, where it has one: "JobRegistered"; a literal
  model::Revision index = 0;
  /// As it is now; of what is gone, as it last was.
  std::variant<Row<model::Job>, Row<model::Allocation>, Row<model::Evaluation>, Row<model::Deployment>,
               Row<model::Node>, Row<model::ServiceInstance>, Row<model::Variable>, Row<model::NodePool>,
               Row<model::HostVolume>, Row<model::AclPolicy>, Row<model::AclToken>, Row<model::AclRole>,
               Row<model::AuthMethod>, Row<model::BindingRule>, Row<model::Host>, Row<model::Cluster>>
      row;
};

const describe::Enumeration& description(describe::Tag<EventTopic>);

/// What an event is found by: the id of the row.
std::string key_of(const Event& event);
/// Further names that a filter may give: an allocation's job and deployment.
std::vector<std::string> filter_keys_of(const Event& event);
/// Empty: it is of the whole cluster, in no namespace.
std::string namespace_of(const Event& event);

/// Thread: the control loop's only.
class EventBuffer final : public tables::Observer {
 public:
  /// What became durable together.
  struct Batch {
    model::Revision index = 0;
    TimePoint time;
    std::vector<Event> events;
  };

  /// Keeps about the `most` newest events, and always the whole of the newest batch. All must outlive it.
  EventBuffer(const Tables& tables, const Clock& clock, std::size_t most);

  /// What was told since the last call is durable, as of the tables' revision.
  void publish();

  class Reader {
   public:
    /// The next batch; null when there is none yet. Throws exhausted when it is gone already: the reader was too slow,
    /// or the server has lost track of what happened.
    std::shared_ptr<const Batch> next();

   private:
    friend class EventBuffer;
    Reader(const EventBuffer& buffer, std::uint64_t number) : buffer_(&buffer), number_(number) {}
    const EventBuffer* buffer_;
    std::uint64_t number_;
    model::Revision read_ = 0;
  };
  /// From this index on; what is older than the buffer is left out: see complete_from().
  Reader read_from(model::Revision index) const;
  /// Every event from this index on is here.
  model::Revision complete_from() const { return complete_from_; }
  model::Revision newest() const { return revision_; }
  /// There is more to read.
  async::Event& more() const { return more_; }

  void reset() override;
  void loaded() override;
  void job_changed(const Row<model::Job>& before, const Row<model::Job>& after) override;
  void node_changed(const Row<model::Node>& before, const Row<model::Node>& after) override;
  void allocation_changed(const Row<model::Allocation>& before, const Row<model::Allocation>& after) override;
  void evaluation_changed(const Row<model::Evaluation>& before, const Row<model::Evaluation>& after) override;
  void deployment_changed(const Row<model::Deployment>& before, const Row<model::Deployment>& after) override;
  void cluster_changed(const Row<model::Cluster>& before, const Row<model::Cluster>& after) override;
  void host_changed(const Row<model::Host>& before, const Row<model::Host>& after) override;
  void variable_changed(const Row<model::Variable>& before, const Row<model::Variable>& after) override;
  void acl_policy_changed(const Row<model::AclPolicy>& before, const Row<model::AclPolicy>& after) override;
  void acl_token_changed(const Row<model::AclToken>& before, const Row<model::AclToken>& after) override;
  void acl_role_changed(const Row<model::AclRole>& before, const Row<model::AclRole>& after) override;
  void record_changed(const Row<model::Record>& before, const Row<model::Record>& after) override;

 private:
  template <class T>
  void add(EventTopic topic, std::string_view type, const Row<T>& before, const Row<T>& after);
  /// Whether the record is of this kind.
  template <class T>
  bool add_record(EventTopic topic, std::string_view put, std::string_view gone, const Row<model::Record>& before,
                  const Row<model::Record>& after);
  void services_changed(const Row<model::Allocation>& before, const Row<model::Allocation>& after);
  void forget_old();

  const Tables& tables_;
  const Clock& clock_;
  std::size_t most_;
  std::deque<std::shared_ptr<const Batch>> batches_;
  std::uint64_t first_number_ = 0;  ///< of batches_.front(); numbers are never used twice
  std::size_t events_ = 0;          ///< in all batches
  model::Revision complete_from_ = 1;
  model::Revision revision_ = 0;
  std::vector<Event> pending_;  ///< not durable yet
  bool loading_ = false;
  mutable async::Event more_;
};

}  // namespace underway::server
