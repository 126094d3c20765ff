#include "files/masters/pieces.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"

namespace underway::files {

using model::FileContent;
using model::FilePiece;

namespace {

constexpr std::string_view kPlain = "sha256-";

}  // namespace

std::string piece_seal_context(std::string_view id) { return fmt::format("file piece {}", id); }

FilePiece make_piece(std::string_view bytes, bool secret, const server::Keyring& keyring, IdSource& ids) {
  FilePiece piece;
  if (secret) {
    piece.id = "sealed-" + ids.uuid();
    const auto sealed = keyring.seal(bytes, piece_seal_context(piece.id));
    piece.key_id = sealed.key_id;
    piece.data = base64_encode(sealed.bytes);
  } else {
    piece.id = std::string(kPlain) + hex(crypto::sha256(bytes));
    piece.data = base64_encode(bytes);
  }
  return piece;
}

crypto::Secret open_piece(const FilePiece& piece, const server::Keyring& keyring) {
  if (piece.key_id.empty()) return crypto::Secret::take(base64_decode(piece.data));
  return keyring.open({piece.key_id, base64_decode(piece.data)}, piece_seal_context(piece.id));
}

FilePiece get_piece(const tables::Tables& tables, const std::string& id) {
  auto piece = tables::find_record<FilePiece>(tables, id);
  if (!piece)
    throw Error(Code::not_found, "a piece of these bytes is not here").because("it was replaced, or not sent");
  return *std::move(piece);
}

FileContent make_content(const model::SentBytes& sent, bool secret, const server::Keyring& keyring, IdSource& ids) {
  FileContent content;
  content.pieces = sent.pieces;
  content.id = secret ? "sealed-" + ids.uuid() : std::string(kPlain) + sent.digest;
  if (!secret) return content;
  const auto sealed = keyring.seal(sent.digest, seal_context(content.id));
  content.key_id = sealed.key_id;
  content.data = base64_encode(sealed.bytes);
  return content;
}

std::string content_digest(const FileContent& content, const server::Keyring& keyring) {
  if (content.key_id.empty()) return content.id.substr(kPlain.size());
  return std::string(keyring.open({content.key_id, base64_decode(content.data)}, seal_context(content.id)).bytes());
}

std::vector<std::string> pieces_of(const model::Record& content) {
  std::vector<std::string> out;
  const auto* named = content.body.is_object() ? content.body.get_object().if_contains("Pieces") : nullptr;
  if (named == nullptr || !named->is_array()) return out;
  for (const auto& id : named->get_array()) out.emplace_back(id.as_string());
  return out;
}

}  // namespace underway::files
