#pragma once
/// @file
/// What a change does to those who use the cluster: its class, how it reaches what runs, and the entry that is kept of
/// each change that was made.

#include "model/job/job.hpp"

namespace underway::model {

/// In order of what is noticed. `brief` is finer than the three that are counted (no-impact, drain, outage): a service
/// is away for seconds and its clients ask again; no work ends, so it needs no window, yet it is told.
enum class Impact : std::uint8_t { none, brief, drain, outage };

struct Judgement {
  Impact impact = Impact::none;
  std::string why;  ///< the findings of that class, in one line
};

/// How a change of a job reaches what runs, and what is true if the new version does not work.
struct Prospect {
  std::string what;         ///< "slurmd", "group 'api' of 'web'"
  std::string rollout;      ///< "1 of 6 first, then 1 at a time; it goes back by itself when one fails"
  std::string if_it_fails;  ///< "c1 is without slurmd for at most 50s, SlurmdTimeout is 60 s; then it goes back"
  bool operator==(const Prospect&) const = default;
};

/// A change that was made.
struct ChangeEntry {
  std::int64_t number = 0;  ///< 1, 2, … as they were made; never given out twice
  std::int64_t at = 0;      ///< ns since the epoch, by the server's clock
  std::string who;          ///< name of the token, else its accessor: "root@unix"
  std::string request_id;   ///< as in the audit log; empty: there is none
  std::string what;         ///< "apply cluster 'demo'"
  std::string ns;           ///< whose, where it is a namespace's; else empty
  Impact impact = Impact::none;
  std::string why;
  Revision create_index = 0;
};

const describe::Enumeration& description(describe::Tag<Impact>);
const describe::Structure& description(describe::Tag<Judgement>);
const describe::Structure& description(describe::Tag<Prospect>);
const describe::Structure& description(describe::Tag<ChangeEntry>);

}  // namespace underway::model
