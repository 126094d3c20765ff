#include "provision/sync_messages.hpp"

namespace underway::provision {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<ManifestEntry>) {
  static const Structure s = Builder<ManifestEntry>("manifest entry", "A file as a target shall have it.")
                                 .wire<&ManifestEntry::path>("Path", "")
                                 .wire<&ManifestEntry::file>("File", "")
                                 .wire<&ManifestEntry::type>("Type", "")
                                 .wire<&ManifestEntry::mode>("Mode", "")
                                 .wire<&ManifestEntry::owner>("Owner", "")
                                 .wire<&ManifestEntry::group>("Group", "")
                                 .wire<&ManifestEntry::xattrs>("Xattrs", "")
                                 .wire<&ManifestEntry::digest>("Digest", "")
                                 .wire<&ManifestEntry::size>("Size", "")
                                 .wire<&ManifestEntry::link>("Link", "")
                                 .wire<&ManifestEntry::secret>("Secret", "")
                                 .wire<&ManifestEntry::before>("Before", "")
                                 .wire<&ManifestEntry::after>("After", "")
                                 .wire<&ManifestEntry::reloads>("Reloads", "")
                                 .wire<&ManifestEntry::drift>("Drift", "")
                                 .wire<&ManifestEntry::when_removed>("WhenRemoved", "")
                                 .wire<&ManifestEntry::problem>("Problem", "")
                                 .done();
  return s;
}

const Structure& description(Tag<Manifest>) {
  static const Structure s = Builder<Manifest>("manifest", "Everything that one target shall have.")
                                 .wire<&Manifest::version>("Version", "")
                                 .wire<&Manifest::node_id>("NodeID", "")
                                 .wire<&Manifest::capsule>("Capsule", "")
                                 .wire<&Manifest::epoch>("Epoch", "")
                                 .wire<&Manifest::revision>("Revision", "")
                                 .wire<&Manifest::entries>("Entries", "")
                                 .done();
  return s;
}

const Structure& description(Tag<SignedManifest>) {
  static const Structure s = Builder<SignedManifest>("signed manifest", "A manifest with who signed it.")
                                 .wire<&SignedManifest::text>("Text", "")
                                 .wire<&SignedManifest::key>("Key", "")
                                 .wire<&SignedManifest::signature>("Signature", "")
                                 .done();
  return s;
}

const Structure& description(Tag<ManifestRequest>) {
  static const Structure s = Builder<ManifestRequest>("manifest request", "Asks for a manifest.")
                                 .wire<&ManifestRequest::capsule>("Capsule", "")
                                 .wire<&ManifestRequest::have>("Have", "")
                                 .wire<&ManifestRequest::key_serial>("KeySerial", "")
                                 .done();
  return s;
}

const Structure& description(Tag<ManifestReply>) {
  static const Structure s = Builder<ManifestReply>("manifest reply", "A manifest, if it is news.")
                                 .wire<&ManifestReply::manifest>("Manifest", "")
                                 .wire<&ManifestReply::key_serial>("KeySerial", "")
                                 .wire<&ManifestReply::steps>("Steps", "")
                                 .done();
  return s;
}

const Structure& description(Tag<ContentRequest>) {
  static const Structure s = Builder<ContentRequest>("content request", "Asks for bytes.")
                                 .wire<&ContentRequest::capsule>("Capsule", "")
                                 .wire<&ContentRequest::digests>("Digests", "")
                                 .done();
  return s;
}

const Structure& description(Tag<Content>) {
  static const Structure s = Builder<Content>("content", "Bytes.")
                                 .wire<&Content::digest>("Digest", "")
                                 .wire<&Content::data>("Data", "")
                                 .done();
  return s;
}

const Structure& description(Tag<ContentReply>) {
  static const Structure s = Builder<ContentReply>("content reply", "Bytes that were asked for.")
                                 .wire<&ContentReply::contents>("Contents", "")
                                 .done();
  return s;
}

const Structure& description(Tag<BytesRequest>) {
  static const Structure s = Builder<BytesRequest>("bytes request", "Asks for the bytes of a large file.")
                                 .wire<&BytesRequest::capsule>("Capsule", "")
                                 .wire<&BytesRequest::digest>("Digest", "")
                                 .wire<&BytesRequest::offset>("Offset", "")
                                 .done();
  return s;
}

const Structure& description(Tag<ReloadRequest>) {
  static const Structure s = Builder<ReloadRequest>("reload request", "Tells a task.")
                                 .wire<&ReloadRequest::capsule>("Capsule", "")
                                 .wire<&ReloadRequest::reload>("Reload", "")
                                 .wire<&ReloadRequest::round>("Round", "")
                                 .done();
  return s;
}

const Structure& description(Tag<ReadRequest>) {
  static const Structure s = Builder<ReadRequest>("read request", "Asks for a file as it is.")
                                 .wire<&ReadRequest::capsule>("Capsule", "")
                                 .wire<&ReadRequest::path>("Path", "")
                                 .done();
  return s;
}

const Structure& description(Tag<ReadReply>) {
  static const Structure s = Builder<ReadReply>("read reply", "A file as it is.")
                                 .wire<&ReadReply::exists>("Exists", "")
                                 .wire<&ReadReply::data>("Data", "")
                                 .wire<&ReadReply::owner>("Owner", "")
                                 .wire<&ReadReply::group>("Group", "")
                                 .wire<&ReadReply::mode>("Mode", "")
                                 .done();
  return s;
}

const Structure& description(Tag<MasterRequest>) {
  static const Structure s = Builder<MasterRequest>("master request", "Asks for a master that lies on the node.")
                                 .wire<&MasterRequest::path>("Path", "")
                                 .wire<&MasterRequest::have>("Have", "")
                                 .done();
  return s;
}

const Structure& description(Tag<MasterReply>) {
  static const Structure s = Builder<MasterReply>("master reply", "A master, if it is another than is known.")
                                 .wire<&MasterReply::data>("Data", "")
                                 .wire<&MasterReply::digest>("Digest", "")
                                 .wire<&MasterReply::size>("Size", "")
                                 .done();
  return s;
}

}  // namespace underway::provision
