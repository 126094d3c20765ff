#pragma once
/// @file
/// The server's part of file synchronisation: keeps masters, says to each target what it shall have, hands out bytes to
/// those whose manifest names them and to nobody else, and takes their reports. Nodes are told at once when their
/// manifest changes; what they miss they ask for on their own schedule.

#include <unordered_map>

#include "async/group.hpp"
#include "files/masters/decisions.hpp"
#include "files/masters/key_decisions.hpp"
#include "server/server.hpp"

namespace underway::files {

/// What a target shall have now, for people.
struct Wanted {
  std::string digest;  ///< of its manifest
  std::int64_t files = 0;
  std::vector<std::string> problems;
};

class FileService {
 public:
  struct Options {
    Duration gather = std::chrono::milliseconds(20);  ///< changes that come together are told together
    Duration follow = std::chrono::seconds(2);        ///< how often masters on nodes are looked at
  };
  /// All outlive it. Registers what it answers to nodes: before server.start().
  FileService(server::Server& server, async::Executor executor, async::Pool& pool, IdSource& ids, Options options);
  FileService(server::Server& server, async::Executor executor, async::Pool& pool, IdSource& ids)
      : FileService(server, std::move(executor), pool, ids, Options{}) {}

  void start();
  async::awaitable<void> stop();

  /// Keeps a part of a large file until a declaration names it (FileDeclaration::sent). Returns its id. Throws invalid
  /// for one that is empty, or larger than model::kPieceBytes.
  async::awaitable<std::string> put_piece(std::string bytes, bool secret);
  /// The declaration of these files, with all that takes time done: to be applied, or with `dry` to be previewed, when
  /// nothing is kept of their bytes. Files with `content` or `sent` get these bytes; those without keep theirs.
  /// `directory`: see PutFiles.
  async::awaitable<PutFiles> prepare_put(std::string cluster, std::vector<model::FileDeclaration> files, bool directory,
                                         bool dry);
  /// Tells the nodes to look now; returns to how many that have a link.
  async::awaitable<std::int64_t> sync(std::vector<std::string> node_ids);
  /// Nodes that have files of a newer store follow this one nevertheless.
  async::awaitable<void> accept_restored();
  /// Makes the bytes of a master as the node would get them: renders its templates, which takes as long as they like,
  /// on whatever thread it is called. Throws not_found, as it does itself; denied for a secret; too_large for a file in
  /// pieces.
  std::function<std::string()> preview(const std::string& cluster, const std::string& name,
                                       const std::string& node_id) const;
  /// The bytes as they were declared. Throws as preview.
  std::string master(const tables::Tables& tables, const model::FileDeclaration& file) const;
  /// A file as it is on the node now. Throws what the node answers.
  async::awaitable<FoundFile> read(std::string node_id, ReadRequest request);
  /// Whether what nodes are told is what the tables say.
  bool follows(const tables::Tables& tables) const { return snapshot_ && stamp_ == inputs_stamp(tables); }
  /// Nothing: not known yet, or the node has no files.
  const Wanted* wanted(const std::string& node_id) const;
  /// The same for a capsule, worked out now.
  std::optional<Wanted> wanted_by(const std::string& node_id, const std::string& capsule) const;

  /// Another key signs manifests once every node that is alive believes it, and the present one is withdrawn then; with
  /// `force` at once, also when a rotation waits. Throws as IntroduceKey.
  async::awaitable<FileKeyState> rotate_key(bool force);

  /// Throws conflict while something is sealed under the root key.
  void refuse_removal(const tables::Tables& tables, const std::string& key_id) const;
  /// Seals everything under the active key.
  async::awaitable<void> seal_anew();
  /// The same of the key of manifests alone, which is the server's and nobody's secret: it keeps no root key in use.
  async::awaitable<void> seal_own_key_anew();

 private:
  using Tables = tables::Tables;
  async::LoopPlan manifests_loop();
  async::LoopPlan masters_loop();
  async::LoopPlan pieces_loop();
  async::awaitable<void> follow_tables();
  async::awaitable<void> prepare();
  model::FileKey make_key() const;
  crypto::SigningKey open_key(const std::string& key_id, const std::string& seed) const;
  bool take_settings(model::FileSettings settings);
  void take_settings_and_tell(model::FileSettings settings);
  void add_steps(const ManifestRequest& request, ManifestReply& reply) const;
  async::awaitable<void> withdraw_key_if_due(bool force);
  async::awaitable<void> refresh(const Tables& tables);
  async::awaitable<void> tell(std::string node_id);
  async::awaitable<void> follow_masters();
  async::awaitable<void> follow_master(model::FileDeclaration file, std::string node_id);
  async::awaitable<std::vector<std::string>> take_pieces(std::string node_id, MasterRequest request, bool secret);
  std::vector<NewFile> new_files(const Tables& tables, const std::string& cluster,
                                 std::vector<model::FileDeclaration> files) const;
  NewFile new_file(const Tables& tables, model::FileDeclaration file) const;
  NewFile new_large_file(model::FileDeclaration file, const std::optional<model::FileContent>& before) const;
  async::awaitable<void> split(std::vector<model::FileDeclaration>& files, bool dry);
  async::awaitable<void> check_sent(const model::FileDeclaration& file);
  async::awaitable<void> collect_pieces();
  async::awaitable<void> seal_piece_anew(std::string id);

  async::awaitable<boost::json::value> answer(std::string node_id, std::string method, boost::json::value body);
  async::awaitable<boost::json::value> manifest(std::string node_id, ManifestRequest request);
  async::awaitable<boost::json::value> content(std::string node_id, ContentRequest request);
  async::awaitable<void> serve(std::string node_id, std::string method, boost::json::value header,
                               std::shared_ptr<link::Stream> stream);
  async::awaitable<std::shared_ptr<void>> take_turn();
  async::awaitable<void> send(std::string node_id, BytesRequest request, std::shared_ptr<link::Stream> stream);
  async::awaitable<boost::json::value> report(std::string node_id, model::FileReport report);
  async::awaitable<boost::json::value> reload(std::string node_id, ReloadRequest request);
  async::awaitable<Built> built_for(std::string node_id, std::string capsule);

  server::Server& server_;
  async::Pool& pool_;
  IdSource& ids_;
  Options options_;
  async::TaskGroup tasks_;
  async::Event ready_;
  std::optional<crypto::SigningKey> signing_;
  model::FileSettings settings_;
  std::uint64_t stamp_ = 0;
  std::shared_ptr<const Snapshot> snapshot_;
  std::map<std::string, Wanted> wanted_;               ///< by node
  std::unordered_map<std::string, std::string> told_;  ///< node → digest that it knows of
  std::set<std::string> reloads_;                      ///< that were done, so that a repeated request is not
  int sending_ = 0;                                    ///< large files
  async::Event turn_;                                  ///< one of them is over
  std::map<std::string, std::string> unread_;          ///< masters on nodes → why, said in the log once
};

}  // namespace underway::files
