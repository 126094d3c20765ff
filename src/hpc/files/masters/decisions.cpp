#include "files/masters/decisions.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "files/masters/pieces.hpp"

namespace underway::files {

using model::FileContent;
using model::FileDeclaration;
using model::FilePiece;
using model::FileReport;
using server::Context;
using server::Decision;
using server::Nothing;
using tables::Tables;

namespace {

/// Deletes the bytes that none of `files` (all there will be) names. Pieces may be shared: those of `added` (contents
/// that come with the same decision) and of what stays are not deleted.
void drop_unused(const Tables& tables, const std::map<std::string, FileDeclaration>& files,
                 std::vector<tables::Change>& changes, const std::vector<FileContent>& added = {}) {
  std::set<std::string> used, used_pieces, dropped_pieces;
  for (const auto& [key, file] : files) used.insert(file.content_id);
  for (const auto& content : added) used_pieces.insert(content.pieces.begin(), content.pieces.end());
  for (const auto& row : tables.rows<model::Record>(tables::record_key<FileContent>(""))) {
    const bool stays = used.contains(row->name);
    for (auto& piece : pieces_of(*row)) (stays ? used_pieces : dropped_pieces).insert(std::move(piece));
    if (!stays) changes.push_back(tables::delete_record<FileContent>(row->name));
  }
  for (const auto& piece : dropped_pieces) {
    if (!used_pieces.contains(piece)) changes.push_back(tables::delete_record<FilePiece>(piece));
  }
}

/// Throws unless the bytes that a declaration names are here, or come with it.
void require_bytes(const Tables& tables, const NewFile& entry) {
  const auto& [file, content] = entry;
  const auto refuse = [&] {
    throw Error(Code::conflict, fmt::format("the bytes of file '{}' are not here", file.name))
        .because("another change removed them meanwhile, or they were never sent")
        .advise("try it again: they are sent anew");
  };
  if (!content && !file.content_id.empty() &&
      !tables.find<model::Record>(tables::record_key<FileContent>(file.content_id)))
    refuse();
  if (!content) return;
  for (const auto& piece : content->pieces) {
    if (!tables.find<model::Record>(tables::record_key<FilePiece>(piece))) refuse();
  }
}

/// The server has all of them in memory.
void limit_all(const std::map<std::string, FileDeclaration>& files) {
  std::map<std::string, std::int64_t> sizes;
  for (const auto& [key, file] : files) sizes[file.content_id] = file.size;
  std::uint64_t all = 0;
  for (const auto& [id, size] : sizes) all += static_cast<std::uint64_t>(std::max<std::int64_t>(0, size));
  if (all > model::kAllFilesBytes)
    throw Error(Code::too_large, "the files are too large together")
        .because(fmt::format("they would have {}, and {} at most are kept", human_bytes(all),
                             human_bytes(model::kAllFilesBytes)))
        .advise("put the largest into the image or on a shared file system");
}

std::map<std::string, FileDeclaration> all_files(const Tables& tables) {
  std::map<std::string, FileDeclaration> out;
  for (auto& file : tables::records<FileDeclaration>(tables)) {
    std::string key = model::file_key(file.cluster, file.name);
    out.emplace(std::move(key), std::move(file));
  }
  return out;
}

}  // namespace

void require_valid(const std::vector<FileDeclaration>& files) {
  std::vector<std::string> wrong;
  for (const auto& file : files) {
    for (auto& problem : model::problems(file)) wrong.push_back(std::move(problem));
  }
  for (auto& problem : model::problems(files)) wrong.push_back(std::move(problem));
  if (wrong.empty()) return;
  throw Error(Code::invalid, "the files are not valid").because(wrong);
}

tables::Row<model::Node> node_of_master(const Tables& tables, const FileDeclaration& file) {
  for (const auto& node : tables.nodes()) {
    if (node->name == file.from && node->cluster == file.cluster) return node;
  }
  return nullptr;
}

Decision<FilesPut> decide(const Tables& tables, const PutFiles& request, const Context& context) {
  if (!request.plan && !request.coming && !request.cluster.empty() && !tables.find_cluster(request.cluster))
    throw Error(Code::not_found, fmt::format("cluster '{}' not found", request.cluster))
        .advise("name one that `underway cluster list` shows");
  std::vector<FileDeclaration> declared;
  for (const auto& entry : request.files) declared.push_back(entry.file);
  require_valid(declared);
  Decision<FilesPut> decision;
  auto files = all_files(tables);
  std::set<std::string> kept;
  std::vector<FileContent> added;
  for (const auto& entry : request.files) {
    const auto& [given, content] = entry;
    FileDeclaration file = given;
    file.cluster = request.cluster;
    file.from_directory = request.directory;
    file.content.reset();
    file.sent.reset();
    const std::string key = model::file_key(file.cluster, file.name);
    kept.insert(key);
    const auto before = files.find(key);
    if (before != files.end() && before->second.from_directory && !request.directory)
      throw Error(Code::conflict, fmt::format("file '{}' is declared in the cluster's directory", file.name))
          .because(fmt::format(
              "the next `underway up` would put back what '{}' says",
              tables.find_cluster(request.cluster) ? tables.find_cluster(request.cluster)->directory : request.cluster))
          .advise("change it there, and run `underway apply`");
    if (before != files.end() && model::same_declaration(before->second, file)) {
      ++decision.result.unchanged;
      continue;
    }
    (before == files.end() ? decision.result.added : decision.result.changed).push_back(file.name);
    file.modify_time = unix_nanos(context.now);
    if (!request.plan) require_bytes(tables, entry);
    if (content) {
      decision.changes.push_back(tables::put_record(*content));
      added.push_back(*content);
    }
    decision.changes.push_back(tables::put_record(file));
    files[key] = std::move(file);
  }
  if (request.directory) {
    for (auto it = files.begin(); it != files.end();) {
      const auto& file = it->second;
      if (file.cluster != request.cluster || !file.from_directory || kept.contains(it->first)) {
        ++it;
        continue;
      }
      decision.result.removed.push_back(file.name);
      decision.changes.push_back(tables::delete_record<FileDeclaration>(it->first));
      it = files.erase(it);
    }
  }
  if (!decision.changes.empty()) {
    limit_all(files);
    drop_unused(tables, files, decision.changes, added);
  }
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const RemoveFile& request, const Context&) {
  const auto& [cluster, name] = request;
  auto files = all_files(tables);
  const auto it = files.find(model::file_key(cluster, name));
  if (it == files.end())
    throw Error(Code::not_found, fmt::format("file '{}' not found", name)).advise("see `underway file list`");
  if (it->second.from_directory)
    throw Error(Code::conflict, fmt::format("file '{}' is declared in the cluster's directory", name))
        .advise("remove its block there, and run `underway apply`");
  Decision<Nothing> decision;
  decision.changes.push_back(tables::delete_record<FileDeclaration>(it->first));
  files.erase(it);
  drop_unused(tables, files, decision.changes);
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const FollowMaster& request, const Context& context) {
  const auto& read = request.read;
  auto files = all_files(tables);
  const auto it = files.find(model::file_key(read.file.cluster, read.file.name));
  Decision<Nothing> decision;
  if (it == files.end() || it->second.from != read.file.from || it->second.source != read.file.source ||
      it->second.secret != read.file.secret || it->second.content_id == read.file.content_id)
    return decision;
  FileDeclaration& file = it->second;
  file.content_id = read.file.content_id;
  file.size = read.file.size;
  file.modify_time = unix_nanos(context.now);
  require_bytes(tables, read);
  std::vector<FileContent> added;
  if (read.content) {
    decision.changes.push_back(tables::put_record(*read.content));
    added.push_back(*read.content);
  }
  decision.changes.push_back(tables::put_record(file));
  limit_all(files);
  drop_unused(tables, files, decision.changes, added);
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const CollectFiles&, const Context&) {
  Decision<Nothing> decision;
  auto files = all_files(tables);
  bool dropped = false;
  for (auto it = files.begin(); it != files.end();) {
    if (it->second.cluster.empty() || tables.find_cluster(it->second.cluster)) {
      ++it;
      continue;
    }
    decision.changes.push_back(tables::delete_record<FileDeclaration>(it->first));
    it = files.erase(it);
    dropped = true;
  }
  if (dropped) drop_unused(tables, files, decision.changes);
  for (const auto& row : tables.rows<model::Record>(tables::record_key<FileReport>(""))) {
    if (!tables.find_node(row->name.substr(0, row->name.find('/'))))
      decision.changes.push_back(tables::delete_record<FileReport>(row->name));
  }
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const CollectPieces&, const Context& context) {
  std::set<std::string> used;
  for (const auto& row : tables.rows<model::Record>(tables::record_key<FileContent>(""))) {
    for (auto& piece : pieces_of(*row)) used.insert(std::move(piece));
  }
  Decision<Nothing> decision;
  for (const auto& row : tables.rows<model::Record>(tables::record_key<FilePiece>(""))) {
    if (used.contains(row->name)) continue;
    const auto at = from_unix_nanos(tables::decode_record<FilePiece>(*row).at);
    if (context.now - at >= kUnnamedPieces) decision.changes.push_back(tables::delete_record<FilePiece>(row->name));
  }
  return decision;
}

}  // namespace underway::files
