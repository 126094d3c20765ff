#include "snapshot/metadata.hpp"

namespace underway::snapshot {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<WrappedKey>) {
  static const Structure s =
      Builder<WrappedKey>("wrapped root key", "A root key, sealed by the wrapping key.")
          .wire<&WrappedKey::id>("KeyID", "Names the key; not secret.")
          .wire<&WrappedKey::active>("Active", "Whether it sealed and signed when the snapshot was made.")
          .wire<&WrappedKey::create_time>("CreateTime", "Unix time in nanoseconds at which it was made.")
          .wire<&WrappedKey::wrapped>("Wrapped", "The key, sealed, in base64.")
          .wire<&WrappedKey::rsa_wrapped>("RSAWrapped", "Its RSA key, sealed, in base64; empty: it has none.")
          .done();
  return s;
}

const Structure& description(Tag<Metadata>) {
  static const Structure s =
      Builder<Metadata>("snapshot", "What a snapshot says of itself.")
          .wire<&Metadata::id>("ID", "`snapshot-<index>-<time>`, the time in milliseconds.")
          .wire<&Metadata::size>("Size", "Bytes of the state that it holds, unpacked.")
          .wire<&Metadata::index>("Index", "Revision of that state.")
          .wire<&Metadata::term>("Term", "Always 1; shown by Nomad's clients.")
          .wire<&Metadata::version>("Version", "Always 1; shown by Nomad's clients.")
          .wire<&Metadata::format>("Format", "Of what is packed; a program does not restore a newer one than it knows.")
          .wire<&Metadata::program>("Program", "Version of underway that made it.")
          .wire<&Metadata::cluster_id>("ClusterID", "ID of the cluster whose state it is; empty: it names none.")
          .wire<&Metadata::region>("Region", "Region of the server that made it.")
          .wire<&Metadata::time>("Time", "Unix time in nanoseconds at which it was made.")
          .wire<&Metadata::keys>("Keys",
                                 "The root keys of the server, sealed by its wrapping key, which is in no snapshot.")
          .done();
  return s;
}

}  // namespace underway::snapshot
