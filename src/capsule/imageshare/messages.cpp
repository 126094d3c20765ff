#include "imageshare/messages.hpp"

namespace underway::imageshare {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<Wanted>) {
  static const Structure s = Builder<Wanted>("wanted image", "An image that a node wants.")
                                 .wire<&Wanted::reference>("Reference", "sha256:…, name or name:version.")
                                 .done();
  return s;
}

const Structure& description(Tag<KnownKeys>) {
  static const Structure s = Builder<KnownKeys>("known keys", "The keys that a node knows.")
                                 .wire<&KnownKeys::digest>("Digest", "As the server told it.")
                                 .done();
  return s;
}

const Structure& description(Tag<Keys>) {
  static const Structure s = Builder<Keys>("keys", "The cluster's trusted keys.")
                                 .wire<&Keys::digest>("Digest", "Of the keys.")
                                 .wire<&Keys::keys>("Keys", "The keys, revoked ones too.")
                                 .done();
  return s;
}

const Structure& description(Tag<Part>) {
  static const Structure s = Builder<Part>("part", "A part of an image.")
                                 .wire<&Part::digest>("Digest", "Of which image.")
                                 .wire<&Part::offset>("Offset", "From which byte on.")
                                 .done();
  return s;
}

}  // namespace underway::imageshare
