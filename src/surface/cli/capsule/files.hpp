#pragma once
/// @file
/// Capsule images that lie beside the job files which name them: `image = "images/chrony.capsule"`. A job asks for them
/// by their digest, so a rebuilt image is a changed job; the files go into the server's store before the job does.
///
/// A file that is not there is looked for where images/build puts what it makes: below built/ of the state directory,
/// by the same path.

#include <string>
#include <vector>

#include "sdk/client.hpp"
#include "wire/cluster/cluster.hpp"

namespace underway::cli {

/// An image that a job file names as a file of its directory.
struct CapsuleFile {
  std::string path;
  std::string digest;
};

/// Puts the digest in the place of each file that a capsule of `body` names, and returns these files, each once. Names
/// without a '/' that are no file, digests and absolute paths stay as they are. `state`: the state directory. Errors:
/// not_found, with what is to be built; invalid when a file is no image.
std::vector<CapsuleFile> name_images_by_digest(wire::ClusterBody& body, const std::string& directory,
                                               const std::string& state);

/// Has the cluster trust the keys that lie beside the images (*.pub), and sends what the server's store lacks.
void push_capsule_files(sdk::Client& client, const std::vector<CapsuleFile>& files);

}  // namespace underway::cli
