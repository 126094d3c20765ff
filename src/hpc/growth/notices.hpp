#pragma once
/// @file
/// What becomes of the Slurm jobs of hosts that are taken back. A host goes as any that leaves: no job comes to it any
/// more, its jobs are waited for (slurm/elastic/membership.hpp). Here they are told to end, and queued again when their
/// notice is over. Pure, but for what is written down; growth.hpp carries it out, and looks again.
///
///   notice        the look that decides writes down who has until when
///   listens?      a job whose script catches SIGTERM is written down as told, and then gets it
///   over          who still runs is queued again, and so is who was told and has failed since
///   redone        never is its node taken again (elastic::State::redone), and it is kept off opportunistic nodes
///
/// Whoever dies at any point, the rest follows from what is written down and from what Slurm says.

#include <set>

#include "growth/look.hpp"

namespace underway::growth {

/// What is to be done now.
struct NoticeSteps {
  std::map<std::string, std::vector<std::string>> listens;  ///< by host: jobs whose script may catch SIGTERM
  std::map<std::string, slurm::Command> redo;               ///< by job: it is queued again
  std::map<std::string, slurm::Command> keep_off;           ///< by job: nodes that it must not have
  NoticeBook book;                                          ///< without whom nothing is to be done for
  bool settled = true;
};
/// `redone`: jobs that were taken back, ever; `hosts`: that there are. At most kMostAtOnce commands, the rest at the
/// next look.
NoticeSteps next_notices(const NoticeBook& book, const ClusterFacts& facts, const SlurmLook& slurm,
                         const std::map<std::string, std::int64_t>& redone, TimePoint now);
inline constexpr std::size_t kMostAtOnce = 100;

/// Which jobs of these get SIGTERM, of those whose scripts were looked at; the book says then that they were told.
/// `listeners`: Slurm's numbers of the jobs that would take it, by host; nothing: it could not be looked.
std::vector<std::string> tell(NoticeBook& book, const NoticeSteps& steps, const SlurmLook& slurm,
                              const std::map<std::string, std::optional<std::set<std::string>>>& listeners);

/// Jobs of which Slurm has to be asked more than its queue tells (SlurmLook::redo): who may be taken, has notice, or
/// was taken.
std::vector<std::string> asked_about(const ClusterFacts& facts, const std::vector<slurm::QueuedJob>& queue);

/// "is taken back: Slurm job 17 has until 12:00:00".
std::string notice_text(const NoticeBook& book, const NoticedHost& host);

/// Its hosts say so themselves, once they go.
struct NoteNotices {
  NoticeBook book;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const NoteNotices& request,
                                         const server::Context& context);

/// What changes when that is the book.
void put_notices(std::vector<server::Change>& changes, const tables::Tables& tables, const NoticeBook& book);

}  // namespace underway::growth
