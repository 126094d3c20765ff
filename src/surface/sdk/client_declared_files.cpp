// Files that are the same everywhere.
#include <algorithm>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "sdk/client.hpp"

namespace underway::sdk {
namespace {

template <class T>
T read_files_answer(const http::Response& response) {
  return json::decode_text<T>(response.body, "answer");
}

http::Query about(const std::string& cluster, const std::string& name) {
  return {{"cluster", cluster}, {"name", name}};
}

}  // namespace

std::vector<model::FileDeclaration> Client::declared_files(const std::string& cluster) {
  return read_files_answer<std::vector<model::FileDeclaration>>(
      send("GET", "/v1/underway/files", {{"cluster", cluster}}));
}
model::FileDeclaration Client::declared_file(const std::string& cluster, const std::string& name) {
  return read_files_answer<model::FileDeclaration>(send("GET", "/v1/underway/file", about(cluster, name)));
}
/// What the server has is not sent again; of secrets nobody but the server can say whether it has them.
void Client::send_pieces(const std::string& cluster, std::vector<wire::FileBody>& files) {
  const auto is_large = [](const wire::FileBody& body) { return body.sent && body.file.content; };
  if (std::ranges::none_of(files, is_large)) return;
  std::set<std::string> known;
  for (const auto& file : declared_files(cluster)) known.insert(file.content_id);
  for (auto& body : files) {
    if (!is_large(body)) continue;
    if (const auto wrong = model::problems(body.file); !wrong.empty()) throw Error(Code::invalid, wrong.front());
    const std::string bytes = *std::exchange(body.file.content, std::nullopt);
    if (!body.file.secret && known.contains("sha256-" + body.sent->digest)) continue;
    for (std::size_t at = 0; at < bytes.size(); at += model::kPieceBytes) {
      const auto answer = send("PUT", "/v1/underway/files/piece", {{"secret", body.file.secret ? "true" : "false"}},
                               bytes.substr(at, model::kPieceBytes));
      body.sent->pieces.push_back(read_files_answer<wire::FilePieceBody>(answer).id);
    }
  }
}

model::FilesPut Client::put_files(const std::string& cluster, std::vector<wire::FileBody> files) {
  send_pieces(cluster, files);
  const wire::FilesBody body{std::move(files)};
  return read_files_answer<model::FilesPut>(
      send("PUT", "/v1/underway/files", {{"cluster", cluster}}, json::encode(body)));
}
void Client::remove_file(const std::string& cluster, const std::string& name) {
  send("DELETE", "/v1/underway/file", about(cluster, name));
}
std::string Client::file_content(const std::string& cluster, const std::string& name, const std::string& node) {
  auto query = about(cluster, name);
  if (!node.empty()) query.add("node", node);
  return base64_decode(
      read_files_answer<wire::MasterBody>(send("GET", "/v1/underway/file/content", std::move(query))).data);
}
model::FoundFile Client::actual_file(const std::string& node, const std::string& capsule, const std::string& path) {
  http::Query query{{"node", node}, {"path", path}};
  if (!capsule.empty()) query.add("capsule", capsule);
  return read_files_answer<model::FoundFile>(send("GET", "/v1/underway/file/actual", std::move(query)));
}
std::int64_t Client::sync_now(const std::string& cluster, const wire::SyncNowBody& request) {
  const auto answer =
      json::parse(send("PUT", "/v1/underway/files/sync", {{"cluster", cluster}}, json::encode(request)).body);
  return answer.at("Told").to_number<std::int64_t>();
}
model::FileKeyState Client::file_key() {
  return read_files_answer<model::FileKeyState>(send("GET", "/v1/underway/files/key"));
}
model::FileKeyState Client::rotate_file_key(bool force) {
  return read_files_answer<model::FileKeyState>(
      send("PUT", "/v1/underway/files/key/rotate", {{"force", force ? "true" : "false"}}));
}
std::vector<model::TargetStatus> Client::file_targets(const std::string& cluster) {
  return read_files_answer<std::vector<model::TargetStatus>>(
      send("GET", "/v1/underway/files/status", {{"cluster", cluster}}));
}

}  // namespace underway::sdk
