#include "trust/messages.hpp"

namespace underway::trust {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<JoinRequest>) {
  static const Structure s =
      Builder<JoinRequest>("JoinRequest", "A new node asks for its certificate.")
          .wire<&JoinRequest::token>("Token", "A join token, unused.")
          .wire<&JoinRequest::node_id>("NodeID", "The id that the node has made for itself.")
          .wire<&JoinRequest::secret>("Secret", "Proves that it is the same node as before, if it is known.")
          .wire<&JoinRequest::name>("Name", "The node's name.")
          .wire<&JoinRequest::pool>("NodePool", "The node's pool.")
          .wire<&JoinRequest::request>("Request", "A certificate signing request in PEM.")
          .done();
  return s;
}

const Structure& description(Tag<CertificateRequest>) {
  static const Structure s = Builder<CertificateRequest>("CertificateRequest", "A node renews its certificate.")
                                 .wire<&CertificateRequest::request>("Request", "A certificate signing request in PEM.")
                                 .done();
  return s;
}

const Structure& description(Tag<Certified>) {
  static const Structure s =
      Builder<Certified>("Certified", "A node's certificate.")
          .wire<&Certified::certificate>("Certificate", "In PEM, with what leads to the authority.")
          .wire<&Certified::authorities>("Authorities", "What the node shall trust, in PEM.")
          .done();
  return s;
}

}  // namespace underway::trust
