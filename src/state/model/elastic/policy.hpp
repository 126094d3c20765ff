#pragma once
/// @file
/// What an administrator writes of growing and shrinking: `elastic` of a cluster and of its pools. The defaults are
/// safe to switch on: a budget has to be given to be enforced, nothing is forecast, nothing sleeps longer than it was
/// told.

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/json/describe.hpp"
#include "model/elastic/money.hpp"
#include "model/elastic/reservation.hpp"

namespace underway::model {

/// So many Slurm jobs have waited for so long. As the demand thresholds of LSF's resource connector.
struct Threshold {
  std::int64_t jobs = 1;
  std::int64_t minutes = 0;
};

/// When a class is not asked any more because its nodes do not come up.
struct BreakerPolicy {
  std::int64_t failures = 5;  ///< within `window`; AWS ParallelCluster's protected mode has 10
  Duration window{1'800'000'000'000};
  Duration cooldown{900'000'000'000};  ///< then one node is tried
};

enum class ForecastMode : std::uint8_t { off, shadow, act };

/// Nodes before anybody asks for them. In shadow the forecast is compared with what came and does nothing; `act` acts
/// only while the comparison on the site's own trace says that it helps.
struct ForecastPolicy {
  ForecastMode mode = ForecastMode::shadow;
  Duration season{86'400'000'000'000};  ///< after that demand looks alike
  Duration step{900'000'000'000};
  double weight = 0.3;        ///< of the newest season against those before (EWMA)
  double never_worse = 0.02;  ///< of the reactive policy's waits: a forecast that costs more waiting stays in shadow
};

/// What sleeping Slurm jobs are promised.
struct Promises {
  std::int64_t max_suspensions = 3;         ///< of one job
  Duration max_asleep{14'400'000'000'000};  ///< of one job, in all
  Duration notice{120'000'000'000};         ///< before an opportunistic node is taken back
};

/// Most money. Amounts as "120.50"; empty: no limit.
struct Budget {
  std::string day;
  std::string month;
};

/// What a provider gives us at most; 0: no limit.
struct ProviderQuota {
  std::string provider;
  std::int64_t nodes = 0, vcpus = 0, memory_mb = 0;
};

/// `elastic` of a cluster.
struct ElasticPolicy {
  std::vector<Threshold> thresholds;        ///< one of them suffices; none: a single job does, at once
  Duration gang_deadline{600'000'000'000};  ///< from the first boot of a gang until all of it must be up
  double boot_rate = 1.5;                   ///< per second and class: as OpenStack bore in its own density tests
  std::int64_t boot_burst = 10;
  Duration backoff{30'000'000'000};  ///< after the first refusal of a class; doubles
  Duration max_backoff{900'000'000'000};
  Duration min_uptime{300'000'000'000};  ///< a node that is lost sooner counts as one that did not boot
  BreakerPolicy breaker;
  std::string keep_alive = "ski_rental";
  bool pack = true;
  std::int64_t max_nodes = 0;  ///< in all; 0: the classes' limits are enough
  Budget budget;
  std::vector<ProviderQuota> quotas;
  ForecastPolicy forecast;
  Promises promises;

  /// Everything that is wrong with it, each with its name and number.
  std::vector<std::string> problems() const;
};

/// Who asks for the hosts of a pool that grows.
enum class AskedBy : std::uint8_t {
  queue,  ///< our policy, as Slurm's queue has it
  slurm,  ///< Slurm itself, by its ResumeProgram and SuspendProgram: our policy leaves the pool alone
};

/// `elastic` of a pool: its hosts are made and ended as Slurm's queue asks, between its `size` and `slurm.most`.
struct PoolElastic {
  AskedBy asked_by = AskedBy::queue;
  std::string provider;                    ///< whose quota it counts against; empty: its own name
  std::vector<std::string> partitions;     ///< whose jobs it serves; none: those that have its nodes
  std::string cost_per_hour = "0";         ///< of one host, "0.35"
  Duration start_time{60'000'000'000};     ///< from asking for a host until Slurm has an idle node, as expected
  Duration boot_timeout{600'000'000'000};  ///< after that a boot has failed
  std::string topology_group;              ///< pools of one group are near each other; a gang stays in one
  bool opportunistic = false;              ///< taken back at any time: no promise
  std::string keep_alive;                  ///< "ski_rental" or a duration; empty: the cluster's
  bool urgent = false;                     ///< hosts of pools that yield sleep when one of its own has no room
  bool yields = false;                     ///< its hosts sleep for those of urgent pools
  std::string owner;                       ///< account that paid for these hosts: its jobs use them, too
  std::vector<std::string> qos;            ///< whose jobs do
  std::int64_t up_to_nodes = 0;            ///< jobs of at most so many do; 0: none because of that
  std::vector<HostReservation> reservations;

  /// Whether jobs that wait elsewhere may use it because of what they are.
  bool is_for_some() const { return !owner.empty() || !qos.empty() || up_to_nodes > 0; }
  /// All problems, each behind `where`.
  std::vector<std::string> problems(const std::string& where) const;
};

/// "ski_rental", a duration, or nothing.
bool is_keep_alive(std::string_view text);

const describe::Structure& description(describe::Tag<Threshold>);
const describe::Structure& description(describe::Tag<BreakerPolicy>);
const describe::Enumeration& description(describe::Tag<ForecastMode>);
const describe::Enumeration& description(describe::Tag<AskedBy>);
const describe::Structure& description(describe::Tag<ForecastPolicy>);
const describe::Structure& description(describe::Tag<Promises>);
const describe::Structure& description(describe::Tag<Budget>);
const describe::Structure& description(describe::Tag<ProviderQuota>);
const describe::Structure& description(describe::Tag<ElasticPolicy>);
const describe::Structure& description(describe::Tag<PoolElastic>);

}  // namespace underway::model
