#pragma once
/// @file
/// Making and checking the file systems that lie in files.

#include "overlay/detail/record.hpp"

namespace underway::overlay {

/// Runs a program of the system; its last words are the reason when it fails. Returns its exit code if that is in
/// `accepted`.
int run_tool(const std::vector<std::string>& argv, std::vector<int> accepted = {0},
             Duration within = std::chrono::minutes{10});

/// Where the files of a new overlay lie, with a name nobody has.
std::vector<std::string> choose_files(const Spec& spec, const std::string& dir, const std::string& owner);
/// raid1: both files on one file system protect from nothing. Errors: invalid.
void refuse_one_file_system(const Record& record);
/// Makes files of `record` and their file systems anew. Errors: exhausted, naming the file system that lacks space.
void make_file_systems(const Record& record);
/// Makes `path` as large as `size_bytes`, with all its space reserved where that is not memory.
void reserve(const std::string& path, std::uint64_t size_bytes);
/// ext4: mends what can be mended without loss; `whole`: also when it is marked as clean. Errors: internal when it
/// cannot.
void check_before_mount(const Record& record, bool whole = false);
/// What an operator does about a damaged file system.
std::string mending_advice(const Record& record);

}  // namespace underway::overlay
