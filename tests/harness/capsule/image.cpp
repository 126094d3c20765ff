#include "harness/capsule/image.hpp"

namespace underway::harness {
namespace {

/// An OCI layout with one layer: busybox and a user.
constexpr const char* kMakeImage = R"sh(set -e
cd "$1"; mkdir -p root/bin root/etc image/blobs/sha256
cp /bin/busybox root/bin/
for tool in sh cat echo id sleep hostname stat wget readlink; do ln -s busybox root/bin/$tool; done
echo 'web:x:33:33::/:/bin/sh' > root/etc/passwd
blob() { sum=$(sha256sum "$1" | cut -d' ' -f1); size=$(stat -c %s "$1"); mv "$1" image/blobs/sha256/$sum; }
kind=application/vnd.oci.image
tar -C root --owner 0 --group 0 -cf layer .
blob layer; layer=$sum; layer_size=$size
printf '{"architecture":"%s","os":"linux","config":{"Cmd":["/bin/sh"],"Env":["OF=image"]},' "$(dpkg --print-architecture)" > file
printf '"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' $layer >> file
blob file; config=$sum; config_size=$size
printf '{"schemaVersion":2,"mediaType":"%s.manifest.v1+json",' $kind > file
printf '"config":{"mediaType":"%s.config.v1+json","digest":"sha256:%s","size":%s},' $kind $config $config_size >> file
printf '"layers":[{"mediaType":"%s.layer.v1.tar","digest":"sha256:%s","size":%s}]}' $kind $layer $layer_size >> file
blob file
echo '{"imageLayoutVersion":"1.0.0"}' > image/oci-layout
printf '{"schemaVersion":2,"manifests":[{"mediaType":"%s.manifest.v1+json","digest":"sha256:%s",' $kind $sum > image/index.json
printf '"size":%s,"annotations":{"org.opencontainers.image.ref.name":"v1"}}]}' $size >> image/index.json
)sh";

}  // namespace

Finished make_image(const std::string& directory) {
  return run({.argv = {"/bin/bash", "-c", kMakeImage, "make", directory}});
}

}  // namespace underway::harness
