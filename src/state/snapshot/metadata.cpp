#include "snapshot/metadata.hpp"

namespace underway::snapshot {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<WrappedKey>) {
  static const Structure s = Builder<WrappedKey>("wrapped root key", "A root key, sealed by the wrapping key.")
                                 .wire<&WrappedKey::id>("KeyID", "")
                                 .wire<&WrappedKey::active>("Active", "")
                                 .wire<&WrappedKey::create_time>("CreateTime", "")
                                 .wire<&WrappedKey::wrapped>("Wrapped", "")
                                 .wire<&WrappedKey::rsa_wrapped>("RSAWrapped", "")
                                 .done();
  return s;
}

const Structure& description(Tag<Metadata>) {
  static const Structure s = Builder<Metadata>("snapshot", "What a snapshot says of itself.")
                                 .wire<&Metadata::id>("ID", "")
                                 .wire<&Metadata::size>("Size", "")
                                 .wire<&Metadata::index>("Index", "")
                                 .wire<&Metadata::term>("Term", "")
                                 .wire<&Metadata::version>("Version", "")
                                 .wire<&Metadata::format>("Format", "")
                                 .wire<&Metadata::program>("Program", "")
                                 .wire<&Metadata::cluster_id>("ClusterID", "")
                                 .wire<&Metadata::region>("Region", "")
                                 .wire<&Metadata::time>("Time", "")
                                 .wire<&Metadata::keys>("Keys", "")
                                 .done();
  return s;
}

}  // namespace underway::snapshot
