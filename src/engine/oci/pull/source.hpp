#pragma once
/// @file
/// Where an image comes from: a registry, a layout, an archive. All give the same: a manifest, its documents, its
/// layers.

#include <memory>
#include <string>

#include "oci/document.hpp"
#include "oci/pull/http.hpp"
#include "oci/records.hpp"
#include "oci/registry/reference.hpp"

namespace underway::oci::pull {

/// Told of each piece of a layer that arrives; taken back (negative) when it has to come again.
using Arrived = std::function<void(std::int64_t bytes)>;

class Source {
 public:
  virtual ~Source() = default;

  /// The manifest for this machine: its text, whose digest was compared with whatever named it.
  virtual std::string manifest(Http& http) = 0;
  /// A configuration, verified.
  virtual std::string document(Http& http, const Descriptor& blob) = 0;
  struct Layer {
    os::Fd file;            ///< open at its start
    bool verified = false;  ///< its digest was compared
  };
  /// The bytes of a layer. Whoever calls has its turn (Records::turn of its digest).
  virtual Layer layer(Http& http, const Descriptor& blob, const Arrived& arrived) = 0;
  /// The layer is unpacked: its packed bytes are not needed any more.
  virtual void forget(const Descriptor& blob) = 0;
};

std::unique_ptr<Source> open_registry(const PullRequest& request, const Reference& reference, const Records& records);
/// Archives are unpacked below `scratch`, which the caller removes.
std::unique_ptr<Source> open_local(const PullRequest& request, const Reference& reference, const std::string& scratch);

}  // namespace underway::oci::pull
