#include "oci/registry/reference.hpp"

#include "fixture.hpp"

namespace underway::oci {
namespace {

using testing::HasSubstr;

const std::string kDigest = "sha256:" + std::string(64, 'a');

TEST(References, AreReadAsDockerReadsThem) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"busybox", "docker.io/library/busybox:latest"},
      {"busybox:1.36", "docker.io/library/busybox:1.36"},
      {"docker://busybox", "docker.io/library/busybox:latest"},
      {"index.docker.io/busybox", "docker.io/library/busybox:latest"},
      {"grafana/loki", "docker.io/grafana/loki:latest"},
      {"a.b/c", "a.b/c:latest"},
      {"localhost/c", "localhost/c:latest"},
      {"Host/c", "Host/c:latest"},
      {"host:5000/a/b:tag", "host:5000/a/b:tag"},
      {"[::1]:5000/a", "[::1]:5000/a:latest"},
      {"quay.io/a/b@" + kDigest, "quay.io/a/b@" + kDigest},
      {"quay.io/a/b:v1@" + kDigest, "quay.io/a/b:v1@" + kDigest},
      {"host:5000/a__b/c-d/e--f.g_h:Tag_1.2-x", "host:5000/a__b/c-d/e--f.g_h:Tag_1.2-x"},
      {"oci:/srv/layout", "oci:/srv/layout"},
      {"oci:/srv/layout:v1", "oci:/srv/layout:v1"},
      {"oci-archive:/a.tar:v1", "oci-archive:/a.tar:v1"},
      {"docker-archive:/a.tar:busybox:1", "docker-archive:/a.tar:docker.io/library/busybox:1"},
      {"oci:v1", "docker.io/library/oci:v1"}};
  for (const auto& [text, full] : cases) {
    SCOPED_TRACE(text);
    const auto reference = parse_reference(text);
    EXPECT_EQ(reference.text(), full);
    EXPECT_EQ(parse_reference(full), reference);
  }
}

TEST(References, ThatAreWrongSayWhere) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "column 1: it is empty"},
      {"Busybox", "column 1: names have no capital letters"},
      {"host:5000/a/B", "column 13: names have no capital letters"},
      {"busybox:", "column 9: the tag is missing"},
      {"busybox:-x", "column 9: '-' in a tag"},
      {"busybox:a/b", "column 8: a port is a number"},
      {"a//b", "column 3: a part of a name begins and ends"},
      {"a/-b", "column 3: a part of a name begins and ends"},
      {"a..b", "column 3: a part of a name begins and ends"},
      {"a___b", "column 4: a part of a name begins and ends"},
      {"a/", "column 2: a part of a name begins and ends"},
      {"host:99999/a", "column 5: a port is a number up to 65535"},
      {"host:x/a", "column 5: a port is a number up to 65535"},
      {"[::1/a", "column 1: '[' without an address"},
      {"-h.x/a", "column 1: a host's name begins and ends"},
      {"a b", "column 2: a blank or control character"},
      {"busybox@sha256:12", "column 9: a digest is sha256:"},
      {"busybox@md5:12", "column 9: a digest is sha256:"},
      {"http://x/y", "column 1: images have docker://"},
      {"oci-archive:a.tar", "column 13: the path must begin with '/'"},
      {"oci:/a/../b", "column 5: the path has '..'"},
      {"oci:/a:b/c", "column 9: '/' in a tag"},
      {"a/" + std::string(300, 'x'), "the name is longer than 255 bytes"},
      {std::string(5000, 'x'), "the name of an image is too long"}};
  for (const auto& [text, why] : cases) {
    SCOPED_TRACE(text);
    EXPECT_THAT(failure_of([&written = text] { parse_reference(written); }), HasSubstr(why));
  }
}

}  // namespace
}  // namespace underway::oci
