#include "files/messages.hpp"

namespace underway::files {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<ManifestEntry>) {
  static const Structure s =
      Builder<ManifestEntry>("manifest entry", "A file as a target shall have it.")
          .wire<&ManifestEntry::path>("Path", "Where it is put at the target, absolute.")
          .wire<&ManifestEntry::file>("File", "Name of the declaration that it comes of.")
          .wire<&ManifestEntry::type>("Type", "file, symlink, directory, or absent: then what is there is removed.")
          .wire<&ManifestEntry::mode>("Mode", "Permission bits, as a number; of a symbolic link without effect.")
          .wire<&ManifestEntry::owner>("Owner", "Name of the owner, as the target knows it.")
          .wire<&ManifestEntry::group>("Group", "Name of the group, as the target knows it.")
          .wire<&ManifestEntry::xattrs>("Xattrs", "Extended attributes that are set, by name; others are left alone.")
          .wire<&ManifestEntry::digest>("Digest",
                                        "Of a file: SHA-256 of its bytes, hexadecimal; they are asked for by it.")
          .wire<&ManifestEntry::size>("Size", "Of a file: how many bytes it has.")
          .wire<&ManifestEntry::link>("Link", "Of a symbolic link: what it says.")
          .wire<&ManifestEntry::secret>("Secret",
                                        "Whether its bytes are secret: then they are never read back from the target.")
          .wire<&ManifestEntry::before>("Before", "Command that runs first; when it fails, the file stays as it is.")
          .wire<&ManifestEntry::after>("After",
                                       "Command that runs when the file was changed; when it fails, it is tried again.")
          .wire<&ManifestEntry::reloads>("Reloads", "Tasks on the node that get a signal when the file was changed.")
          .wire<&ManifestEntry::drift>(
              "Drift", "When somebody changed it at the target: correct puts it back, report leaves it and says so.")
          .wire<&ManifestEntry::when_removed>(
              "WhenRemoved", "What becomes of it when it is not declared for the target any more: keep or remove.")
          .wire<&ManifestEntry::problem>(
              "Problem", "Why nobody knows now what it shall be, so that it stays as it is; empty: it is known.")
          .done();
  return s;
}

const Structure& description(Tag<Manifest>) {
  static const Structure s =
      Builder<Manifest>("manifest", "Everything that one target shall have.")
          .wire<&Manifest::version>("Version", "Version of this format; a node refuses one that it does not know.")
          .wire<&Manifest::node_id>("NodeID", "ID of the node that it is for; no other believes it.")
          .wire<&Manifest::capsule>("Capsule",
                                    "Name of the capsule on that node that it is for; empty: the node itself.")
          .wire<&Manifest::epoch>(
              "Epoch",
              "Counts before Revision in what is newer; raised when nodes shall follow a store that was restored.")
          .wire<&Manifest::revision>("Revision", "Revision of the store that it was made of; an older one is refused.")
          .wire<&Manifest::entries>("Entries", "The files that the target shall have, by path, each path once.")
          .done();
  return s;
}

const Structure& description(Tag<SignedManifest>) {
  static const Structure s =
      Builder<SignedManifest>("signed manifest", "A manifest with who signed it.")
          .wire<&SignedManifest::text>("Text", "The manifest as JSON, byte for byte as it was signed.")
          .wire<&SignedManifest::key>("Key", "Public half of the key that signed it, base64.")
          .wire<&SignedManifest::signature>("Signature", "Signature over Text, base64.")
          .done();
  return s;
}

const Structure& description(Tag<ManifestRequest>) {
  static const Structure s =
      Builder<ManifestRequest>("manifest request", "Asks for a manifest.")
          .wire<&ManifestRequest::capsule>("Capsule", "Name of the capsule that it is for; empty: the node itself.")
          .wire<&ManifestRequest::have>("Have", "Digest of the manifest that the node has; empty: none.")
          .wire<&ManifestRequest::key_serial>(
              "KeySerial", "Of the newest step of keys that the node follows; -1: it believes no key yet.")
          .done();
  return s;
}

const Structure& description(Tag<ManifestReply>) {
  static const Structure s =
      Builder<ManifestReply>("manifest reply", "A manifest, if it is news.")
          .wire<&ManifestReply::manifest>("Manifest", "Absent: the node has it already.")
          .wire<&ManifestReply::key_serial>(
              "KeySerial",
              "Of the step before Steps; a node that believes no key yet takes it for the one that it follows.")
          .wire<&ManifestReply::steps>(
              "Steps", "Steps of the keys that sign manifests, in order, that the node has not taken yet.")
          .done();
  return s;
}

const Structure& description(Tag<ContentRequest>) {
  static const Structure s =
      Builder<ContentRequest>("content request", "Asks for bytes.")
          .wire<&ContentRequest::capsule>("Capsule", "Name of the capsule that they are for; empty: the node itself.")
          .wire<&ContentRequest::digests>("Digests",
                                          "SHA-256 of each file, hexadecimal; its present manifest has to name them.")
          .done();
  return s;
}

const Structure& description(Tag<Content>) {
  static const Structure s = Builder<Content>("content", "Bytes.")
                                 .wire<&Content::digest>("Digest", "SHA-256 of the bytes, hexadecimal.")
                                 .wire<&Content::data>("Data", "Base64.")
                                 .done();
  return s;
}

const Structure& description(Tag<ContentReply>) {
  static const Structure s =
      Builder<ContentReply>("content reply", "Bytes that were asked for.")
          .wire<&ContentReply::contents>("Contents", "One for each digest, in the order in which they were asked for.")
          .done();
  return s;
}

const Structure& description(Tag<BytesRequest>) {
  static const Structure s =
      Builder<BytesRequest>("bytes request", "Asks for the bytes of a large file.")
          .wire<&BytesRequest::capsule>("Capsule", "Name of the capsule that they are for; empty: the node itself.")
          .wire<&BytesRequest::digest>("Digest",
                                       "SHA-256 of the whole file, hexadecimal; its present manifest has to name it.")
          .wire<&BytesRequest::offset>("Offset", "How many of the bytes the node has: those behind them are sent.")
          .done();
  return s;
}

const Structure& description(Tag<ReloadRequest>) {
  static const Structure s =
      Builder<ReloadRequest>("reload request", "Tells a task.")
          .wire<&ReloadRequest::capsule>("Capsule",
                                         "Name of the capsule whose file was changed; empty: one of the node itself.")
          .wire<&ReloadRequest::reload>("Reload", "Which job's tasks on this node get which signal.")
          .wire<&ReloadRequest::round>(
              "Round", "Names the request: one that is repeated has the same, and signals nobody twice.")
          .done();
  return s;
}

const Structure& description(Tag<ReadRequest>) {
  static const Structure s =
      Builder<ReadRequest>("read request", "Asks for a file as it is.")
          .wire<&ReadRequest::capsule>("Capsule", "Name of the capsule in which it is; empty: the node itself.")
          .wire<&ReadRequest::path>("Path", "Its path, which the manifest has to name.")
          .done();
  return s;
}

const Structure& description(Tag<MasterRequest>) {
  static const Structure s =
      Builder<MasterRequest>("master request", "Asks for a master that lies on the node.")
          .wire<&MasterRequest::path>("Path", "Where it lies on the node, absolute.")
          .wire<&MasterRequest::have>("Have", "SHA-256 of the bytes that the server has, hexadecimal; empty: none.")
          .done();
  return s;
}

const Structure& description(Tag<MasterReply>) {
  static const Structure s =
      Builder<MasterReply>("master reply", "A master, if it is another than is known.")
          .wire<&MasterReply::data>("Data", "Its bytes, base64; absent: nothing changed, or it is large.")
          .wire<&MasterReply::digest>(
              "Digest",
              "SHA-256 of a large one that is news, hexadecimal: its bytes are asked for as a stream; else empty.")
          .wire<&MasterReply::size>("Size", "How many bytes a large one that is news has; else 0.")
          .done();
  return s;
}

}  // namespace underway::files
