#include "growth/notice_book.hpp"

#include <algorithm>

namespace underway::growth {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const NoticedHost* NoticeBook::find_host(const std::string& name) const {
  const auto at = std::find_if(hosts.begin(), hosts.end(), [&](const NoticedHost& it) { return it.host == name; });
  return at == hosts.end() ? nullptr : &*at;
}

const Structure& description(Tag<NoticedJob>) {
  static const Structure s =
      Builder<NoticedJob>("noticed job", "A Slurm job that is done again if it still runs when its notice is over.")
          .wire<&NoticedJob::id>("ID", "The job.")
          .wire<&NoticedJob::host>("Host", "The host that it loses.")
          .wire<&NoticedJob::until>("Until", "When its notice is over, Unix time in nanoseconds.")
          .wire<&NoticedJob::asked>("Asked", "Whether its script was looked at.")
          .wire<&NoticedJob::told>("Told", "Whether it gets SIGTERM.")
          .done();
  return s;
}

const Structure& description(Tag<NoticedHost>) {
  static const Structure s = Builder<NoticedHost>("noticed host", "A host that is taken back.")
                                 .wire<&NoticedHost::host>("Host", "The host.")
                                 .wire<&NoticedHost::pool>("Pool", "Its pool.")
                                 .wire<&NoticedHost::since>("Since", "Since when, Unix time in nanoseconds.")
                                 .done();
  return s;
}

const Structure& description(Tag<NoticeBook>) {
  static const Structure s =
      Builder<NoticeBook>("notice book", "Hosts of a cluster that are taken back, and their Slurm jobs.")
          .wire<&NoticeBook::cluster>("Cluster", "The cluster.")
          .wire<&NoticeBook::hosts>("Hosts", "The hosts, until they are gone.")
          .wire<&NoticeBook::jobs>("Jobs", "The jobs, until nothing is to be done for them.")
          .done();
  return s;
}

}  // namespace underway::growth
