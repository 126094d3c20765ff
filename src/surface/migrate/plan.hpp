#pragma once
/// @file
/// What carrying everything over from one control plane to another would do, step by step. Pure: both sides have been
/// read, nothing is asked and nothing is changed.

#include "migrate/inventory.hpp"
#include "model/diff/diff.hpp"

namespace underway::migrate {

enum class Action : std::uint8_t {
  same,    ///< it is there and is equal
  create,  ///< it is not there
  update,  ///< it is there and differs
  start,   ///< a job that is there, stopped and equal, begins to run
  leave,   ///< it differs and is left as it is: the job runs there already
  refuse   ///< it cannot be taken
};
const describe::Enumeration& description(describe::Tag<Action>);

struct Step {
  Kind kind = Kind::job;
  std::string ns, name;
  Action action = Action::same;
  bool runs = false;                     ///< of jobs: it runs afterwards
  std::vector<std::string> reasons;      ///< why it is refused, left, or not started
  std::vector<std::string> notes;        ///< what is different there
  std::vector<std::string> differences;  ///< members, or keys of a variable; never values
  std::optional<model::JobDiff> diff;    ///< of a job that is updated

  // The request; its body may hold secrets. Empty when nothing is to be sent.
  std::string method, target, body;

  bool changes() const { return !method.empty(); }
  /// Something that the reader has to see to.
  bool troubles() const { return !reasons.empty(); }
};

struct Plan {
  std::vector<Step> steps;  ///< in the order in which they are carried out
  std::vector<Gap> gaps;    ///< of the source

  bool changes() const;
  bool troubles() const;  ///< a step has reasons, or something could not be read
};

struct PlanOptions {
  /// Jobs of these ids (with `*`) shall run; all others are registered stopped. A job starts only when it is stopped at
  /// the source and nothing of it runs there.
  std::vector<std::string> start = {};
};

/// Both inventories as read_inventory returns them, the source with allocations counted if jobs shall start.
Plan make_plan(const Inventory& source, const Inventory& there, const PlanOptions& options);

/// As JSON for programs: without bodies, so without secrets.
boost::json::value to_json(const Plan& plan);

}  // namespace underway::migrate
