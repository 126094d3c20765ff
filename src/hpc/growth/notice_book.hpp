#pragma once
/// @file
/// Who has notice: hosts that are taken back, and their Slurm jobs. What follows for them: notices.hpp.

#include <cstdint>
#include <string>
#include <vector>

#include "tables/records.hpp"

namespace underway::growth {

/// A Slurm job that is done again if it still runs when its notice is over.
struct NoticedJob {
  std::string id;
  std::string host;        ///< under which it runs, or one of them
  std::int64_t until = 0;  ///< ns since the epoch
  bool asked = false;      ///< whether its script catches SIGTERM
  bool told = false;       ///< it does, and gets it
};

struct NoticedHost {
  std::string host, pool;
  std::int64_t since = 0;  ///< ns since the epoch
};

/// One per cluster.
struct NoticeBook {
  std::string cluster;
  std::vector<NoticedHost> hosts;  ///< until they are gone
  std::vector<NoticedJob> jobs;    ///< until they have ended, or wait and are kept off opportunistic nodes

  const NoticedHost* find_host(const std::string& name) const;
  bool empty() const { return hosts.empty() && jobs.empty(); }
};

const describe::Structure& description(describe::Tag<NoticedJob>);
const describe::Structure& description(describe::Tag<NoticedHost>);
const describe::Structure& description(describe::Tag<NoticeBook>);

}  // namespace underway::growth

namespace underway::tables {

template <>
struct RecordOf<growth::NoticeBook> {
  static constexpr std::string_view kind = "notice-book";
  static std::string name(const growth::NoticeBook& book) { return book.cluster; }
};

}  // namespace underway::tables
