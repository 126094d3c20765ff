#pragma once
/// @file
/// The steps of underway-fetch: bring the bytes into a private file, check them, put them in place.

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "node/artifact/fetch_request.hpp"
#include "os/fd.hpp"

namespace underway::node::fetch {

/// Downloads http(s) into `file`. Throws unavailable with the server's answer, too_large, timeout.
void download(const FetchRequest& request, const os::Fd& file);

/// Throws invalid when the bytes of `file` do not have the digest "md5:…", "sha1:…", "sha256:…" or "sha512:…".
void check_digest(const os::Fd& file, const std::string& checksum);

/// Unpacks `file` into `directory`, which becomes the working directory. Entries that are absolute, hold "..", link
/// outside, or are no files, directories or links make it fail; set-user-id bits are dropped.
/// `name`: of the one file that "gz" and the like hold.
void unpack(const os::Fd& file, const std::string& kind, const os::Fd& directory, const std::string& name,
            const FetchRequest& request);

/// Writes files, directories and links of `parts`, which are paths below `root`, to `out` as a tar archive, with their
/// owners' numbers. Links that lead outside are left out, and so are sockets and the like.
void pack(const std::string& root, const std::vector<std::string>& parts, const os::Fd& out);

/// Does the request. Throws Error.
void fetch(const FetchRequest& request);

}  // namespace underway::node::fetch
