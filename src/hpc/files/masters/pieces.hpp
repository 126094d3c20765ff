#pragma once
/// @file
/// The bytes of large files as rows: each piece is one, and plain ones are found by what they are, so that two versions
/// of a file share those that are the same. What a FileContent with pieces says of itself is its digest; a secret's is
/// sealed.

#include "files/masters/build.hpp"

namespace underway::files {

/// So long a piece waits for a file that names it.
constexpr Duration kUnnamedPieces = std::chrono::hours(1);

/// The piece as a row. A secret one is sealed under a name that says nothing.
model::FilePiece make_piece(std::string_view bytes, bool secret, const server::Keyring& keyring, IdSource& ids);
/// Throws denied when its key is gone.
crypto::Secret open_piece(const model::FilePiece& piece, const server::Keyring& keyring);
/// Throws not_found when it has just gone.
model::FilePiece get_piece(const tables::Tables& tables, const std::string& id);
std::string piece_seal_context(std::string_view id);

/// The row that names the pieces.
model::FileContent make_content(const model::SentBytes& sent, bool secret, const server::Keyring& keyring,
                                IdSource& ids);
/// Of all bytes, without reading them: of what make_content made. Throws denied when its key is gone.
std::string content_digest(const model::FileContent& content, const server::Keyring& keyring);

/// The pieces that the row of a FileContent names; cheap.
std::vector<std::string> pieces_of(const model::Record& content);

}  // namespace underway::files
