#pragma once
/// @file
/// What a node and a server say to each other about certificates, as JSON (base/json/json.hpp).
///
///   PUT /v1/underway/node/join  JoinRequest -> Certified        without a certificate; the token is what counts
///   call   "certificate"        CertificateRequest -> Certified over the link: renewal
///   notify "renew"              {}                              server to node: renew now (the authority has changed)

#include <string>

#include "base/json/describe.hpp"

namespace underway::trust {

struct JoinRequest {
  std::string token;
  std::string node_id;
  std::string secret;  ///< of protocol::RegisterRequest: an id that is known already joins again only with its secret
  std::string name;
  std::string pool;
  std::string request;  ///< PKCS #10, PEM
};

struct CertificateRequest {
  std::string request;
};

struct Certified {
  std::string certificate;  ///< PEM, with what leads to the authority
  std::string authorities;  ///< PEM bundle of what to trust from now on
};

const describe::Structure& description(describe::Tag<JoinRequest>);
const describe::Structure& description(describe::Tag<CertificateRequest>);
const describe::Structure& description(describe::Tag<Certified>);

}  // namespace underway::trust
