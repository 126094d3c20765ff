#pragma once
/// @file
/// What Slurm asks for when it asks itself: the words of its ResumeProgram and, from 21.08 on, the file that
/// SLURM_RESUME_FILE names, which says for which jobs. slurmctld removes the file 10 s after it has started the program
/// (slurmctld/power_save.c), so it is read first of all.
///
/// Two dialects: 21.08 and 22.05 write all_nodes and each job's nodes; 23.02 and later all_nodes_resume, nodes_alloc
/// and nodes_resume, with features, partition, oversubscribe and reservation. 20.11 has no file.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/describe.hpp"

namespace underway::slurm {

/// A job that has been given nodes of which some have to be powered up.
struct ResumeJob {
  std::int64_t id = 0;
  std::vector<std::string> nodes;   ///< all that it has been given
  std::vector<std::string> resume;  ///< those of them that are to come
  std::string features;             ///< as the user wrote them: "big&ib"; empty: none, or not told
  std::string partition;            ///< empty: not told
  std::string oversubscribe;        ///< "OK", "NO", "YES", "EXCLUSIVE", …; empty: not told
  std::string reservation;
};
struct ResumeRequest {
  std::vector<std::string> nodes;  ///< all that are to come
  std::vector<ResumeJob> jobs;     ///< empty: Slurm did not say, or an administrator asked (`state=power_up`)
};
const describe::Structure& description(describe::Tag<ResumeJob>);
const describe::Structure& description(describe::Tag<ResumeRequest>);

/// Most bytes that a file may have.
inline constexpr std::size_t kLargestResumeFile = 16U << 20;
/// Most nodes that all its jobs together may name: a host list is short, and stands for many.
inline constexpr std::size_t kMostResumeNodes = 1'000'000;

/// Throws Error(invalid) with all that is wrong, or Error(too_large).
ResumeRequest parse_resume_file(std::string_view text);
/// Of the words of the program alone, as 20.11 gives no more, and when the file cannot be read: a node that Slurm waits
/// for is made, though nobody knows for which job.
ResumeRequest resume_words(const std::string& hostlist);
/// The file at `path`; empty: resume_words(hostlist). What the list has and the file does not is asked for too.
/// Blocks: yes.
ResumeRequest read_resume_request(const std::string& path, const std::string& hostlist);

}  // namespace underway::slurm
